package bench

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
)

// An engine is the client that carries the load.
type engine struct {
	client   *redis.ClusterClient
	commands redis.Cmdable // the client, or its auto-pipeliner
	observer *pool.Observer
	pools    *poolTracker
	close    func() error
}

func newEngine(ctx context.Context, o Options, name string) (*engine, error) {
	e := &engine{pools: &poolTracker{}}
	c := o.Cluster
	c.Name = name
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler) // the report tells what happened
	}
	switch o.Engine {
	case EnginePool:
		tune := c.Tune
		c.Tune = func(co *redis.ClusterOptions) {
			if tune != nil {
				tune(co)
			}
			e.pools.watch(co)
		}
		p, err := pool.New(ctx, c)
		if err != nil {
			return nil, err
		}
		e.client, e.observer, e.close = p.Client(), p.Observer(), p.Close
	case EngineGoRedis:
		co := plainOptions(withPoolDefaults(c), "rcctl:"+name)
		e.pools.watch(co)
		e.client = redis.NewClusterClient(co)
		e.observer, e.close = pool.Observe(e.client), e.client.Close
	}
	e.commands = e.client
	if o.AutoPipeline {
		ap, err := e.client.AutoPipeline()
		if err != nil {
			_ = e.close()
			return nil, fmt.Errorf("auto-pipeline: %w", err)
		}
		e.commands = ap
	}
	return e, nil
}

// plainOptions is a go-redis client with the same settings and nothing of
// this library.
func plainOptions(c pool.Config, clientName string) *redis.ClusterOptions {
	co := &redis.ClusterOptions{
		Addrs: c.Addrs, ClientName: clientName,
		Username: c.Username, Password: c.Password, CredentialsProviderContext: c.Credentials,
		TLSConfig: c.TLS, MaxRedirects: c.MaxRetries,
		PoolSize: c.PoolSize, MinIdleConns: c.MinIdleConns,
		DialTimeout: c.DialTimeout, ReadTimeout: c.ReadTimeout, WriteTimeout: c.WriteTimeout,
		PoolTimeout: c.PoolTimeout, ConnMaxIdleTime: c.ConnMaxIdleTime,
	}
	if c.MaxRetries == 0 {
		co.MaxRedirects = -1 // go-redis reads 0 as its default of 3
	}
	if len(c.AddrMap) > 0 || c.Dialer != nil {
		co.Dialer = dialer(c)
	}
	if c.Tune != nil {
		c.Tune(co)
	}
	return co
}

// settings are those that go-redis uses in the end.
func (e *engine) settings() Client {
	o := e.client.Options()
	ms := func(d time.Duration) int64 { return max(d.Milliseconds(), 0) }
	return Client{
		PoolSize: o.PoolSize, MinIdleConns: o.MinIdleConns, MaxRedirects: o.MaxRedirects,
		DialTimeout: ms(o.DialTimeout), ReadTimeout: ms(o.ReadTimeout), WriteTimeout: ms(o.WriteTimeout),
		PoolTimeout: ms(o.PoolTimeout), ContextBounds: o.ContextTimeoutEnabled, TLS: o.TLSConfig != nil,
	}
}

// shut closes the client and waits for that at most a moment: a stuck node
// must not hold up the report.
func (e *engine) shut() {
	done := make(chan struct{})
	go func() { _ = e.close(); close(done) }()
	t := time.NewTimer(200 * time.Millisecond)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// sender sends single commands or pipelines.
func (e *engine) sender(ttl time.Duration) sender {
	return func(ctx context.Context, ops []operation, out []outcome) {
		if len(ops) == 1 {
			e.one(ctx, &ops[0], &out[0], ttl)
		} else {
			e.many(ctx, ops, out, ttl)
		}
	}
}

func (e *engine) one(ctx context.Context, op *operation, out *outcome, ttl time.Duration) {
	var err error
	if op.op == OpGet {
		err = e.commands.Get(ctx, op.key).Err()
	} else {
		err = e.commands.Set(ctx, op.key, op.value, ttl).Err()
	}
	out.miss, out.kind = err == redis.Nil, errorKind(err)
}

func (e *engine) many(ctx context.Context, ops []operation, out []outcome, ttl time.Duration) {
	p := e.commands.Pipeline()
	cmds := make([]redis.Cmder, len(ops))
	for i := range ops {
		if ops[i].op == OpGet {
			cmds[i] = p.Get(ctx, ops[i].key)
		} else {
			cmds[i] = p.Set(ctx, ops[i].key, ops[i].value, ttl)
		}
	}
	_, _ = p.Exec(ctx) // each command has its own error
	for i, c := range cmds {
		err := c.Err()
		out[i].miss, out[i].kind = err == redis.Nil, errorKind(err)
	}
}

// A poolTracker knows every node client that a cluster client makes, so that
// the counters of nodes that were replaced are not lost.
type poolTracker struct {
	mu      sync.Mutex
	clients []*redis.Client
}

func (t *poolTracker) watch(co *redis.ClusterOptions) {
	makeClient := co.NewClient
	if makeClient == nil {
		makeClient = redis.NewClient
	}
	co.NewClient = func(o *redis.Options) *redis.Client {
		c := makeClient(o)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.clients = append(t.clients, c)
		return c
	}
}

func (t *poolTracker) use() PoolUse {
	t.mu.Lock()
	defer t.mu.Unlock()
	var u PoolUse
	for _, c := range t.clients {
		for s := c.PoolStats(); s != nil; s = (*redis.PoolStats)(s.PipelineStats) {
			u.Waits += uint64(s.WaitCount)
			u.WaitSeconds += float64(s.WaitDurationNs) / 1e9
			u.Timeouts += uint64(s.Timeouts)
			u.Stale += uint64(s.StaleConns)
		}
	}
	return u
}
