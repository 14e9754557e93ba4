package pool

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

const (
	houseEvery   = time.Second
	refreshEvery = 30 * time.Second
	stallEvery   = 200 * time.Millisecond
	// The share of a pool that is closed at once.
	sweepShare = 10
)

// warmAll opens the warm connections of all masters and returns the first
// error.
func (c *core) warmAll(ctx context.Context) error {
	if c.cfg.MinIdleConns == 0 {
		return nil
	}
	var g errgroup.Group
	g.SetLimit(fanOut)
	for _, s := range c.topo.shards() {
		n := c.nodes.get(s.addr)
		g.Go(func() error { return c.warm(ctx, n, c.cfg.MinIdleConns) })
	}
	return g.Wait()
}

// warm has the node's pool hold count connections at once and gives them back
// idle. Each one has been through HELLO and AUTH; those that were there are
// checked, and replaced where they are dead or too old.
func (c *core) warm(ctx context.Context, n *node, count int) error {
	client := n.client.Load()
	if client == nil || count <= 0 || n.breaker.Open() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DialTimeout+2*c.cfg.ReadTimeout+c.cfg.PoolTimeout)
	defer cancel()
	conns := make([]*redis.Conn, count)
	var g errgroup.Group
	g.SetLimit(maxConcurrentDials)
	for i := range conns {
		conns[i] = client.Conn()
		g.Go(func() error { return conns[i].ClientSetName(ctx, c.opt.ClientName).Err() })
	}
	err := g.Wait()
	for _, cn := range conns {
		_ = cn.Close()
	}
	return err
}

// housekeep keeps the pools as they should be until the Cluster closes.
func (c *core) housekeep() {
	// Many processes started at once must not tick at once.
	t := time.NewTimer(rand.N(houseEvery))
	defer t.Stop()
	lastRefresh := time.Now()
	for {
		select {
		case <-c.life.Done():
			return
		case <-t.C:
		}
		refresh := time.Since(lastRefresh) >= refreshEvery
		if refresh {
			lastRefresh = time.Now()
		}
		floor := make(map[string]int)
		for _, s := range c.topo.shards() {
			floor[s.addr] = c.cfg.MinIdleConns
			if n := c.nodes.get(s.addr); n.breaker.Open() {
				c.startProbing(n) // it was given up while it was gone
			}
		}
		var g errgroup.Group
		g.SetLimit(fanOut)
		for _, n := range c.nodes.all() {
			g.Go(func() error {
				c.keep(n, floor[n.addr], refresh)
				return nil
			})
		}
		_ = g.Wait()
		t.Reset(jitter(houseEvery, 10))
	}
}

// watchStalls looks for nodes with commands under way of which none ended for
// a while, and has them pinged: with a long ReadTimeout nothing else would tell
// for that long that a node stalls.
func (c *core) watchStalls() {
	t := time.NewTicker(stallEvery)
	defer t.Stop()
	done := make(map[*node]uint64)
	for {
		select {
		case <-c.life.Done():
			return
		case <-t.C:
		}
		for _, n := range c.nodes.all() {
			ended := c.observer.node(n.addr).attempts.Load()
			if was, known := done[n]; known && was == ended && n.inflight.Load() > 0 {
				c.suspect(n, suspectStalledEvery)
			}
			done[n] = ended
		}
	}
}

// keep does one look at one node's pool.
func (c *core) keep(n *node, floor int, refresh bool) {
	client := n.client.Load()
	if client == nil || n.breaker.Open() {
		return
	}
	c.nodes.poolTotals(n) // before a counter of 32 bits has gone around
	s := client.PoolStats()
	total, idle := int(s.TotalConns), int(s.IdleConns)
	used := max(total-idle, 0)
	lowest := max(0, min(idle, total-n.takePeak()))
	surplus := n.surplus(lowest, floor, c.cfg.PoolSize, c.cfg.ConnMaxIdleTime)
	switch {
	case surplus > 0:
		c.shrink(n, client, min(surplus, max(1, c.cfg.PoolSize/sweepShare)))
	case idle < floor && total < c.cfg.PoolSize:
		// Holding all it should have is what makes a pool dial; never more
		// than it has room for.
		_ = c.warm(c.life, n, min(floor, c.cfg.PoolSize-used))
	case refresh && floor > 0 && idle > 0:
		_ = c.warm(c.life, n, min(idle, c.cfg.PoolSize-used))
	}
}

// surplus is how many idle connections above the floor nobody needed for the
// idle time. lowest is the fewest idle ones since the last look.
func (n *node) surplus(lowest, floor, size int, idleTime time.Duration) (surplus int) {
	now := time.Now()
	if n.idleSince == nil {
		n.idleSince = make([]time.Time, size)
		for k := range n.idleSince {
			n.idleSince[k] = now
		}
	}
	for k := min(lowest, len(n.idleSince)); k < len(n.idleSince); k++ {
		n.idleSince[k] = now
	}
	for k := floor; k < min(lowest, len(n.idleSince)); k++ {
		if now.Sub(n.idleSince[k]) >= idleTime {
			surplus++
		}
	}
	return surplus
}

// shrink closes idle connections one after the other. Which ones does not
// matter: go-redis hands out the one used last, so the count is what ages.
func (c *core) shrink(n *node, client *redis.Client, count int) {
	ctx, cancel := context.WithTimeout(c.life, c.cfg.ReadTimeout)
	defer cancel()
	for range count {
		if client.PoolStats().IdleConns == 0 {
			return
		}
		cn := client.EphemeralConn()
		err := cn.ClientSetName(ctx, c.opt.ClientName).Err()
		_ = cn.Close()
		if err != nil {
			return
		}
	}
}
