package pool

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	probeEvery     = 50 * time.Millisecond
	probeEveryLate = 500 * time.Millisecond // of an outage that lasts
	outageIsLate   = time.Minute
	probesAtOnce   = 6
	// A node that answered is not suspected again for so long: because of
	// callers that ran out of time, and because no command ends, which is so
	// too when all of them block.
	suspectEvery        = 100 * time.Millisecond
	suspectStalledEvery = 5 * time.Second
	// A node that left the topology is not probed for longer.
	probeGoneNode = 2 * time.Minute
)

// opened is called once when the breaker of a node opens.
func (c *core) opened(n *node, cause error) {
	c.publish(Event{Kind: BreakerOpen, Addr: n.addr, Err: cause})
	c.startProbing(n)
}

// startProbing pings a node until it answers, unless that is under way.
func (c *core) startProbing(n *node) {
	if n.probing.CompareAndSwap(false, true) && !c.spawn(func() { c.probeUntilUp(n) }) {
		n.probing.Store(false)
	}
}

// suspect checks a node once, in the background, unless that was done a short
// while ago. Without an answer its breaker opens.
func (c *core) suspect(n *node, shortWhile time.Duration) {
	now := time.Now().UnixNano()
	if n.breaker.Open() || now-n.checked.Load() < int64(shortWhile) || !n.probing.CompareAndSwap(false, true) {
		return
	}
	n.checked.Store(now)
	started := c.spawn(func() {
		client := c.probeClient(n.addr)
		defer client.Close()
		err := c.ping(client)
		if err == nil || c.life.Err() != nil || !n.breaker.Trip() {
			n.probing.Store(false)
			return
		}
		c.publish(Event{Kind: BreakerOpen, Addr: n.addr, Err: err})
		c.reload.kick()
		c.probeUntilUp(n)
	})
	if !started {
		n.probing.Store(false)
	}
}

// probeUntilUp pings every 50 ms, each time without waiting for the ping
// before, since one that a network swallowed never comes back. Any reply closes
// the breaker: the network is fine then, and what the server replies reaches
// the callers.
func (c *core) probeUntilUp(n *node) {
	defer n.probing.Store(false)
	client := c.probeClient(n.addr)
	defer client.Close()
	up := make(chan struct{}, 1)
	slots := make(chan struct{}, probesAtOnce)
	start := time.Now()
	every := max(probeEvery, c.probeTimeout/probesAtOnce)
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		select {
		case <-c.life.Done():
			return
		case <-up:
			n.breaker.Success()
			c.publish(Event{Kind: BreakerClosed, Addr: n.addr})
			c.reload.kick()
			return
		case <-tick.C:
		}
		age := time.Since(start)
		if age > probeGoneNode && !c.topo.has(n.addr) {
			return
		}
		if age > outageIsLate {
			every = max(probeEveryLate, every)
		}
		tick.Reset(every)
		select {
		case slots <- struct{}{}:
			c.spawn(func() {
				if c.ping(client) == nil {
					select {
					case up <- struct{}{}:
					default:
					}
				}
				<-slots
			})
		default:
		}
	}
}

// ping is nil when the node replied, with whatever.
func (c *core) ping(client *redis.Client) error {
	ctx, cancel := context.WithTimeout(c.life, c.probeTimeout)
	defer cancel()
	err := client.Ping(ctx).Err()
	if err != nil && isReply(err) {
		return nil
	}
	return err
}

// probeClient is a client for one node that no hook and no breaker touches.
func (c *core) probeClient(addr string) *redis.Client {
	opt := nodeOptions(addr, c.opt)
	dial := c.dialer.dial
	if c.foreignDialer {
		dial = c.opt.Dialer
	}
	opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return &failedConn{err}, nil
		}
		return conn, nil
	}
	opt.PoolSize = probesAtOnce
	opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout = c.probeTimeout, c.probeTimeout, c.probeTimeout
	return redis.NewClient(opt)
}
