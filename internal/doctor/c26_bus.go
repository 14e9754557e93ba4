package doctor

import (
	"fmt"
	"strings"
)

var _ = register(Check{
	ID: "C26", Title: "every node reaches every other over the cluster bus", Severity: Fail,
	Why:    "without the bus there is no gossip: nodes fail each other, and no replica is elected",
	Fix:    "open the bus port (data port + 10000, or cluster-port) between all nodes in both directions",
	Verify: "redis-cli --cluster call HOST:PORT cluster nodes (link-state)",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		c := s.Cluster
		ops := c.opinions()
		return perNode(c, func(n *Node) Finding {
			if len(n.View) == 0 {
				return skipped(firstOf(n.ViewReason, "no view"))
			}
			var cut []string
			for _, id := range sortedKeys(n.View) {
				v := n.View[id]
				if v.Has("myself") || v.Has("handshake") || v.Has("noaddr") || v.LinkConnected || ops[id].failed > 0 {
					continue // a node that is down has no link: C05 names it
				}
				if o := c.byID(id); o != nil && !o.Reach.OK {
					continue
				}
				cut = append(cut, fmt.Sprintf("%s (bus port %d)", v.Addr(), v.BusPort))
			}
			f := ok("all links are connected", "a connected link to every node that is alive")
			if len(cut) > 0 {
				f.Current = "no link to " + strings.Join(cut, ", ")
				return f.as(Fail, "")
			}
			return f
		})
	},
})
