package lockcluster

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// A BatchLoader makes the values of several keys in one go, under the terms of
// a [Loader]. It calls Set, NotFound or Fail of the batch for each of its keys;
// a key that it leaves out is not found. An error it returns is that of every
// key it has not set.
type BatchLoader func(ctx context.Context, b *Batch) error

// A Batch is the keys to load and what is known of them so far. It belongs to
// one call of the loader.
type Batch struct {
	keys []string
	mu   sync.Mutex
	got  map[string]outcome
}

// Keys are the keys to load. The slice must not be changed.
func (b *Batch) Keys() []string { return b.keys }

// Set gives the value of a key. It is copied. Keys that are not in the batch
// are ignored. It may be called concurrently, as may the other methods.
func (b *Batch) Set(key string, value []byte) {
	b.put(key, outcome{value: append([]byte{}, value...)})
}

// NotFound says that there is no such thing.
func (b *Batch) NotFound(key string) { b.put(key, outcome{missing: true}) }

// Fail says that this key could not be loaded.
func (b *Batch) Fail(key string, err error) {
	if errors.Is(err, ErrNotFound) {
		b.NotFound(key)
		return
	}
	b.put(key, outcome{err: err, reason: LoaderFailed})
}

func (b *Batch) put(key string, o outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got[key] = o
}

// An Item is the answer for one key of GetMany.
type Item struct {
	Key string
	Result
	// Err is nil, ErrNotFound, a *LoadError, or the context's error.
	Err error
}

const (
	pipelineKeys = 128 // keys per pipeline
	manyShards   = 16  // shards asked at a time
	manyWaits    = 64  // keys waited for at a time
)

// GetMany is Get for several keys: one pipeline per shard to read them, one to
// ask for the leases of those that are not there, and one call of the loader
// for the keys whose lease this call got. Keys that somebody else loads are
// waited for one by one; the loader may then be called for a single key.
//
// The answers are in the order of the keys, with an error per key: a shard that
// is sick or a key that fails never touches the others. A key given twice is
// answered twice. It blocks like Get.
func (c *Cache) GetMany(ctx context.Context, keys []string, load BatchLoader) []Item {
	m := &many{c: c, load: load, done: map[string]Item{}}
	unique := slices.Clone(keys)
	for i, k := range unique {
		unique[i] = strings.Clone(k)
	}
	slices.Sort(unique)
	unique = slices.Compact(unique)
	done := m.run(ctx, unique)
	items := make([]Item, len(keys))
	given := map[string]bool{}
	for i, k := range keys {
		items[i] = done[k]
		if given[k] {
			items[i].Value = bytes.Clone(items[i].Value)
		}
		given[k] = true
		c.stats.pattern(k).count(items[i].Result, items[i].Err)
	}
	return items
}

// many is one call of GetMany.
type many struct {
	c    *Cache
	load BatchLoader

	mu    sync.Mutex
	done  map[string]Item
	alone []manyKey // to be got one by one
	own   []manyKey // whose lease we hold
}

type manyKey struct {
	key   string
	sh    *shard
	seen  view
	token token
}

func (m *many) finish(key string, r Result, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done[key] = Item{Key: key, Result: r, Err: err}
}

func (m *many) later(k manyKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.alone = append(m.alone, k)
}

