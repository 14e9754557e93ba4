package lockcluster

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// early decides whether this reader refreshes ahead of time (XFetch, Vattani
// et al., "Optimal Probabilistic Cache Stampede Prevention", 2015): with
// probability e^(-remaining / (beta × delta)), delta being the time the last
// load took. It draws only near the end: beyond 12 × beta × delta the chance is
// 6e-6, and a slow load must not refresh all through a short life.
func (c *Cache) early(h *header, remaining time.Duration) bool {
	return xfetch(c.cfg.Beta, time.Duration(h.delta)*time.Millisecond, time.Duration(h.freshLen)*time.Millisecond, remaining, rand.Float64)
}

func xfetch(beta float64, delta, fresh, remaining time.Duration, draw func() float64) bool {
	scale := beta * float64(delta)
	if scale <= 0 || float64(remaining) > min(12*scale, float64(fresh)/4) {
		return false
	}
	return -scale*math.Log(1-draw()) >= float64(remaining)
}

// refresh loads in the background, if there is a place for it and nobody in
// this process does already; the lease makes one load of all volunteers.
func (c *Cache) refresh(ctx context.Context, sh *shard, key string, load Loader, seen view, reason loadReason) {
	if c.reentrant(ctx, key) || c.open.has(key) || c.refreshing.has(key) {
		return
	}
	if !c.refreshes.TryAcquire(1) {
		c.stats.refreshesSkipped.Add(1)
		return
	}
	key = strings.Clone(key)
	if !c.refreshing.add(key) || !c.tasks.enter() {
		c.refreshing.remove(key)
		c.refreshes.Release(1)
		return
	}
	rctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(c.tasks.ctx, cancel)
	go func() {
		defer c.tasks.leave()
		defer c.refreshes.Release(1)
		defer c.refreshing.remove(key)
		defer cancel()
		defer stop()
		f := &flight{c: c, key: key, load: load, seen: seen, sealed: true, began: c.clock.now(), reason: reason, token: c.newToken()}
		r, err := f.acquire(rctx, sh, "0")
		if err == nil && r.state == "ACQUIRED" {
			_, _, err = f.lead(rctx, sh, r)
		}
		if err != nil {
			c.warn("refresh failed", key, err)
		}
	}()
}

// renewSample asks a shard for its time in the background.
func (c *Cache) renewSample(sh *shard, key string) {
	if !c.tasks.start(func(ctx context.Context) {
		defer sh.clock.renewing.Store(false)
		_, _ = c.run(ctx, sh, acquireScript, key, "", "0", "", "", "")
	}) {
		sh.clock.renewing.Store(false)
	}
}
