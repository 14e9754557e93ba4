package doctor

var _ = register(Check{
	ID: "S20", Title: "every node announces an endpoint that clients can use", Severity: Fail,
	Why:    "with an empty, NULL or \"?\" endpoint a client must use the address it asked; go-redis answers redis.Nil there, which looks like a cache miss",
	Fix:    "cluster-preferred-endpoint-type ip, or hostname with cluster-announce-hostname set on every node",
	Verify: "redis-cli -p PORT cluster slots",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		out := perNode(s.Cluster, func(n *Node) Finding {
			if n.Slots == nil {
				return skipped(firstOf(n.SlotsReason, "CLUSTER SLOTS is empty"))
			}
			for _, o := range n.Slots {
				for _, e := range append(o.Replicas, o.Master) {
					if e.Unknown {
						return ok("CLUSTER SLOTS gives no host for node "+short(e.ID), "a host or address").as(Fail, "")
					}
				}
			}
			return ok("every endpoint has a host", "a host or address")
		})
		if values, _ := s.Cluster.configValues("cluster-preferred-endpoint-type"); len(values) > 1 {
			out = append(out, Finding{Outcome: Warn, Scope: "cluster", Subject: "cluster-preferred-endpoint-type", Current: valuesText(values), Required: "the same on all nodes"})
		}
		return out
	},
})
