package doctor

import (
	"cmp"
	"net"
	"net/netip"
	"strings"
)

var _ = register(Check{
	ID: "X03", Title: "announced addresses are of the same kind as the seeds", Severity: Fail,
	Why:    "a cluster that announces 127.0.0.1 or a container bridge's address sends remote clients nowhere, or to another server",
	Fix:    "cluster-announce-ip (or cluster-announce-hostname) with an address that clients can reach",
	Verify: "redis-cli -p PORT cluster nodes",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		seeds := map[string]bool{}
		for a := range s.Cluster.Seeds {
			seeds[addressClass(a)] = true
		}
		var bad []string
		mapped := false
		for _, n := range s.Cluster.each() {
			mapped = mapped || n.Dialed != n.Addr
			if c := addressClass(cmp.Or(n.Announced, n.Addr)); (c == "loopback" || c == "container bridge") && !seeds[c] && !seeds["name"] {
				bad = append(bad, n.Addr+" ("+c+")")
			}
		}
		f := Finding{Outcome: OK, Scope: "path", Subject: nodesText(len(s.Cluster.Nodes)), Required: "addresses that clients can reach", Current: "the kinds agree: " + strings.Join(sortedKeys(seeds), ", ")}
		if len(bad) > 0 {
			f.Outcome, f.Subject, f.Current = Fail, strings.Join(s.Plan.Seeds, ","), "announced: "+strings.Join(bad, ", ")
			if mapped {
				f.Outcome = Info // the address map translates it for this client
			}
		}
		return []Finding{f}
	},
})

// bridge is the range that container bridges take by default.
var bridge = netip.MustParsePrefix("172.17.0.0/16")

func addressClass(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	a, err := netip.ParseAddr(host)
	switch {
	case host == "localhost":
		return "loopback"
	case err != nil:
		return "name"
	case a.IsLoopback():
		return "loopback"
	case bridge.Contains(a):
		return "container bridge"
	case a.IsPrivate():
		return "private"
	}
	return "public"
}
