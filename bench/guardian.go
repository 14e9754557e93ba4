package bench

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rcctl/rcctl/lockcluster"
	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

// Guards are the ways to guard a load that RunStampede knows:
//
//   - none: whoever misses loads;
//   - mutex: one mutex for the process, and a second look behind it;
//   - redis-lock: SET NX with 30 s; who does not get it looks again every
//     100 ms and loads itself after 2 s;
//   - singleflight: one load at a time in the process;
//   - lockcluster: this library, no stale values;
//   - lockcluster-stale: this library, stale values while one load refreshes.
var Guards = []string{"none", "mutex", "redis-lock", "singleflight", "lockcluster", "lockcluster-stale"}

// A guardian is the cache of one worker process.
type guardian interface {
	get(ctx context.Context) error
	forget(key string)
	close()
}

func newGuardian(ctx context.Context, cfg pool.Config, guard, key string, ttl time.Duration, q *query) (guardian, error) {
	cfg.Name, cfg.PoolSize, cfg.MinIdleConns = "bench-stampede", 20, 1
	cfg.Logger = slog.New(slog.DiscardHandler)
	p, err := pool.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	a := aside{p: p, rdb: p.Client(), key: key, ttl: ttl, q: q}
	switch guard {
	case "mutex":
		return &withMutex{aside: a}, nil
	case "redis-lock":
		return &withRedisLock{aside: a}, nil
	case "singleflight":
		return &withFlight{aside: a}, nil
	case "lockcluster", "lockcluster-stale":
		c := lockcluster.Config{Name: "bench", Fresh: ttl, Stale: lockcluster.Off, Jitter: lockcluster.Off, Beta: lockcluster.Off,
			Logger: cfg.Logger}
		if guard == "lockcluster-stale" {
			c.Stale = 2 * ttl
		}
		cache, err := lockcluster.New(a.rdb, c)
		if err != nil {
			_ = p.Close()
			return nil, err
		}
		return &withLockcluster{aside: a, cache: cache}, nil
	}
	return &a, nil
}

// aside is plain cache-aside: read, on a miss load and store.
type aside struct {
	p   *pool.Cluster
	rdb *redis.ClusterClient
	key string
	ttl time.Duration
	q   *query
}

func (a *aside) hit(ctx context.Context) bool { return a.rdb.Get(ctx, a.key).Err() == nil }

func (a *aside) load(ctx context.Context) error {
	v, err := a.q.run(ctx)
	if err != nil {
		return err
	}
	return a.rdb.Set(ctx, a.key, v, a.ttl).Err()
}

func (a *aside) get(ctx context.Context) error {
	if a.hit(ctx) {
		return nil
	}
	return a.load(ctx)
}

func (a *aside) forget(key string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, k := range []string{key, key + ":lock"} { // two slots; both expire by themselves if this fails
		a.rdb.Del(ctx, k)
	}
}

func (a *aside) close() { _ = a.p.Close() }

type withMutex struct {
	aside
	mu sync.Mutex
}

func (m *withMutex) get(ctx context.Context) error {
	if m.hit(ctx) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.aside.get(ctx)
}

type withFlight struct {
	aside
	group singleflight.Group
}

func (f *withFlight) get(ctx context.Context) error {
	if f.hit(ctx) {
		return nil
	}
	_, err, _ := f.group.Do(f.key, func() (any, error) { return nil, f.load(ctx) })
	return err
}

type withRedisLock struct{ aside }

func (l *withRedisLock) get(ctx context.Context) error {
	begin := time.Now()
	for !l.hit(ctx) {
		won, err := l.rdb.SetNX(ctx, l.key+":lock", 1, 30*time.Second).Result()
		if err != nil {
			return err
		}
		if won {
			defer l.rdb.Del(ctx, l.key+":lock")
			return l.load(ctx)
		}
		if time.Since(begin) > 2*time.Second {
			return l.load(ctx)
		}
		pause(ctx, 100*time.Millisecond)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

type withLockcluster struct {
	aside
	cache *lockcluster.Cache
}

func (l *withLockcluster) get(ctx context.Context) error {
	_, err := l.cache.Get(ctx, l.key, func(ctx context.Context, _ *lockcluster.Load) ([]byte, error) {
		return l.q.run(ctx)
	})
	return err
}

func (l *withLockcluster) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.cache.Close(ctx) // the pool goes away next in any case
	l.aside.close()
}
