package pool

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Cluster is a cluster client that was checked at boot. Its methods may be
// called concurrently.
type Cluster struct {
	*core
	// release gives this user's share back.
	release func() error
}

// core is what the users of one pool share.
type core struct {
	cfg      Config
	opt      *redis.ClusterOptions
	client   *redis.ClusterClient
	observer *Observer
	topo     *topology
	nodes    registry
	dialer   *dialer
	reload   *reloader
	hub      hub

	// foreignDialer: Tune replaced the Dialer.
	foreignDialer bool
	blockingOnce  sync.Once
	blocking      *redis.ClusterClient
	shedBelow     time.Duration
	probeTimeout  time.Duration

	// life ends with Close: it cancels dials and background work.
	life context.Context
	end  context.CancelFunc

	mu     sync.Mutex
	closed bool
	tasks  sync.WaitGroup
}

// closeWait bounds Close: a TLS connection whose peer is gone may not take its
// goodbye.
const closeWait = time.Second

// New makes a client, checks the cluster with it (that the seeds are cluster
// nodes, that all slots are served, that every master answers PING over a
// connection that has authenticated) and opens MinIdleConns connections to
// every master.
//
// It blocks for at most Config.BootTimeout, whatever ctx says, and less when
// ctx ends earlier. The error is one line for an operator and names the nodes
// with their addresses and slots and what to do; it matches [ErrConfig],
// [ErrNotCluster] or [ErrUnserved] where one of these is the cause, and holds
// a [*NodeError] for every node that is at fault. After an error nothing is
// left open. The caller closes the Cluster.
func New(ctx context.Context, cfg Config) (*Cluster, error) {
	c, err := newPool(ctx, cfg)
	if err != nil {
		return nil, err
	}
	leave := enter(c.cfg)
	return &Cluster{core: c, release: sync.OnceValue(func() error {
		leave()
		return c.close()
	})}, nil
}

