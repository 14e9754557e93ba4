package doctor

import "fmt"

var _ = register(Check{
	ID: "C15", Title: "the planned pools fit into maxclients", Severity: Warn,
	Why:    "PoolSize is per node and process: 300 processes with 5 x 64 connections are 96,000 on each node",
	Fix:    "a smaller PoolSize, or fewer processes, or a higher maxclients with the files it needs (L01); plan with --pool-size and --instances",
	Verify: "redis-cli -p PORT config get maxclients",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			limit, known := n.Info.Int("maxclients")
			if !known || limit <= 0 {
				return skipped(firstOf(n.InfoReason, "INFO has no maxclients"))
			}
			need := s.connections(n)
			f := ok(fmt.Sprintf("%d planned (%d x PoolSize %d, replicas, bus) of maxclients %d", need, s.Plan.Instances, s.Plan.PoolSize, limit), "below 70 % of maxclients")
			if float64(need) >= 0.7*float64(limit) {
				return f.as(Warn, "")
			}
			return f
		})
	},
})
