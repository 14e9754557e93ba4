package resp

import (
	"bytes"
	"strconv"
)

// A Value is one decoded reply.
type Value struct {
	// Kind is the type byte: '+', '-', ':', '$', '*', and in RESP3 '_', '#',
	// ',', '(', '!', '=', '%', '~', '>', '|'.
	Kind byte
	// Str is the text of everything that is not an aggregate: of a string, an
	// error, a number as it was written, "t" or "f" of a boolean.
	Str string
	// Elems are the elements of an aggregate; of a map (and an attribute)
	// keys and values alternate.
	Elems []Value
	// Null: '_', "$-1" or "*-1".
	Null bool
}

// IsError reports whether v is an error reply.
func (v Value) IsError() bool { return v.Kind == '-' || v.Kind == '!' }

// Int is the value of an integer reply, 0 for others.
func (v Value) Int() int64 {
	n, _ := strconv.ParseInt(v.Str, 10, 64)
	return n
}

// Decode decodes the first reply of raw and returns the number of its bytes.
// An attribute ('|') is a value of its own. Input that is cut off is an error
// that matches [ErrProtocol].
func Decode(raw []byte) (Value, int, error) { return decode(raw, 0) }

func decode(raw []byte, depth int) (Value, int, error) {
	end := bytes.IndexByte(raw, '\n')
	if end < 1 || depth > maxDepth {
		return Value{}, 0, protocolError("reply cut off or nested too deeply")
	}
	head := trimEOL(raw[:end+1])
	if len(head) == 0 {
		return Value{}, 0, protocolError("empty reply line")
	}
	v := Value{Kind: head[0]}
	at := end + 1
	switch v.Kind {
	case '+', '-', ':', '#', ',', '(':
		v.Str = string(head[1:])
		return v, at, nil
	case '_':
		v.Null = true
		return v, at, nil
	}
	n, ok := parseInt(head[1:])
	if !ok || n < -1 {
		return Value{}, 0, protocolError("invalid length")
	}
	switch v.Kind {
	case '$', '=', '!':
		if n < 0 {
			v.Null = true
			return v, at, nil
		}
		if len(raw)-at < n+2 {
			return Value{}, 0, protocolError("bulk string cut off")
		}
		v.Str = string(raw[at : at+n])
		return v, at + n + 2, nil
	case '*', '~', '>', '%', '|':
		if n < 0 {
			v.Null = true
			return v, at, nil
		}
		if v.Kind == '%' || v.Kind == '|' {
			n *= 2
		}
		v.Elems = make([]Value, 0, min(n, 1024))
		for range n {
			e, used, err := decode(raw[at:], depth+1)
			if err != nil {
				return Value{}, 0, err
			}
			v.Elems = append(v.Elems, e)
			at += used
		}
		return v, at, nil
	}
	return Value{}, 0, protocolError("unknown type %q of a reply", v.Kind)
}
