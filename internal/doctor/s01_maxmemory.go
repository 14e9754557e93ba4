package doctor

var _ = register(Check{
	ID: "S01", Title: "every node has a memory limit", Severity: Warn,
	Why:    "without maxmemory the server grows until the kernel kills it, which is a failover with data loss",
	Fix:    "CONFIG SET maxmemory to at most 75 % of what the host or container has (60 % with RDB or AOF), then CONFIG REWRITE",
	Verify: "redis-cli --cluster call HOST:PORT config get maxmemory",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			v, found := n.Config["maxmemory"]
			if !found {
				return skipped(firstOf(n.ConfigReason, "CONFIG GET shows no maxmemory"))
			}
			if number(v) == 0 {
				f := ok("maxmemory 0: no limit", "a limit").as(Warn, "")
				if s.Plan.Profile == "dev" {
					f.Outcome = Info
				}
				return f
			}
			return ok("maxmemory "+bytesText(number(v)), "a limit")
		})
	},
})
