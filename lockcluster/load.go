package lockcluster

import (
	"bytes"
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"
)

// A Loader makes the value of a key. It runs in a goroutine of its own, on a
// context that is detached from the callers' and ends at LoadTimeout; values
// of the first caller's context are visible. Whatever it does, panic, call
// runtime.Goexit, hang, harms nobody beyond one error. The slice it returns is
// copied.
type Loader func(ctx context.Context, l *Load) ([]byte, error)

// A Load is what a loader may know and say. It belongs to one call of the
// loader and must not be used after that.
type Load struct {
	key      string
	batch    []string // the keys of a batch, instead of key
	previous []byte
	has      bool
	fresh    time.Duration
	stale    time.Duration
	ttlSet   bool
	noStore  bool
	same     bool
	missing  bool
}

// Key is the key to load.
func (l *Load) Key() string { return l.key }

// Previous is the value that the new one replaces, if it is still there: for
// conditional requests. It must not be changed.
func (l *Load) Previous() (value []byte, ok bool) { return l.previous, l.has }

// NotModified says that the previous value is still right: return its results.
// It is an error when there is no previous value.
func (l *Load) NotModified() ([]byte, error) {
	if !l.has {
		return nil, errors.New("NotModified without a previous value")
	}
	l.same = true
	return l.previous, nil
}

// NotFound says that there is no such thing: return its results. Callers get
// ErrNotFound, and so do later ones for NotFoundFor.
func (l *Load) NotFound() ([]byte, error) {
	l.missing = true
	return nil, ErrNotFound
}

// NoStore says that the value is for those who wait for it now, and must not
// be stored. Waiters in other processes load their own.
func (l *Load) NoStore() { l.noStore = true }

// TTL sets how long this value is fresh and how much longer stale, in place of
// Fresh and Stale; no jitter is applied. Fresh below 1 ms means NoStore.
func (l *Load) TTL(fresh, stale time.Duration) {
	l.fresh, l.stale, l.ttlSet = min(fresh, maxSpan), min(max(stale, 0), maxSpan), true
	if fresh < time.Millisecond {
		l.noStore = true
	}
}

// outcome is what came out of a loader.
type outcome struct {
	value   []byte
	missing bool
	took    time.Duration
	err     error
	reason  Reason // 0: the load succeeded
}

// counts reports whether a failure counts for the cool-down: a cancellation
// says nothing about the source.
func (o outcome) counts() bool { return o.reason != 0 && !errors.Is(o.err, context.Canceled) }

// call runs a loader in a goroutine of its own and returns by the timeout.
func (c *Cache) call(ctx context.Context, load Loader, l *Load, timeout time.Duration, reason loadReason) outcome {
	began := c.clock.now()
	keys := l.batch
	if keys == nil {
		keys = []string{l.key}
	}
	lctx, cancel := context.WithTimeout(withLoading(ctx, c, keys), timeout)
	defer cancel()
	done := make(chan outcome, 1)
	go guarded(lctx, load, l, done)
	var o outcome
	select {
	case o = <-done:
	case <-lctx.Done():
		select {
		case o = <-done:
		default:
			o = outcome{reason: LoadTimedOut}
			if lctx.Err() == context.Canceled {
				o = outcome{err: context.Canceled, reason: LoaderFailed}
			}
		}
	}
	o.took = c.clock.now() - began
	c.stats.load(reason, o)
	return o
}

func guarded(ctx context.Context, load Loader, l *Load, done chan<- outcome) {
	o := outcome{err: errors.New("runtime.Goexit was called"), reason: LoaderExited}
	defer func() {
		if v := recover(); v != nil {
			o = outcome{err: &panicError{v, debug.Stack()}, reason: LoaderPanicked}
		}
		done <- o
	}()
	value, err := load(ctx, l)
	switch {
	case l.missing || errors.Is(err, ErrNotFound):
		o = outcome{missing: true}
	case err != nil:
		o = outcome{err: err, reason: LoaderFailed}
		if ctx.Err() == context.DeadlineExceeded {
			o.reason = LoadTimedOut
		}
	default:
		o = outcome{value: bytes.Clone(value)}
		if o.value == nil {
			o.value = []byte{}
		}
	}
}

// loadingKey marks a loader's context with what it loads, for any cache.
type loadingKey struct{}

type loading struct {
	cache *Cache
	keys  []string
	outer *loading
}

func withLoading(ctx context.Context, c *Cache, keys []string) context.Context {
	outer, _ := ctx.Value(loadingKey{}).(*loading)
	return context.WithValue(ctx, loadingKey{}, &loading{c, keys, outer})
}

// reentrant reports whether ctx is that of a loader of the same key.
func (c *Cache) reentrant(ctx context.Context, key string) bool {
	in, _ := ctx.Value(loadingKey{}).(*loading)
	for ; in != nil; in = in.outer {
		if in.cache == c && slices.Contains(in.keys, key) {
			return true
		}
	}
	return false
}
