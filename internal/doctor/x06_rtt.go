package doctor

import (
	"fmt"
	"slices"
	"time"
)

// rttFloor keeps differences of microseconds on one host from counting.
const rttFloor = 2 * time.Millisecond

var _ = register(Check{
	ID: "X06", Title: "no node is much farther away than the others", Severity: Info,
	Why:    "a node in another zone or on a bad link makes every pipeline over all nodes as slow as itself",
	Fix:    "place clients and masters in one zone, or look at the link",
	Verify: "redis-cli -h HOST -p PORT --latency",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		var all []int64
		for _, n := range s.Cluster.each() {
			if len(n.RTTUsec) > 0 {
				all = append(all, slices.Min(n.RTTUsec))
			}
		}
		if len(all) == 0 {
			return []Finding{skip("path", "round trips", "none could be measured")}
		}
		slices.Sort(all)
		median := all[len(all)/2]
		return perNode(s.Cluster, func(n *Node) Finding {
			if len(n.RTTUsec) == 0 {
				return skipped("no round trip was measured")
			}
			rtt := slices.Min(n.RTTUsec)
			f := ok(fmt.Sprintf("median %.1f ms", float64(median)/1000), "at most 3 x the median")
			f.Scope = "path"
			if rtt > 3*median && time.Duration(rtt)*time.Microsecond > rttFloor {
				f.Current = fmt.Sprintf("%.1f ms, median %.1f ms", float64(rtt)/1000, float64(median)/1000)
				return f.as(Info, "")
			}
			return f
		})
	},
})
