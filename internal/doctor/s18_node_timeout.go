package doctor

var _ = register(Check{
	ID: "S18", Title: "cluster-node-timeout is sane and the same everywhere", Severity: Warn,
	Why:    "below some seconds a pause of a node is a failover, far above a dead master is an outage for as long; different values make nodes disagree",
	Fix:    "CONFIG SET cluster-node-timeout 5000 to 30000 on every node, then CONFIG REWRITE",
	Verify: "redis-cli --cluster call HOST:PORT config get cluster-node-timeout",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		values, why := s.Cluster.configValues("cluster-node-timeout")
		if len(values) == 0 {
			return []Finding{skip("cluster", "cluster-node-timeout", why)}
		}
		f := Finding{Outcome: OK, Scope: "cluster", Subject: "cluster-node-timeout", Current: valuesText(values) + " (ms)", Required: "5000 to 30000, the same on all nodes"}
		for v := range values {
			if n := number(v); n < 5000 || n > 30000 {
				f.Outcome = Info
				if s.Plan.Profile == "prod" {
					f.Outcome = Warn
				}
			}
		}
		if len(values) > 1 {
			f.Outcome = Warn
		}
		return []Finding{f}
	},
})
