package pool

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// shared are the pools of this process by name.
var shared = struct {
	mu    sync.Mutex
	pools map[string]*sharedPool
}{pools: make(map[string]*sharedPool)}

type sharedPool struct {
	cfg   Config // as given
	ready chan struct{}
	c     *core
	err   error
	users int
}

// Shared is New for a process that wants one pool by that name, from wherever
// it asks: the first call makes it, further ones get the same client, and the
// pool closes when everybody has closed what they got. Closing twice counts
// once. A name with another Config is an error that matches [ErrSharedConfig];
// functions in a Config count as equal.
//
// Calls that come while the first one is still at work wait for it, until their
// ctx ends. A failed first call fails them all, and the next call tries anew.
// The first caller's ctx does not stop the others: the boot goes on until
// BootTimeout.
func Shared(ctx context.Context, name string, cfg Config) (*Cluster, error) {
	if name == "" {
		return nil, fmt.Errorf("pool: %w: Shared name %q: want a name", ErrConfig, name)
	}
	if cfg.Name == "" {
		cfg.Name = safeName(name)
	}
	shared.mu.Lock()
	s := shared.pools[name]
	if s != nil && !sameConfig(s.cfg, cfg) {
		shared.mu.Unlock()
		return nil, fmt.Errorf("pool: Shared %q: %w: %s", name, ErrSharedConfig, differences(s.cfg, cfg))
	}
	if s == nil {
		s = &sharedPool{cfg: cfg, ready: make(chan struct{})}
		shared.pools[name] = s
		go s.open(context.WithoutCancel(ctx), name)
	}
	s.users++
	shared.mu.Unlock()

	select {
	case <-s.ready:
	case <-ctx.Done():
		s.release(name)
		return nil, fmt.Errorf("pool: Shared %q: %w", name, context.Cause(ctx))
	}
	if s.err != nil {
		s.release(name)
		return nil, s.err
	}
	return s.handle(name), nil
}

// open makes the pool for everybody who waits.
func (s *sharedPool) open(ctx context.Context, name string) {
	c, err := newPool(ctx, s.cfg)
	shared.mu.Lock()
	s.c, s.err = c, err
	if err != nil && shared.pools[name] == s {
		delete(shared.pools, name)
	}
	// Everybody may have stopped waiting.
	unused := s.users == 0
	if unused && shared.pools[name] == s {
		delete(shared.pools, name)
	}
	shared.mu.Unlock()
	close(s.ready)
	if unused && c != nil {
		_ = c.close()
	}
}

// release gives one use back and closes the pool after the last one.
func (s *sharedPool) release(name string) error {
	shared.mu.Lock()
	s.users--
	last := s.users == 0 && s.c != nil
	if last && shared.pools[name] == s {
		delete(shared.pools, name)
	}
	shared.mu.Unlock()
	if last {
		return s.c.close()
	}
	return nil
}

// handle is a Cluster that shares everything and gives its use back on Close.
func (s *sharedPool) handle(name string) *Cluster {
	return &Cluster{core: s.c, release: sync.OnceValue(func() error { return s.release(name) })}
}

func sameConfig(a, b Config) bool { return len(differences(a, b)) == 0 }

// differences names the fields in which two Configs differ. Functions cannot be
// compared.
func differences(a, b Config) fieldNames {
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	var out fieldNames
	for i := range va.NumField() {
		fa, fb := va.Field(i), vb.Field(i)
		same := false
		switch fa.Kind() {
		case reflect.Func:
			same = fa.IsNil() == fb.IsNil()
		case reflect.Slice:
			same = slices.Equal(a.Addrs, b.Addrs)
		case reflect.Pointer:
			same = fa.Pointer() == fb.Pointer() || (fa.IsNil() == fb.IsNil() && va.Type().Field(i).Name == "TLS")
		default:
			same = reflect.DeepEqual(fa.Interface(), fb.Interface())
		}
		if !same {
			out = append(out, va.Type().Field(i).Name)
		}
	}
	return out
}

type fieldNames []string

func (f fieldNames) String() string { return strings.Join(f, ", ") + " differ" }

// open pools outside Shared by their seeds: several for one cluster are the
// classic mistake of a client per request.
var unshared = struct {
	mu    sync.Mutex
	count map[string]int
	said  map[string]bool
}{count: make(map[string]int), said: make(map[string]bool)}

// duplicates counts pools that were opened while one for the same seeds was.
var duplicates atomic.Uint64

func seedsKey(addrs []string) string {
	s := slices.Clone(addrs)
	slices.Sort(s)
	return strings.Join(s, ",")
}

// enter notes a pool outside Shared and warns once when it is the second one
// for its seeds. leave takes it back.
func enter(cfg Config) (leave func()) {
	key := seedsKey(cfg.Addrs)
	unshared.mu.Lock()
	unshared.count[key]++
	second := unshared.count[key] > 1
	say := second && !unshared.said[key]
	if say {
		unshared.said[key] = true
	}
	unshared.mu.Unlock()
	if second {
		duplicates.Add(1)
	}
	if say {
		cfg.Logger.Warn("redis cluster: a second pool for the same seeds is open in this process; make one at start and pass it on, or use pool.Shared",
			"pool", cfg.Name, "addrs", key)
	}
	return func() {
		unshared.mu.Lock()
		defer unshared.mu.Unlock()
		if unshared.count[key]--; unshared.count[key] == 0 {
			delete(unshared.count, key)
		}
	}
}