func (m *many) run(ctx context.Context, keys []string) map[string]Item {
	byShard := map[*shard][]manyKey{}
	for _, key := range keys {
		switch sh, err := m.c.shardFor(ctx, key); {
		case err != nil && m.c.gone(ctx) != nil:
			m.finish(key, Result{}, m.c.gone(ctx))
		case m.c.tasks.closed.Load():
			m.finish(key, Result{}, &LoadError{Key: key, Reason: Closed})
		case err != nil || sh.breaker.open() || m.c.open.has(key):
			m.later(manyKey{key: key, sh: sh})
		default:
			byShard[sh] = append(byShard[sh], manyKey{key: key, sh: sh})
		}
	}
	var g errgroup.Group
	g.SetLimit(manyShards)
	for sh, ks := range byShard {
		for part := range slices.Chunk(ks, pipelineKeys) {
			g.Go(func() error { m.part(ctx, sh, part); return nil })
		}
	}
	_ = g.Wait()
	own := make(chan []manyKey, 1)
	again := make(chan struct{})
	go func() { // other callers may want these keys: it goes on when ctx ends
		defer close(again)
		own <- m.loadOwn(context.WithoutCancel(ctx))
	}()
	m.oneByOne(ctx, m.alone)
	select {
	case <-again:
		m.oneByOne(ctx, <-own)
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	done := map[string]Item{}
	for _, key := range keys {
		item, ok := m.done[key]
		if !ok {
			item = Item{Key: key, Err: ctx.Err()}
		}
		done[key] = item
	}
	return done // a load that goes on writes to m.done
}

// part reads the keys of one pipeline and asks for the leases of those that
// are not there.
func (m *many) part(ctx context.Context, sh *shard, keys []manyKey) {
	views, err := m.c.readMany(ctx, sh, keys)
	var misses []manyKey
	for i, k := range keys {
		switch {
		case err[i] != nil && m.c.gone(ctx) != nil:
			m.finish(k.key, Result{}, m.c.gone(ctx))
		case err[i] != nil:
			m.later(k)
		case views[i].kind == kindNone:
			k.seen = views[i]
			misses = append(misses, k)
		default:
			m.judge(ctx, k, views[i])
		}
	}
	if len(misses) > 0 {
		m.acquire(ctx, sh, misses)
	}
}

func (m *many) judge(ctx context.Context, k manyKey, v view) {
	if v.plain {
		r, err := m.c.hit(k.key, v, Fresh, 0)
		m.finish(k.key, r, err)
		return
	}
	r, err := m.c.judge(ctx, k.sh, k.key, m.single(k.key), v)
	m.finish(k.key, r, err)
}

// acquire asks for leases in one pipeline.
func (m *many) acquire(ctx context.Context, sh *shard, keys []manyKey) {
	args := make([][]any, len(keys))
	for i := range keys {
		keys[i].token = m.c.newToken()
		known := ""
		if keys[i].seen.rec {
			known = string(keys[i].seen.fill[:])
		}
		args[i] = []any{keys[i].token[:], ms(m.c.cfg.Lease), known, "1", ms(leaseGrace)}
	}
	replies, errs := m.c.runMany(context.WithoutCancel(ctx), sh, acquireScript, keys, args)
	for i, k := range keys {
		if errs[i] != nil && isNetwork(errs[i]) {
			m.c.releaseLater(sh, k.key, k.token)
		}
		if errs[i] != nil {
			m.later(k)
			continue
		}
		m.c.stats.lease(replies[i].state)
		if replies[i].state == "ACQUIRED" {
			m.mu.Lock()
			m.own = append(m.own, k)
			m.mu.Unlock()
		} else {
			m.later(k)
		}
	}
}

// single is the loader of one key.
func (m *many) single(key string) Loader {
	return func(ctx context.Context, _ *Load) ([]byte, error) {
		b := newBatch([]manyKey{{key: key}})
		err := m.load(ctx, b)
		b.mu.Lock()
		defer b.mu.Unlock()
		o, ok := b.got[key]
		if err != nil && !ok {
			return nil, err
		}
		if o.missing || !ok {
			return nil, ErrNotFound
		}
		return o.value, o.err
	}
}

func newBatch(keys []manyKey) *Batch {
	b := &Batch{got: map[string]outcome{}}
	for _, k := range keys {
		b.keys = append(b.keys, k.key)
	}
	return b
}

// oneByOne gets keys like Get does.
func (m *many) oneByOne(ctx context.Context, keys []manyKey) {
	var g errgroup.Group
	g.SetLimit(manyWaits)
	for _, k := range keys {
		g.Go(func() error {
			r, err := m.c.join(ctx, k.key, m.single(k.key), k.seen)
			m.finish(k.key, r, err)
			return nil
		})
	}
	_ = g.Wait()
}

// loadOwn calls the loader once for the keys whose leases we hold and stores
// what it gives. It returns the keys that were invalidated meanwhile.
func (m *many) loadOwn(ctx context.Context) (superseded []manyKey) {
	if len(m.own) == 0 {
		return nil
	}
	c := m.c
	if !c.tasks.enter() {
		for _, k := range m.own {
			m.finish(k.key, Result{}, &LoadError{Key: k.key, Reason: Closed})
		}
		return nil
	}
	defer c.tasks.leave()
	var stops []func()
	for _, k := range m.own {
		stops = append(stops, c.renew(ctx, k.sh, k.key, k.token))
	}
	got := m.call(ctx)
	for _, stop := range stops {
		stop()
	}
	byShard := map[*shard][]manyKey{}
	for _, k := range m.own {
		if o := got[k.key]; o.reason != 0 {
			c.release(ctx, k.sh, k.key, k.token, o.counts())
			m.finish(k.key, Result{}, &LoadError{Key: k.key, Reason: o.reason, Err: o.err})
			continue
		}
		byShard[k.sh] = append(byShard[k.sh], k)
	}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(manyShards)
	for sh, keys := range byShard {
		for part := range slices.Chunk(keys, pipelineKeys) {
			g.Go(func() error {
				lost := m.fill(ctx, sh, part, got)
				mu.Lock()
				defer mu.Unlock()
				superseded = append(superseded, lost...)
				return nil
			})
		}
	}
	_ = g.Wait()
	return superseded
}

// call runs the batch loader, with what it gave for each key.
func (m *many) call(ctx context.Context) map[string]outcome {
	c := m.c
	b := newBatch(m.own)
	began := c.clock.now()
	whole := c.call(ctx, func(ctx context.Context, _ *Load) (_ []byte, err error) {
		return nil, m.load(ctx, b)
	}, &Load{batch: b.keys}, c.cfg.LoadTimeout, loadBatch)
	took := c.clock.now() - began
	b.mu.Lock() // a loader that hangs may still set keys
	defer b.mu.Unlock()
	got := map[string]outcome{}
	for _, key := range b.keys {
		o, ok := b.got[key]
		switch {
		case !ok && whole.reason != 0:
			o = outcome{err: whole.err, reason: whole.reason}
		case !ok:
			o = outcome{missing: true}
		}
		o.took = took
		got[key] = o
	}
	return got
}

// fill stores what was loaded in one pipeline, and answers.
func (m *many) fill(ctx context.Context, sh *shard, keys []manyKey, got map[string]outcome) (superseded []manyKey) {
	c := m.c
	args := make([][]any, len(keys))
	for i, k := range keys {
		args[i] = c.fillArgs(k.key, k.token, k.token, &Load{key: k.key}, got[k.key])
	}
	replies, errs := c.runMany(ctx, sh, fillScript, keys, args)
	for i, k := range keys {
		o := got[k.key]
		a := answer{value: o.value, missing: o.missing, source: Loaded}
		if c.filled(ctx, sh, k.key, k.token, k.token, a, replies[i], errs[i]) {
			superseded = append(superseded, manyKey{key: k.key, sh: sh})
			continue
		}
		if a.missing {
			m.finish(k.key, Result{Source: Loaded}, ErrNotFound)
		} else {
			m.finish(k.key, Result{Value: bytes.Clone(a.value), Source: Loaded}, nil)
		}
	}
	return superseded
}
