package doctor

import "fmt"

var _ = register(Check{
	ID: "C12", Title: "the slot map is small and quickly told", Severity: Warn,
	Why:    "every client reads the whole map again after each change; its size and cost grow with the number of ranges",
	Fix:    "rebalance so that each master has few long ranges",
	Verify: "redis-cli -p PORT cluster slots; redis-cli info commandstats",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		out := perNode(s.Cluster, func(n *Node) Finding {
			if n.Info.Role() == "slave" {
				return ok("0 ranges", "fewer than 50 ranges a master, below 5 ms")
			}
			if n.View == nil {
				return skipped(firstOf(n.ViewReason, "no view"))
			}
			ranges := len(n.View[n.ID].Slots)
			f := ok(plural(ranges, "range"), "fewer than 50 ranges a master, below 5 ms")
			usec := 0.0
			for _, cmd := range []string{"cluster|slots", "cluster|shards"} {
				if st := n.Later.Commands[cmd]; st.Calls > 0 {
					usec = max(usec, float64(st.Usec)/float64(st.Calls))
				}
			}
			if ranges >= 50 || usec > 5000 {
				f.Current = fmt.Sprintf("%s, CLUSTER SLOTS takes %.1f ms", plural(ranges, "range"), usec/1000)
				return f.as(Warn, "")
			}
			return f
		})
		return out
	},
})
