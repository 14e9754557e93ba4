package doctor

var _ = register(Check{
	ID: "C08", Title: "there are masters enough for a majority", Severity: Fail,
	Why:    "with fewer than three masters the loss of one leaves no majority, and no replica is ever promoted",
	Fix:    "run three masters or more, on three hosts",
	Verify: "redis-cli --cluster check HOST:PORT",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		n := len(s.Cluster.masters())
		if n == 0 {
			return []Finding{skip("cluster", "masters", "no node gave its view of the cluster")}
		}
		f := Finding{Outcome: OK, Scope: "cluster", Subject: "masters", Current: plural(n, "master") + " with slots", Required: "3 or more"}
		if n < 3 {
			f.Outcome = Warn
			if s.Plan.Profile == "prod" {
				f.Outcome = Fail
			}
		}
		return []Finding{f}
	},
})
