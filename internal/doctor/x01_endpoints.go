package doctor

import "fmt"

var _ = register(Check{
	ID:       "X01",
	Title:    "every announced address answers from here",
	Severity: Fail,
	Why:      "clients go where the cluster announces, replicas included: they become masters",
	Fix:      "make the address reachable from here, or announce one that is (cluster-announce-ip, --addr-map)",
	Verify:   "redis-cli -h HOST -p PORT ping",
	Needs:    NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		var out, good []Finding
		ops := s.Cluster.opinions()
		for _, n := range s.Cluster.each() {
			f := Finding{Outcome: OK, Scope: "path", Subject: n.Addr, Current: "connect, authenticate, PING: ok", Required: "connect, authenticate, PING"}
			if r := n.AnnouncedReach; n.Reach.OK && r != nil && !r.OK {
				// The address of the cluster's own gossip works, the one that
				// clients are given does not.
				f.Outcome, f.Current = Fail, "clients are sent to "+r.Reason
				f.Fix = "make " + n.Announced + " resolve and lead here, or announce what does: cluster-announce-hostname, or cluster-preferred-endpoint-type ip"
				f.Verify = "redis-cli -p PORT cluster slots"
				out = append(out, f)
				continue
			}
			if n.Reach.OK {
				good = append(good, f)
				continue
			}
			f.Outcome, f.Current = Fail, n.Reach.Reason
			if n.Reach.Kind == kindLoading {
				f.Outcome = Warn
			}
			if o := ops[n.ID]; o != nil && o.failed > 0 {
				if len(s.Cluster.slotsOf()[n.ID]) == 0 && s.Plan.Profile != "prod" {
					f.Outcome = Warn // a dead replica: C05 and C06 say what that means
				}
				f.Fix = fmt.Sprintf("the cluster marks it fail too: start the server at %s again", n.Addr)
			}
			out = append(out, f)
		}
		if len(out)+len(good) == 0 {
			return []Finding{skip("path", "nodes", "the cluster announces no address")}
		}
		return append(out, summed(good)...)
	},
})
