package lockcluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
)

// A Cache loads what is not in Redis: one load per key per cluster. Its
// methods may be called concurrently. Make one per process and namespace, and
// Close it.
type Cache struct {
	client redis.UniversalClient
	cfg    Config
	clock  clock
	tasks  *tasks
	shards *shards
	wake   *waker
	stats  *counters
	copies *copies
	quiet  quiet

	group      singleflight.Group
	open       keySet // keys with a flight that can be joined
	refreshing keySet // keys with a refresh in this process
	fallbacks  keySet // keys with a load after WaitBudget in this process
	sickLoads  *semaphore.Weighted
	refreshes  *semaphore.Weighted

	process [6]byte
	issued  atomic.Uint64
}

// New makes a cache on a client: of a cluster, of one server, of Sentinel, or a
// Ring (where waiters are woken by their timers only). A client wrapped in a
// type of the caller's own is taken for one server: when one shard behind it is
// sick, all its keys are. The client stays the caller's. It must have ContextTimeoutEnabled and must
// not read from replicas. One error names every bad field. New does not wait
// for Redis; it starts the goroutine of the wake-up subscription.
func New(client redis.UniversalClient, cfg Config) (*Cache, error) {
	c, err := build(client, cfg)
	if err == nil {
		c.tasks.start(c.wake.loop)
	}
	return c, err
}

func build(client redis.UniversalClient, cfg Config) (*Cache, error) {
	cfg = cfg.withDefaults()
	if err := errors.Join(checkClient(client), cfg.validate()); err != nil {
		return nil, fmt.Errorf("lockcluster: %w", err)
	}
	c := &Cache{
		client:    client,
		cfg:       cfg,
		clock:     newClock(),
		tasks:     newTasks(),
		stats:     newCounters(cfg.Pattern),
		sickLoads: semaphore.NewWeighted(int64(cfg.MaxSickLoads)),
		refreshes: semaphore.NewWeighted(int64(cfg.RefreshWorkers)),
	}
	c.shards = newShards(client, c.clock, c.tasks, cfg.StepBudget)
	c.copies = newCopies(cfg.CopyEntries, cfg.CopyBytes, cfg.CopyFor, c.clock)
	c.wake = newWaker(client, c.channel(), c.copies.drop)
	if _, err := rand.Read(c.process[:]); err != nil {
		return nil, fmt.Errorf("lockcluster: %w", err)
	}
	return c, nil
}

func (c *Cache) channel() string { return "lockcluster:" + c.cfg.Name }

// Close lets calls under way finish, waits for background refreshes, and stops
// the subscription; new calls get a LoadError with the reason Closed. When ctx
// ends first, it cancels what still runs and returns ctx's error. The client
// stays open.
func (c *Cache) Close(ctx context.Context) error { return c.tasks.close(ctx) }

// newToken is unique among all processes: six random bytes of the process and
// a count.
func (c *Cache) newToken() token {
	var t token
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], c.issued.Add(1))
	copy(t[:6], c.process[:])
	copy(t[6:], n[2:])
	return t
}

// Get answers with the value of a key: from Redis while it is fresh, stale
// while one refresh runs in the background, else from one load in the whole
// cluster. It blocks until ctx ends, a value is there, or the load failed: at
// most LoadTimeout for a load, WaitBudget + LoserTimeout when somebody else
// loads, each plus a few StepBudgets. When ctx ends first, its error is
// returned as it is and the load goes on for the others.
//
// The load sees the values of the first caller's context, possibly after that
// caller has returned: with a framework that recycles its contexts pass one
// that it does not recycle (in Fiber v2 UserContext, not Context).
//
// Errors: ErrNotFound, *LoadError, ctx's error. The value belongs to the caller.
func (c *Cache) Get(ctx context.Context, key string, load Loader) (Result, error) {
	return c.get(ctx, key, load, nil)
}

// get is Get with a check of what is found: a value that does not pass is
// loaded anew.
func (c *Cache) get(ctx context.Context, key string, load Loader, check func([]byte) error) (Result, error) {
	p := c.stats.pattern(key)
	r, err := c.lookup(ctx, key, load, check)
	p.count(r, err)
	return r, err
}

