package lockcluster

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// renew keeps a lease alive, at a third of its length, until stop is called.
func (c *Cache) renew(ctx context.Context, sh *shard, key string, lease token) (stop func()) {
	if c.cfg.NoRenewal {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for sleep(ctx, c.cfg.Lease/3) {
			r, err := c.run(ctx, sh, renewScript, key, lease[:], ms(c.cfg.Lease), ms(leaseGrace))
			if err == nil && r.state == "LOST" {
				c.stats.lease(r.state)
				return
			}
		}
	}()
	return cancel
}

// release gives a lease back; failed counts for the cool-down.
func (c *Cache) release(ctx context.Context, sh *shard, key string, lease token, failed bool) {
	flag, after := "0", c.cfg.CooldownAfter
	if failed {
		flag = "1"
	}
	if c.cfg.Cooldown == 0 {
		after = 0
	}
	remember := max(time.Minute, 2*c.cfg.CooldownMax)
	_, err := c.run(ctx, sh, releaseScript, key, lease[:], flag, after, ms(c.cfg.Cooldown), ms(c.cfg.CooldownMax),
		ms(remember), c.channel(), key)
	if err != nil {
		c.warn("release unanswered", key, err)
	}
	c.wake.wake(key)
}

// releaseLater gives a lease back whose fate is unknown, once its shard
// answers again; after that it ends by itself.
func (c *Cache) releaseLater(sh *shard, key string, lease token) {
	c.tasks.start(func(ctx context.Context) {
		for end := c.clock.now() + c.cfg.Lease; c.clock.now() < end && sleep(ctx, 20*time.Millisecond); {
			if !sh.breaker.open() {
				c.release(ctx, sh, key, lease, false)
				return
			}
		}
	})
}

// fill stores what a load gave, if the lease it relies on is still there.
func (c *Cache) fill(ctx context.Context, sh *shard, key string, id, lease token, l *Load, o outcome) (reply, error) {
	return c.run(ctx, sh, fillScript, key, c.fillArgs(key, id, lease, l, o)...)
}

// filled does what the answer to a fill asks for. It reports whether the value
// was superseded and must not be used.
func (c *Cache) filled(ctx context.Context, sh *shard, key string, id, lease token, a answer, r reply, err error) (superseded bool) {
	switch {
	case err != nil: // nobody knows what became of it
		c.stats.fills.unanswered.Add(1)
		c.warn("fill unanswered", key, err)
		c.releaseLater(sh, key, lease)
	case r.state == "FILLED":
		c.stats.fills.stored.Add(1)
		c.copies.put(key, a.value, a.missing, id)
		c.wake.wake(key)
	case r.state == "LOST":
		c.stats.fills.lost.Add(1)
		return true
	default: // REFUSED, FOREIGN
		c.stats.fills.refused.Add(1)
		c.warn("fill refused", key, errorString(r.extra))
		c.release(ctx, sh, key, lease, false)
	}
	return false
}

func (c *Cache) fillArgs(key string, id, lease token, l *Load, o outcome) []any {
	k, fresh, stale := kindValue, c.jittered(), c.cfg.Stale
	if o.missing {
		k, fresh, stale = kindNotFound, c.cfg.NotFoundFor, 0
	}
	if l.ttlSet {
		fresh, stale = l.fresh, l.stale
	}
	payload, sum := o.value, [8]byte{}
	if len(payload) > c.cfg.MaxValueBytes {
		l.noStore = true
		c.stats.fills.tooLarge.Add(1)
		c.warn("value not stored", key, fmt.Errorf("%d bytes are more than MaxValueBytes (%d)", len(payload), c.cfg.MaxValueBytes))
	}
	if l.noStore || fresh < time.Millisecond {
		k, payload, fresh, stale = kindNone, nil, 0, 0
	} else if c.cfg.PlainValues && k == kindValue {
		sum = digest(payload)
	}
	if payload == nil {
		payload = []byte{}
	}
	took := min(max((o.took+time.Millisecond-1)/time.Millisecond*time.Millisecond, 0), maxSpan)
	return []any{id[:], lease[:], int(k), ms(fresh), ms(stale), ms(took),
		sum[:], payload, c.channel(), key, ms(tombstoneFor)}
}

// quiet lets a kind of message through once a second.
type quiet struct {
	mu   sync.Mutex
	last map[string]time.Duration
}

func (c *Cache) warn(msg, key string, err error) {
	now := c.clock.now()
	c.quiet.mu.Lock()
	last, seen := c.quiet.last[msg]
	if pass := !seen || now-last > time.Second; !pass {
		c.quiet.mu.Unlock()
		return
	}
	if c.quiet.last == nil {
		c.quiet.last = map[string]time.Duration{}
	}
	c.quiet.last[msg] = now
	c.quiet.mu.Unlock()
	c.cfg.Logger.Warn("lockcluster: "+msg, slog.String("key", key), slog.Any("error", err))
}

// jittered is a fresh length, shortened.
func (c *Cache) jittered() time.Duration {
	if c.cfg.Jitter == 0 {
		return c.cfg.Fresh
	}
	return c.cfg.Fresh - rand.N(c.cfg.Jitter)
}
