package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

var _ = register(Check{
	ID: "C21", Title: "it is known who uses the cluster", Severity: Info,
	Why:    "when something breaks, or before an upgrade, the client libraries and users tell whom to call",
	Fix:    "let clients name themselves: CLIENT SETNAME and, from server 7.2 on, CLIENT SETINFO (go-redis does unless DisableIdentity is set)",
	Verify: "redis-cli -p PORT client list",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		count, reasons := s.Cluster.census()
		if count == nil {
			return []Finding{skip("cluster", "clients", firstOf(reasons, "no node could be asked for CLIENT LIST"))}
		}
		f := Finding{Outcome: Info, Scope: "cluster", Subject: "clients of all nodes", Current: censusText(count), Required: "known libraries and users"}
		blank := false
		for k := range count {
			blank = blank || strings.HasPrefix(k, "unnamed")
		}
		if !blank {
			f.Outcome = OK
		}
		return []Finding{f}
	},
})

// census counts normal and pub/sub connections over all nodes by library and
// user. Connections of rcctl itself have no name of a library either, and are
// one a node: not counted.
func (c *Cluster) census() (map[string]int, string) {
	var m map[string]int
	why := ""
	for _, n := range c.each() {
		if n.Clients == nil {
			why = firstOf(why, n.ClientsReason)
			continue
		}
		if m == nil {
			m = map[string]int{}
		}
		for _, g := range n.Clients {
			if g.Kind != "normal" && g.Kind != "pubsub" {
				continue
			}
			count := g.Count - g.Ours
			if count > 0 {
				m[strings.TrimSpace(firstOf(g.LibName, "unnamed")+" "+g.LibVer)+" as "+firstOf(g.User, "default")] += count
			}
		}
	}
	return m, why
}

func censusText(count map[string]int) string {
	if len(count) == 0 {
		return "nobody but rcctl"
	}
	keys := sortedKeys(count)
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	var parts []string
	for i, k := range keys {
		if i == 10 {
			parts = append(parts, fmt.Sprintf("and %d more", len(keys)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%d x %s", count[k], k))
	}
	return strings.Join(parts, ", ")
}
