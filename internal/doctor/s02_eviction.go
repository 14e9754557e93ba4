package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var _ = register(Check{
	ID:       "S02",
	Title:    "all nodes evict by the same policy",
	Severity: Warn,
	Why:      "with different policies the same write succeeds on one shard and fails with OOM on another, and a failover changes what the application sees",
	Fix:      "CONFIG SET maxmemory-policy on the nodes that differ (allkeys-lru or allkeys-lfu for a cache, noeviction for a store), then CONFIG REWRITE",
	Verify:   "redis-cli --cluster call HOST:PORT config get maxmemory-policy",
	Needs:    NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		byValue, why := s.Cluster.configValues("maxmemory-policy")
		if len(byValue) == 0 {
			return []Finding{skip("cluster", "maxmemory-policy", why)}
		}
		f := Finding{Outcome: OK, Scope: "cluster", Subject: "maxmemory-policy", Required: "the same on all nodes", Current: valuesText(byValue)}
		if len(byValue) > 1 {
			f.Outcome = Warn
		}
		return []Finding{f}
	},
})

// configValues are the nodes by their value of a setting, and why some could
// not be asked.
func (c *Cluster) configValues(key string) (map[string][]string, string) {
	m := map[string][]string{}
	why := "no node could be asked"
	for _, n := range c.each() {
		v, ok := n.Config[key]
		switch {
		case ok:
			m[v] = append(m[v], n.Addr)
		case n.ConfigReason != "":
			why = n.ConfigReason
		default:
			why = "CONFIG GET shows no " + key
		}
	}
	return m, why
}

// valuesText names each value and the nodes that have it, the rarest first.
func valuesText(m map[string][]string) string {
	if len(m) == 1 {
		for v, nodes := range m {
			return fmt.Sprintf("%s on %s", quoteEmpty(v), nodesText(len(nodes)))
		}
	}
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if len(m[a]) != len(m[b]) {
			return len(m[a]) - len(m[b])
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, v := range keys {
		who := strings.Join(m[v], ", ")
		if len(m[v]) > 3 {
			who = nodesText(len(m[v]))
		}
		parts = append(parts, quoteEmpty(v)+" on "+who)
	}
	return strings.Join(parts, "; ")
}

func quoteEmpty(v string) string {
	if v == "" {
		return `""`
	}
	return v
}

func nodesText(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
