package doctor

import (
	"fmt"
	"slices"
)

var _ = register(Check{
	ID: "X11", Title: "the planned pool carries the load", Severity: Warn,
	Why:    "a pool smaller than rate x latency makes callers wait for a connection",
	Fix:    "a larger PoolSize (--pool-size), within C15",
	Verify: "redis-cli -p PORT info stats | grep instantaneous_ops",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			ops, known := n.Info.Int("instantaneous_ops_per_sec")
			if !known || len(n.RTTUsec) == 0 {
				return skipped(firstOf(n.InfoReason, "no rate or no round trip was measured"))
			}
			need := float64(ops) * float64(slices.Min(n.RTTUsec)) / 1e6 / float64(s.Plan.Instances)
			f := ok("enough for 1.5 x rate x latency", "PoolSize at least 1.5 x rate x latency")
			if float64(s.Plan.PoolSize) < 1.5*need {
				f.Current = fmt.Sprintf("PoolSize %d, %d commands a second need %.0f connections a process", s.Plan.PoolSize, ops, need)
				return f.as(Warn, "")
			}
			return f
		})
	},
})
