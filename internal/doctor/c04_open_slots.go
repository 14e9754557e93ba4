package doctor

import (
	"fmt"
	"slices"
)

var _ = register(Check{
	ID: "C04", Title: "no slot was left half moved", Severity: Warn,
	Why:    "as long as a slot is open, keys that have moved cost a redirect (ASK) each, and multi-key commands on it fail with TRYAGAIN",
	Fix:    "if a reshard is running, let it end; otherwise finish it (redis-cli --cluster reshard) or, after a review of where the keys are, CLUSTER SETSLOT n STABLE on both nodes",
	Verify: "redis-cli --cluster check HOST:PORT",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		c := s.Cluster
		var out []Finding
		for _, n := range c.answering() {
			me := n.View[n.ID]
			for _, m := range []struct {
				what  string
				slots map[int]string
			}{{"migrating to", me.Migrating}, {"importing from", me.Importing}} {
				byPeer := map[string][]int{}
				for slot, peer := range m.slots {
					byPeer[peer] = append(byPeer[peer], slot)
				}
				for _, peer := range sortedKeys(byPeer) {
					slices.Sort(byPeer[peer])
					out = append(out, Finding{Outcome: Warn, Scope: "node", Subject: n.Addr, Required: "none, unless a reshard is running",
						Current: fmt.Sprintf("slots %s %s %s", slotText(byPeer[peer]), m.what, c.name(peer))})
				}
			}
		}
		if len(c.answering()) == 0 {
			return []Finding{skip("cluster", "open slots", "no node gave its view of the cluster")}
		}
		if len(out) == 0 {
			return []Finding{{Outcome: OK, Scope: "cluster", Subject: "open slots", Current: "none", Required: "none, unless a reshard is running"}}
		}
		return out
	},
})
