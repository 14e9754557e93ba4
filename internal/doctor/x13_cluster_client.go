package doctor

import "fmt"

var _ = register(Check{
	ID: "X13", Title: "all clients are cluster clients", Severity: Warn,
	Why:    "a client for a single server gets MOVED for most keys: errors, or a redirect each time",
	Fix:    "redis.NewClusterClient instead of redis.NewClient; rcctl doctor moved names the client",
	Verify: "redis-cli -p PORT info errorstats",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			d, why := n.delta()
			if why != "" {
				return skipped(why)
			}
			if d.ErrorsDisabled {
				return skipped("errorstats are off on the server (S22)")
			}
			moved, done := d.Errors["MOVED"], d.Counters["total_commands_processed"]
			share := float64(moved) / float64(max(moved+done, 1))
			f := ok("no sign of others", "MOVED below 5 % of commands")
			if me := n.View[n.ID]; len(me.Migrating)+len(me.Importing) > 0 {
				return f // slots are on the move: redirects are normal
			}
			if moved >= 20 && share >= 0.05 {
				f.Current = fmt.Sprintf("MOVED is %s of commands and no slot is on the move: clients of this node do not keep a slot map", percent(share))
				return f.as(Warn, "")
			}
			return f
		})
	},
})
