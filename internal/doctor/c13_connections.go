package doctor

import "fmt"

var _ = register(Check{
	ID:       "C13",
	Title:    "connections stay well below maxclients",
	Severity: Fail,
	Why:      "at maxclients new connections are refused; replicas and the bus count too",
	Fix:      "smaller pools (PoolSize is per node and process) or a higher maxclients with the files it needs (L01)",
	Verify:   "redis-cli -p PORT info clients",
	Needs:    NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			clients, ok1 := n.Info.Int("connected_clients")
			limit, ok2 := n.Info.Int("maxclients")
			if !ok1 || !ok2 || limit <= 0 {
				return skip("node", n.Addr, firstOf(n.InfoReason, "INFO has no connected_clients or maxclients"))
			}
			bus, _ := n.Info.Int("cluster_connections")
			share := float64(clients+bus) / float64(limit)
			f := Finding{Outcome: OK, Required: "below 70 % of maxclients",
				Current: fmt.Sprintf("%d clients + %d bus links of maxclients %d (%.0f %%)", clients, bus, limit, 100*share)}
			switch {
			case share >= 0.9:
				f.Outcome = Fail
			case share >= 0.7:
				f.Outcome = Warn
			default:
				f.Current = fmt.Sprintf("%.0f %% of maxclients %d or less", max(1, 100*share), limit)
			}
			return f
		})
	},
})

// connections is how many connections the plan means for one node: every
// process's pool, the replicas, two links of the bus to each other node.
func (s *Snapshot) connections(n *Node) int64 {
	replicas, _ := n.Info.Int("connected_slaves")
	return int64(s.Plan.PoolSize)*int64(s.Plan.Instances) + replicas + 2*int64(len(s.Cluster.Nodes)-1)
}
