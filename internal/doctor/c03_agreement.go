package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rcctl/rcctl/internal/redisinfo"
)

var _ = register(Check{
	ID: "C03", Title: "all nodes have the same slot map", Severity: Fail,
	Why:    "clients that ask different nodes are sent in circles",
	Fix:    "wait a few seconds and look again; if it stays, compare config epochs (C10) and the bus links of the node that differs",
	Verify: "redis-cli --cluster check HOST:PORT",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		maps := map[string][]string{}
		var out []Finding
		for _, n := range s.Cluster.answering() {
			byView := slotMap(n.View)
			maps[byView] = append(maps[byView], n.Addr)
			if n.Slots == nil {
				continue
			}
			if diff := differing(n); diff > 0 {
				out = append(out, Finding{Outcome: Warn, Scope: "node", Subject: n.Addr, Required: "the same",
					Current: fmt.Sprintf("CLUSTER SLOTS and CLUSTER NODES differ in %s", plural(diff, "slot"))})
			}
		}
		switch len(maps) {
		case 0:
			return []Finding{skip("cluster", "slot map", "no node gave its view of the cluster")}
		case 1:
			return append(out, Finding{Outcome: OK, Scope: "cluster", Subject: "slot map", Current: "one map on all nodes that answer", Required: "one map"})
		}
		var parts []string
		for _, k := range sortedKeys(maps) {
			parts = append(parts, strings.Join(maps[k], ", "))
		}
		return append(out, Finding{Outcome: Fail, Scope: "cluster", Subject: "slot map", Required: "one map",
			Current: fmt.Sprintf("%d maps: %s", len(maps), strings.Join(parts, " | "))})
	},
})

// slotMap is the ownership in a view as text.
func slotMap(view map[string]redisinfo.Node) string {
	var parts []string
	for id, v := range view {
		if len(v.Slots) > 0 {
			parts = append(parts, id+" "+redisinfo.FormatRanges(v.Slots))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

// differing is the number of slots whose owner CLUSTER SLOTS and CLUSTER NODES
// of one node do not agree on. Failed owners are left out of CLUSTER SLOTS by
// some versions and do not count.
func differing(n *Node) (diff int) {
	owner := map[int]string{}
	for id, v := range n.View {
		if v.Has("fail") {
			id = ""
		}
		for _, r := range v.Slots {
			for s := r.First; s <= r.Last; s++ {
				owner[s] = id
			}
		}
	}
	for _, o := range n.Slots {
		for s := o.Range.First; s <= o.Range.Last; s++ {
			if id := owner[s]; id != "" && o.Master.ID != "" && id != o.Master.ID {
				diff++
			}
		}
	}
	return diff
}
