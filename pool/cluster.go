package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Cluster is a cluster client that was checked at boot. Its methods may be
// called concurrently.
type Cluster struct {
	cfg      Config
	client   *redis.ClusterClient
	observer *Observer
	topo     *topology

	// life ends with Close: it cancels dials and background work.
	life context.Context
	end  context.CancelFunc

	closeOnce sync.Once
	closeErr  error
}

// closeWait bounds Close: a TLS connection whose peer is gone may not take its
// goodbye.
const closeWait = time.Second

// New makes a client and checks the cluster with it: that the seeds are cluster
// nodes, that all slots are served, and that every master answers PING over a
// connection that has authenticated.
//
// It blocks for at most Config.BootTimeout, whatever ctx says, and less when
// ctx ends earlier. The error is one line for an operator and names the nodes
// with their addresses and slots and what to do; it matches [ErrConfig],
// [ErrNotCluster] or [ErrUnserved] where one of these is the cause, and holds
// a [*NodeError] for every node that is at fault. After an error nothing is
// left open. The caller closes the Cluster.
func New(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, fmt.Errorf("pool: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.BootTimeout, fmt.Errorf("not finished within BootTimeout %s", cfg.BootTimeout))
	defer cancel()

	c := &Cluster{cfg: cfg, topo: &topology{}}
	c.life, c.end = context.WithCancel(context.Background())
	opt := cfg.clusterOptions()
	opt.Dialer = newDialer(cfg, c.life, c.topo.hostFor).dial
	if cfg.Tune != nil {
		cfg.Tune(opt)
	}
	err = bounded(ctx, func() error {
		info, err := probeSeeds(ctx, cfg, opt)
		if err == nil && info.knowsIdentity() {
			opt.DisableIdentity = false
		}
		return err
	})
	if err == nil {
		c.client = redis.NewClusterClient(opt)
		c.observer = Observe(c.client)
		c.client.OnNewNode(func(rdb *redis.Client) {
			rdb.AddHook(&topologyHook{addr: rdb.Options().Addr, topo: c.topo})
		})
		err = bounded(ctx, func() error { return c.check(ctx) })
	}
	if err != nil {
		_ = c.Close()
		return nil, bootError(ctx, cfg, err)
	}
	return c, nil
}

func bootError(ctx context.Context, cfg Config, err error) error {
	// A context that ended hides behind the errors of the nodes it stopped.
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("pool %s: boot check: %w: %w", cfg.Name, cause, err)
	}
	return fmt.Errorf("pool %s: boot check: %w", cfg.Name, err)
}

// Client is the go-redis client, plain and complete. Do not close it; close
// the Cluster.
func (c *Cluster) Client() *redis.ClusterClient { return c.client }

// Observer counts what the nodes answered to this client.
func (c *Cluster) Observer() *Observer { return c.observer }

// Close closes the client and all its connections, those being opened
// included. It returns within a second or so. Commands under way fail. Further
// calls return what the first one did.
func (c *Cluster) Close() error {
	c.closeOnce.Do(func() {
		c.end()
		if c.client == nil {
			return
		}
		done := make(chan error, 1)
		go func() { done <- c.client.Close() }()
		t := time.NewTimer(closeWait)
		defer t.Stop()
		select {
		case c.closeErr = <-done:
		case <-t.C:
			c.closeErr = fmt.Errorf("pool %s: close: connections still closing after %s", c.cfg.Name, closeWait)
		}
	})
	return c.closeErr
}
