// Package lockcluster loads what a cache does not have: one load per expiry
// per cluster.
//
// What is expensive and can happen in parallel needs a lock per key, not per
// request. A cache without one is a time bomb that goes off once per TTL: when
// a hot key expires, every goroutine of every process misses at once and runs
// the same slow query. The first result is stored, the others are thrown away.
// A shorter TTL only makes it go off more often, and with one worker in
// development nothing shows.
//
// The smallest program:
//
//	rdb := redis.NewClusterClient(&redis.ClusterOptions{
//		Addrs:                 []string{"127.0.0.1:7000"},
//		ContextTimeoutEnabled: true, // without it no time limit holds
//	})
//	cache, err := lockcluster.New(rdb, lockcluster.Config{})
//	...
//	defer cache.Close(ctx)
//
//	r, err := cache.Get(ctx, "product:1001", func(ctx context.Context, l *lockcluster.Load) ([]byte, error) {
//		return queryProduct(ctx, 1001) // runs once, however many ask
//	})
//
// In a handler (Fiber, here):
//
//	r, err := cache.Get(c.Context(), "product:"+id, load)
//	switch {
//	case errors.Is(err, lockcluster.ErrNotFound):
//		return c.SendStatus(404)
//	case c.Context().Err() != nil: // ask the request, not the error
//		return c.Status(408).SendString("request canceled by client")
//	case err != nil:
//		return c.Status(500).SendString("failed to retrieve data")
//	}
//	c.Set("X-Cache", r.XCache())
//	c.Set("X-Cache-Coalesced", strconv.FormatBool(r.Shared))
//	return c.Send(r.Value)
//
// # What is promised
//
// One load at a time for a key in the whole cluster, by a lease that lives in
// the record at the key itself. Those who wait are woken within milliseconds
// of the fill. Nobody is blocked by a loader that is dead, slow, panicking or
// cancelled, and every call ends within LoadTimeout, or WaitBudget +
// LoserTimeout for those who wait for somebody else. After Invalidate, or a
// plain DEL, nobody who asks later gets what was there before, nor what a load
// that was under way brings. Clocks of the hosts that run this code never
// matter.
//
// When Redis is sick, calls end quickly ([Config.WhenSick]): with the last good
// copy, a load bounded in number, or an error. One shard's sickness never
// touches keys of another.
//
// # What is not
//
// Replication in Redis is asynchronous: a failover can undo a fill or an
// invalidation that was acknowledged. Clocks of the Redis nodes must be in
// sync. The lease saves work and is no proof of mutual exclusion: a loader that
// was paused may run beside its successor, only its value is refused.
//
// The record is a STRING with a binary header, so other programs that GET the
// key see that header first. With [Config.PlainValues] the value stays a plain
// string that others GET and SET, and the header goes to a second key in the
// same slot. That keeps one load per expiry, adopts values that others SET, and
// keeps Invalidate's promise. It does not keep the promise about a plain DEL or
// a foreign SET during a load (the load's value wins); while the slot is being
// resharded it loads without a lease; and a hit costs two GETs in one pipeline.
//
// A [Locker] is the same two-level lock (process first, then cluster) for work
// that has no value to cache.
package lockcluster
