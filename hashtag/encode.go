package hashtag

import (
	"encoding"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"time"
)

// encode is v as go-redis would write it. go-redis finds out that it cannot
// write a value when half of the pipeline is on its way, and a value still in
// the caller's buffer could change under a write that outlives the call.
func encode(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	case time.Time:
		return v.Format(time.RFC3339Nano), nil
	case time.Duration:
		return strconv.FormatInt(v.Nanoseconds(), 10), nil
	case *time.Time:
		if v == nil {
			v = new(time.Time)
		}
		return v.Format(time.RFC3339Nano), nil
	case *time.Duration:
		if v == nil {
			return "0", nil
		}
		return strconv.FormatInt(v.Nanoseconds(), 10), nil
	case encoding.BinaryMarshaler:
		b, err := v.MarshalBinary()
		return string(b), err
	case net.IP:
		return string(v), nil
	}
	return encodeBasic(v)
}

// encodeBasic encodes exactly the predeclared types and pointers to them, as
// go-redis does: a type of the caller's own says itself how it is encoded.
func encodeBasic(v any) (string, error) {
	r := reflect.ValueOf(v)
	t := r.Type()
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
		if r.IsNil() {
			r = reflect.Zero(t)
		} else {
			r = r.Elem()
		}
	}
	if t.PkgPath() != "" || t.Name() == "" {
		return "", errCannotEncode(v)
	}
	switch {
	case r.CanInt():
		return strconv.FormatInt(r.Int(), 10), nil
	case r.CanUint():
		return strconv.FormatUint(r.Uint(), 10), nil
	case r.CanFloat():
		return strconv.FormatFloat(r.Float(), 'f', -1, 64), nil
	case r.Kind() == reflect.String:
		return r.String(), nil
	case r.Kind() == reflect.Bool && r.Bool():
		return "1", nil
	case r.Kind() == reflect.Bool:
		return "0", nil
	}
	return "", errCannotEncode(v)
}

func errCannotEncode(v any) error {
	return fmt.Errorf("cannot encode a %T: implement encoding.BinaryMarshaler or convert it", v)
}
