package doctor

import "fmt"

var _ = register(Check{
	ID: "C31", Title: "the data need a cluster", Severity: Info,
	Why:    "below about 32 GB and with idle masters one server (or Sentinel with replicas) does the same and is simpler to run; this is advice, not a fault",
	Fix:    "nothing to mend; consider a standalone server or Sentinel before the next redesign",
	Verify: "redis-cli --cluster call HOST:PORT info memory",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		masters := s.Cluster.masters()
		used, known := total(masters, "used_memory")
		if known == 0 || known < len(masters) {
			return []Finding{skip("cluster", "data of all masters", "not every master told its memory")}
		}
		ops, _ := total(masters, "instantaneous_ops_per_sec")
		f := Finding{Outcome: OK, Scope: "cluster", Subject: "data of all masters", Required: "more than 32 GiB, or more load than one server takes",
			Current: fmt.Sprintf("%s, %d commands a second", bytesText(used), ops)}
		if used < 32<<30 && ops < 50_000 {
			f.Outcome = Info
		}
		return []Finding{f}
	},
})
