package lockcluster

import (
	"context"
	"time"
)

// What the external tests need of the inside.

type (
	Token  = token
	Header = header
)

var (
	Companion = companion
	XFetch    = xfetch
	HeaderLen = headerLen
)

type Reply struct {
	State  string
	Header Header
	Extra  string
}

// Lease is the lease token in words.
func (h *header) Lease() string { return h.lease.String() }

func (c *Cache) NewToken() Token { return c.newToken() }

func (c *Cache) script(ctx context.Context, key string, do func(sh *shard) (reply, error)) (Reply, error) {
	sh, err := c.shardFor(ctx, key)
	if err != nil {
		return Reply{}, err
	}
	r, err := do(sh)
	return Reply{r.state, r.header, r.extra}, err
}

func (c *Cache) Acquire(ctx context.Context, key string, t Token, known, wait string) (Reply, error) {
	return c.script(ctx, key, func(sh *shard) (reply, error) {
		return c.run(ctx, sh, acquireScript, key, t[:], ms(c.cfg.Lease), known, wait, ms(leaseGrace))
	})
}

func (c *Cache) Renew(ctx context.Context, key string, t Token) (Reply, error) {
	return c.script(ctx, key, func(sh *shard) (reply, error) {
		return c.run(ctx, sh, renewScript, key, t[:], ms(c.cfg.Lease), ms(leaseGrace))
	})
}

func (c *Cache) Release(ctx context.Context, key string, t Token, failed bool) (Reply, error) {
	flag := "0"
	if failed {
		flag = "1"
	}
	return c.script(ctx, key, func(sh *shard) (reply, error) {
		return c.run(ctx, sh, releaseScript, key, t[:], flag, c.cfg.CooldownAfter, ms(c.cfg.Cooldown), ms(c.cfg.CooldownMax), "60000", c.channel(), key)
	})
}

func (c *Cache) Fill(ctx context.Context, key string, t Token, value string) (Reply, error) {
	return c.script(ctx, key, func(sh *shard) (reply, error) {
		return c.fill(ctx, sh, key, t, t, &Load{key: key}, outcome{value: []byte(value), took: time.Millisecond})
	})
}

func (c *Cache) InvalidateWith(ctx context.Context, key string, t Token) (Reply, error) {
	return c.script(ctx, key, func(sh *shard) (reply, error) {
		return c.run(ctx, sh, invalidateScript, key, t[:], "1", ms(tombstoneFor), c.channel(), key)
	})
}

// Waiters is the number of keys with a registered waiter.
func (c *Cache) Waiters() int {
	c.wake.mu.Lock()
	defer c.wake.mu.Unlock()
	return len(c.wake.waiters)
}

// ShiftWallClock sets the process's wall clock off by d.
func ShiftWallClock(d time.Duration) {
	timeNow = func() time.Time { return time.Now().Add(d) }
}
