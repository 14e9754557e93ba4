package doctor

import "fmt"

var _ = register(Check{
	ID:       "C01",
	Title:    "every node says that the cluster is ok",
	Severity: Fail,
	Why:      "a node that says fail answers CLUSTERDOWN to its clients; one node's view is not the cluster's, so each one is asked",
	Fix:      "look at C02 for slots that nobody serves; a node alone in its view is cut off from the others: check its bus port",
	Verify:   "redis-cli --cluster call HOST:PORT cluster info",
	Needs:    NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			state, ok := n.ClusterInfo["cluster_state"]
			if !ok {
				return skip("node", n.Addr, firstOf(n.ClusterInfoReason, "CLUSTER INFO has no cluster_state"))
			}
			f := Finding{Outcome: OK, Current: "cluster_state:" + state, Required: "cluster_state:ok"}
			if state != "ok" {
				f.Outcome = Fail
				f.Current = fmt.Sprintf("cluster_state:%s, %s of 16384 slots ok", state, n.ClusterInfo["cluster_slots_ok"])
			}
			return f
		})
	},
})
