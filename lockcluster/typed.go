package lockcluster

import (
	"context"
	"encoding/json"
	"fmt"
)

// A Codec turns values of T into bytes and back. Both methods may be called
// concurrently. Decode may keep what it is given.
type Codec[T any] interface {
	Encode(T) ([]byte, error)
	Decode([]byte) (T, error)
}

// JSON is the codec of encoding/json.
type JSON[T any] struct{}

// Encode implements [Codec].
func (JSON[T]) Encode(v T) ([]byte, error) { return json.Marshal(v) }

// Decode implements [Codec].
func (JSON[T]) Decode(b []byte) (v T, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}

// Typed is a cache of values of one type, on a [Cache]. Several may share one
// cache. A stored value that cannot be decoded is loaded anew.
type Typed[T any] struct {
	cache *Cache
	codec Codec[T]
}

// NewTyped makes a typed cache. A nil codec means JSON.
func NewTyped[T any](c *Cache, codec Codec[T]) *Typed[T] {
	if codec == nil {
		codec = JSON[T]{}
	}
	return &Typed[T]{c, codec}
}

// A TypedLoader is a [Loader] that makes a T. For "not found" return
// ErrNotFound.
type TypedLoader[T any] func(ctx context.Context, l *Load) (T, error)

// Get is [Cache.Get] with a T. The result's Value is nil.
func (t *Typed[T]) Get(ctx context.Context, key string, load TypedLoader[T]) (T, Result, error) {
	var v, zero T
	var decoded bool
	check := func(raw []byte) (err error) {
		v, err = t.codec.Decode(raw)
		decoded = err == nil
		return err
	}
	// A value that another program version stored while we waited may be
	// undecodable: then it is loaded anew, once.
	for try := 1; ; try++ {
		decoded = false
		r, err := t.cache.get(ctx, key, t.loader(load), check)
		raw := r.Value
		r.Value = nil
		if err != nil {
			return zero, r, err
		}
		if decoded && r.Source.Hit() && r.Source != LastGood {
			return v, r, nil
		}
		if err = check(raw); err == nil {
			return v, r, nil
		}
		if try == 2 {
			return zero, r, fmt.Errorf("lockcluster: get %q: decode: %w", key, err)
		}
	}
}

func (t *Typed[T]) loader(load TypedLoader[T]) Loader {
	return func(ctx context.Context, l *Load) ([]byte, error) {
		v, err := load(ctx, l)
		if err != nil {
			return nil, err
		}
		if l.same {
			return l.previous, nil
		}
		return t.codec.Encode(v)
	}
}

// Previous is the value that a load replaces, if it is there and decodable.
func (t *Typed[T]) Previous(l *Load) (v T, ok bool) {
	raw, ok := l.Previous()
	if !ok {
		return v, false
	}
	v, err := t.codec.Decode(raw)
	return v, err == nil
}

// NotModified says that the previous value is still right: return its results.
func (t *Typed[T]) NotModified(l *Load) (v T, err error) {
	raw, err := l.NotModified()
	if err != nil {
		return v, err
	}
	return t.codec.Decode(raw)
}

// Set is [Cache.Set] with a T.
func (t *Typed[T]) Set(ctx context.Context, key string, v T) error {
	raw, err := t.codec.Encode(v)
	if err != nil {
		return fmt.Errorf("lockcluster: set %q: encode: %w", key, err)
	}
	return t.cache.Set(ctx, key, raw)
}