func newPool(ctx context.Context, cfg Config) (*core, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, fmt.Errorf("pool: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.BootTimeout, fmt.Errorf("not finished within BootTimeout %s", cfg.BootTimeout))
	defer cancel()

	c := newCore(cfg)
	if w := worstCase(c.opt).Single(); cfg.OpBudget > 0 && w > cfg.OpBudget {
		return nil, fmt.Errorf("pool: %w: OpBudget %s: one command can take %s (see pool explain): lower MaxRetries, DialTimeout, ReadTimeout or PoolTimeout, or raise OpBudget", ErrConfig, cfg.OpBudget, w)
	}
	for _, note := range timeoutNotes(c.opt) {
		cfg.Logger.Info("redis cluster: "+note, "pool", cfg.Name)
	}
	if err := c.boot(ctx); err != nil {
		_ = c.close()
		return nil, bootError(ctx, cfg, err)
	}
	c.spawn(func() { c.reload.run(c.life, c.client.ReloadState) })
	c.spawn(c.housekeep)
	c.spawn(c.watchStalls)
	return c, nil
}

// newCore builds everything but the client, and opens nothing.
func newCore(cfg Config) *core {
	c := &core{cfg: cfg, topo: &topology{}, reload: newReloader(), shedBelow: shedBelow, probeTimeout: cfg.probeTimeout()}
	c.life, c.end = context.WithCancel(context.Background())
	c.topo.changed = c.topologyChanged
	c.dialer = newDialer(cfg, c.life, c.topo.hostFor)
	c.opt = cfg.clusterOptions()
	c.opt.Dialer = c.dialNode
	if cfg.Tune != nil {
		ours := reflect.ValueOf(c.opt.Dialer).Pointer()
		cfg.Tune(c.opt)
		c.foreignDialer = reflect.ValueOf(c.opt.Dialer).Pointer() != ours
	}
	return c
}

// boot asks the seeds who they are, makes the client and checks the cluster
// with it.
func (c *core) boot(ctx context.Context) error {
	seeds := *c.opt
	if !c.foreignDialer {
		seeds.Dialer = c.dialer.dial
	}
	var info serverInfo
	err := bounded(ctx, func() (err error) {
		info, err = probeSeeds(ctx, c.cfg, &seeds)
		return err
	})
	if err != nil {
		return err
	}
	if info.knowsIdentity() {
		c.opt.DisableIdentity = false
	}
	c.client = redis.NewClusterClient(c.opt)
	c.observer = Observe(c.client)
	c.client.OnNewNode(func(rdb *redis.Client) { c.hook(rdb, c.nodes.attach(rdb)) })
	if c.cfg.Fallback != nil {
		c.client.AddHook(&fallbackHook{c.cfg.Fallback})
	}
	return bounded(ctx, func() error {
		if err := c.check(ctx); err != nil {
			return err
		}
		if err := c.warmAll(ctx); err != nil && ctx.Err() == nil {
			fix, cause := diagnose(err, c.cfg)
			c.cfg.Logger.Warn("redis cluster: not all warm connections could be opened", "pool", c.cfg.Name, "err", cause, "fix", fix)
		}
		return nil
	})
}

// hook installs what decides about every attempt at a node.
func (c *core) hook(rdb *redis.Client, n *node) {
	rdb.AddHook(&guardHook{c: c, n: n})
	rdb.AddHook(&topologyHook{addr: n.addr, topo: c.topo, timeout: c.probeTimeout})
}

func bootError(ctx context.Context, cfg Config, err error) error {
	// A context that ended hides behind the errors of the nodes it stopped. A
	// socket with the same deadline can notice a moment earlier.
	if callerRanOut(ctx) {
		<-ctx.Done()
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("pool %s: boot check: %w: %w", cfg.Name, cause, err)
	}
	return fmt.Errorf("pool %s: boot check: %w", cfg.Name, err)
}

// Client is the go-redis client, plain and complete. Do not close it; close
// the Cluster.
func (c *Cluster) Client() *redis.ClusterClient { return c.client }

// Blocking is a client for commands that block on the server (BLPOP, XREAD
// BLOCK, WAIT): each holds its connection while it waits, and in the common
// pool a hundred of them would leave none for anything else. It has a pool of
// its own of Config.BlockingPoolSize connections per node, is made on first use
// and has the same breaker; its connections are named rcctl:<name>:blocking.
// Nobody warms it. It is nil after Close. Do not close it; close the Cluster.
func (c *Cluster) Blocking() *redis.ClusterClient {
	c.blockingOnce.Do(func() {
		o := *c.opt
		o.PoolSize = c.cfg.BlockingPoolSize
		o.MaxConcurrentDials = min(maxConcurrentDials, o.PoolSize)
		o.ClientName += ":blocking"
		c.blocking = redis.NewClusterClient(&o)
		c.observer.attach(c.blocking)
		c.blocking.OnNewNode(func(rdb *redis.Client) { c.hook(rdb, c.nodes.get(rdb.Options().Addr)) })
	})
	return c.blocking
}

// Observer counts what the nodes answered to this client.
func (c *Cluster) Observer() *Observer { return c.observer }

// spawn runs f in a goroutine that Close waits for. It reports false, and runs
// nothing, after Close.
func (c *core) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.tasks.Go(f)
	return true
}

// Close closes the client and all its connections, those being opened
// included. It returns within a second or so. Commands under way fail. Further
// calls return what the first one did. What came from [Shared] closes when its
// last user closes it.
func (c *Cluster) Close() error { return c.release() }

// close is called once.
func (c *core) close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	done := make(chan error, 1)
	go func() {
		var err error
		if c.client != nil {
			err = c.client.Close()
		}
		c.blockingOnce.Do(func() {}) // none from here on
		if c.blocking != nil {
			err = errors.Join(err, c.blocking.Close())
		}
		c.tasks.Wait()
		done <- err
	}()
	t := time.NewTimer(closeWait)
	defer t.Stop()
	defer c.hub.close()
	select {
	case err := <-done:
		return err
	case <-t.C:
		return fmt.Errorf("pool %s: close: connections still closing after %s", c.cfg.Name, closeWait)
	}
}

// fallbackHook asks Config.Fallback on the level of the cluster client, after
// go-redis has given up.
type fallbackHook struct {
	ask func(ctx context.Context, cmd redis.Cmder, err error) error
}

func (h *fallbackHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *fallbackHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err != nil && errors.Is(err, ErrUnavailable) {
			return h.ask(ctx, cmd, err)
		}
		return err
	}
}

func (h *fallbackHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if err == nil || cmds[0].Name() == "multi" {
			return err
		}
		var first error
		for _, cmd := range cmds {
			if e := cmd.Err(); e != nil && errors.Is(e, ErrUnavailable) {
				cmd.SetErr(h.ask(ctx, cmd, e))
			}
			if first == nil {
				first = cmd.Err()
			}
		}
		return first
	}
}
