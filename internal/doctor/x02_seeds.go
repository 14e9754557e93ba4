package doctor

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
)

var _ = register(Check{
	ID:       "X02",
	Title:    "the seed list survives the loss of a host",
	Severity: Warn,
	Why:      "a process that starts while its only seed is down does not find the cluster",
	Fix:      "give two or more seeds on distinct hosts",
	Needs:    NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		var hosts, trouble []string
		for _, a := range slices.Sorted(maps.Keys(s.Cluster.Seeds)) {
			seed := s.Cluster.Seeds[a]
			if seed.Error != "" {
				trouble = append(trouble, seed.Error)
				continue
			}
			host, _, _ := net.SplitHostPort(a)
			hosts = append(hosts, host)
		}
		seeds := len(hosts)
		slices.Sort(hosts)
		hosts = slices.Compact(hosts)
		f := Finding{Outcome: OK, Scope: "path", Subject: "seeds " + strings.Join(s.Plan.Seeds, ","),
			Current: fmt.Sprintf("%s on %s", plural(seeds, "seed"), plural(len(hosts), "host")), Required: "2 or more that answer, on distinct hosts"}
		switch {
		case len(trouble) > 0:
			f.Outcome = Warn
			f.Current = fmt.Sprintf("%d of %s answers", seeds, plural(seeds+len(trouble), "seed")) + "; " + strings.Join(trouble, "; ")
			f.Fix = "take seeds that do not answer out of the list, or repair them"
		case seeds < 2:
			f.Outcome = Warn
		case len(hosts) < 2 && !s.oneHost():
			f.Outcome = Warn
		}
		if f.Outcome == Warn && len(trouble) == 0 {
			f.Fix = "give more seeds: " + strings.Join(s.Cluster.goodSeeds(), ",")
		}
		return []Finding{f}
	},
})

// oneHost: the whole cluster is on one host, so seeds cannot be on several.
func (s *Snapshot) oneHost() bool {
	hosts := map[string]bool{}
	for _, n := range s.Cluster.Nodes {
		h, _, _ := net.SplitHostPort(n.Addr)
		hosts[h] = true
	}
	return len(hosts) == 1
}

// goodSeeds are up to three nodes that answer, on distinct hosts if there are
// such.
func (c *Cluster) goodSeeds() []string {
	var out []string
	seen := map[string]bool{}
	for _, distinct := range []bool{true, false} {
		for _, n := range c.each() {
			h, _, _ := net.SplitHostPort(n.Addr)
			if n.Reach.OK && len(out) < 3 && (!distinct || !seen[h]) && !slices.Contains(out, n.Addr) {
				seen[h] = true
				out = append(out, n.Addr)
			}
		}
	}
	return out
}