func (c *Cache) lookup(ctx context.Context, key string, load Loader, check func([]byte) error) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if c.tasks.closed.Load() {
		return Result{}, &LoadError{Key: key, Reason: Closed}
	}
	if c.open.has(key) {
		return c.join(ctx, key, load, view{})
	}
	b := newBudget(ctx, c.clock.in(c.cfg.StepBudget))
	defer b.stop()
	sh, err := c.shardWithin(b, ctx, key)
	if err != nil && c.gone(ctx) != nil {
		return Result{}, c.gone(ctx)
	}
	if err != nil || sh.breaker.open() {
		return c.join(ctx, key, load, view{})
	}
	v, err := c.readWithin(b, ctx, sh, key)
	if err != nil {
		if c.gone(ctx) != nil {
			return Result{}, c.gone(ctx)
		}
		return c.join(ctx, key, load, view{})
	}
	if v.kind == kindNone {
		return c.join(ctx, key, load, v)
	}
	if check != nil && v.has && check(v.payload) != nil {
		c.stats.undecodable.Add(1)
		return c.join(ctx, key, load, v)
	}
	if v.plain {
		return c.hit(key, v, Fresh, 0)
	}
	return c.judge(ctx, sh, key, load, v)
}

// judge decides by the server's clock what a value that was read is worth.
func (c *Cache) judge(ctx context.Context, sh *shard, key string, load Loader, v view) (Result, error) {
	at := c.clock.now()
	now, ok := sh.clock.nowMS(at)
	if !ok {
		// The first hit on this shard: ask for its time.
		r, err := c.run(ctx, sh, acquireScript, key, "", "0", "", "", "")
		if err != nil {
			return c.join(ctx, key, load, view{})
		}
		now = r.nowMS
	}
	if sh.clock.stale(at) {
		c.renewSample(sh, key)
	}
	fresh := v.freshFor(now)
	switch {
	case fresh > 0 && c.early(&v.header, fresh) && !v.held(now):
		c.refresh(ctx, sh, key, load, v, loadEarly)
		return c.hit(key, v, Early, at)
	case fresh > 0:
		return c.hit(key, v, Fresh, at)
	case v.usable(now):
		if !v.held(now) && v.coolUntil <= now {
			c.refresh(ctx, sh, key, load, v, loadStale)
		}
		return c.hit(key, v, Stale, at)
	}
	return c.join(ctx, key, load, v)
}

func (c *Cache) hit(key string, v view, source Source, at time.Duration) (Result, error) {
	if v.kind == kindNotFound {
		return Result{Source: source}, ErrNotFound
	}
	if !v.plain {
		c.copies.putAt(key, v.payload, false, v.fill, at)
	}
	return Result{Value: v.payload, Source: source}, nil
}

// join waits for a flight that can be joined, or starts one.
func (c *Cache) join(ctx context.Context, key string, load Loader, seen view) (Result, error) {
	if c.reentrant(ctx, key) {
		return Result{}, &LoadError{Key: key, Reason: Reentrant}
	}
	key = strings.Clone(key) // fasthttp recycles what its strings are made of
	ch := c.group.DoChan(key, func() (any, error) {
		if !c.tasks.enter() {
			return nil, &LoadError{Key: key, Reason: Closed}
		}
		defer c.tasks.leave()
		return c.fly(context.WithoutCancel(ctx), key, load, seen)
	})
	select {
	case <-ctx.Done():
		return Result{}, ctx.Err()
	case r := <-ch:
		if r.Err != nil {
			return Result{Shared: r.Shared}, r.Err
		}
		a := r.Val.(answer)
		res := Result{Source: a.source, Shared: r.Shared}
		if a.missing {
			return res, ErrNotFound
		}
		res.Value = bytes.Clone(a.value) // each caller owns its own
		return res, nil
	}
}

// shardFor is the shard of a key, within the step budget.
func (c *Cache) shardFor(ctx context.Context, key string) (*shard, error) {
	b := newBudget(ctx, c.clock.in(c.cfg.StepBudget))
	defer b.stop()
	return c.shardWithin(b, ctx, key)
}

func (c *Cache) shardWithin(b, ctx context.Context, key string) (*shard, error) {
	sh, err := c.shards.of(b, key)
	if err == nil || c.gone(ctx) != nil {
		return sh, err
	}
	sh.breaker.fail() // the topology cannot be had
	return sh, err
}

// leaseGrace is how long a record outlives its lease, so that a process that
// was slow to renew finds its token still there.
const leaseGrace = 2 * time.Second

// tombstoneFor is how long the record of an invalidation is kept, for repeats
// of the same call.
const tombstoneFor = 5 * time.Second

// keySet is a set of keys, quick to ask while it is empty.
type keySet struct {
	n  atomic.Int64
	mu sync.RWMutex
	m  map[string]int
}

func (s *keySet) has(key string) bool {
	if s.n.Load() == 0 {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.m[key] > 0
}

func (s *keySet) add(key string) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string]int{}
	}
	s.m[key]++
	s.n.Add(1)
	return s.m[key] == 1
}

func (s *keySet) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m[key]--; s.m[key] == 0 {
		delete(s.m, key)
	}
	s.n.Add(-1)
}
