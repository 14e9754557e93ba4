package doctor

import "fmt"

var _ = register(Check{
	ID: "K05", Title: "peers know each node at the address it has now", Severity: Fail,
	Why:    "a node that came back with another address is looked for at the old one",
	Fix:    "a stable address or cluster-announce-hostname; CLUSTER MEET from the node itself repairs it once",
	Verify: "redis-cli --cluster call HOST:PORT cluster nodes",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		c := s.Cluster
		return perNode(c, func(n *Node) Finding {
			me, found := n.View[n.ID]
			if !found {
				return skipped(firstOf(n.ViewReason, "the node does not list itself"))
			}
			f := ok("known at its own address", "one address in all views")
			if me.Host == "" {
				return f // it does not know its address yet; peers do
			}
			for _, o := range c.answering() {
				if v, known := o.View[n.ID]; known && v.Host != "" && v.Addr() != me.Addr() {
					f.Current = fmt.Sprintf("calls itself %s, %s knows it as %s", me.Addr(), o.Addr, v.Addr())
					return f.as(Fail, "")
				}
			}
			return f
		})
	},
})
