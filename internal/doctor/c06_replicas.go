package doctor

var _ = register(Check{
	ID:       "C06",
	Title:    "every master has a healthy replica",
	Severity: Fail,
	Why:      "without one the next failure of this master is an outage, and its data is lost if it does not come back",
	Fix:      "add a replica: redis-cli --cluster add-node NEW:PORT HOST:PORT --cluster-slave --cluster-master-id ID; or start the dead one again",
	Verify:   "redis-cli --cluster check HOST:PORT",
	Needs:    NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		c := s.Cluster
		masters := c.masters()
		if len(masters) == 0 {
			return []Finding{skip("cluster", "masters", "no node gave its view of the cluster (CLUSTER NODES)")}
		}
		bad := Warn
		if s.Plan.Profile == "prod" {
			bad = Fail
		}
		var out, good []Finding
		for _, m := range masters {
			all, healthy := len(c.replicasOf(m.ID)), len(c.healthyReplicas(m.ID))
			f := Finding{Outcome: OK, Scope: "cluster", Subject: m.Addr, Required: "at least 1 healthy replica", Current: replicasText(all, healthy)}
			if healthy == 0 {
				f.Outcome = bad
				out = append(out, f)
			} else {
				good = append(good, f)
			}
		}
		return append(merge(out), summed(good)...)
	},
})

func replicasText(all, healthy int) string {
	switch {
	case all == 0:
		return "no replica"
	case healthy == all:
		return plural(healthy, "healthy replica")
	}
	return plural(healthy, "healthy replica") + " of " + plural(all, "replica")
}

// healthyReplicas are the replicas of a master that answer, are not failed
// and are linked to it.
func (c *Cluster) healthyReplicas(id string) []*Node {
	ops := c.opinions()
	var out []*Node
	for _, r := range c.replicasOf(id) {
		if ops[r.ID].isFailed() || !r.Reach.OK {
			continue
		}
		if link := r.Info.String("master_link_status"); link != "" && link != "up" {
			continue
		}
		out = append(out, r)
	}
	return out
}
