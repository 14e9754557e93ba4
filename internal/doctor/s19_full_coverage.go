package doctor

var _ = register(Check{
	ID:       "S19",
	Title:    "one dead shard does not take the whole cluster down",
	Severity: Warn,
	Why:      "with cluster-require-full-coverage yes, keys of healthy shards are refused with CLUSTERDOWN as soon as one slot is not served",
	Fix:      "CONFIG SET cluster-require-full-coverage no on every node and CONFIG REWRITE, or give every master a healthy replica",
	Verify:   "redis-cli --cluster call HOST:PORT config get cluster-require-full-coverage",
	Needs:    NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		values, why := s.Cluster.configValues("cluster-require-full-coverage")
		if len(values) == 0 {
			return []Finding{skip("cluster", "cluster-require-full-coverage", why)}
		}
		f := Finding{Outcome: OK, Scope: "cluster", Subject: "cluster-require-full-coverage",
			Current: valuesText(values), Required: "no, or a healthy replica for every master"}
		if len(values["yes"]) == 0 {
			return []Finding{f}
		}
		for _, m := range s.Cluster.masters() {
			if len(s.Cluster.healthyReplicas(m.ID)) == 0 {
				f.Outcome = Warn
				f.Current += ", and " + m.Addr + " has no healthy replica"
				break
			}
		}
		return []Finding{f}
	},
})
