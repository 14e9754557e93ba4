// Package pool makes cluster clients whose worst case is known.
//
// A go-redis cluster client is easy to make and hard to make well: it finds out
// that it talks to a single server, that a master is dead or that a password is
// wrong with the first command of the first user, its timeouts and retries
// multiply, and it tells nobody how often it was redirected. New makes one with
// settings that fit together, checks the whole cluster with it before anybody
// uses it, and says in one line what is wrong and what to do.
//
//	c, err := pool.New(ctx, pool.Config{Addrs: []string{"10.0.0.1:6379", "10.0.0.2:6379"}})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	c.Client().Set(ctx, "user:session:1001", "...", 10*time.Minute)
//
// Make one for the process, at its start, and hand it to whoever needs it. The
// client is a plain *redis.ClusterClient; nothing hides it.
package pool
