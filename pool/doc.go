// Package pool makes cluster clients whose worst case is known.
//
// A go-redis cluster client is easy to make and hard to make well: it finds out
// that it talks to a single server, that a master is dead or that a password is
// wrong with the first command of the first user; its timeouts and retries
// multiply; after a master dies it goes on asking the dead one for up to a
// minute; and it tells nobody how often it was redirected. New makes one with
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
// Make one for the process, at its start, and hand it to whoever needs it;
// [Shared] is for code that cannot. The client is a plain *redis.ClusterClient;
// nothing hides it.
//
// # What it does while it runs
//
// Connections: MinIdleConns of them per master have finished HELLO and AUTH
// before New returns, and stay ready. What nobody needed for ConnMaxIdleTime is
// closed, down to these. PoolSize is a true cap per node.
//
// Topology: it is read anew every ten seconds and as soon as a node fails,
// redirects or refuses, never in more than five rounds a second. Endpoints that
// are unknown (NULL, "" or "?") are completed, announced addresses are mapped
// with Config.AddrMap.
//
// Sick nodes: after five failures in a row, or when a ping finds that a node
// stalls, commands to it end at once with [ErrUnavailable] (see
// Config.Fallback) until a ping is answered. Redis' own error replies never
// count as failures.
//
// Bounds: [Config.WorstCase] says how long one command can take and how often it
// can run; [Config.Explain] shows all options in effect with the reasons;
// [Config.ConnBudget] and [Config.Plan] count connections. [Cluster.Once] is for
// commands that must not run twice, and [Applied] tells whether a failed one may
// have run.
//
// What happens: [Cluster.Stats], [Cluster.Subscribe], the log, and the
// [Observer], whose counts of MOVED and ASK equal the servers'.
//
// # What it leaves out
//
// Multi-key commands over several slots (see package hashtag), caching (see
// package lockcluster), health endpoints (see package health). Routing reads to
// replicas is possible with Tune, and then Stats and budgets count replicas too,
// but nothing keeps their connections warm.
package pool
