package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var _ = register(Check{
	ID:       "C05",
	Title:    "no node is failed, suspected or a ghost",
	Severity: Fail,
	Why:      "a dead replica is invisible in redis-cli's exit code, and the next failure of its master is an outage; ghosts are gossiped for ever",
	Fix:      "start the node again; if it is gone for good, CLUSTER FORGET its id on every node within a minute, after a review",
	Verify:   "redis-cli --cluster call HOST:PORT cluster nodes",
	Needs:    NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		c := s.Cluster
		if len(c.answering()) == 0 {
			return []Finding{skip("cluster", "nodes", "no node gave its view of the cluster (CLUSTER NODES)")}
		}
		ops := c.opinions()
		slots := c.slotsOf()
		var out []Finding
		for _, id := range slices.Sorted(maps.Keys(ops)) {
			o := ops[id]
			what, bad := nodeTrouble(o, len(slots[id]) > 0)
			if what == "" {
				continue
			}
			out = append(out, Finding{Outcome: prodFails(s, bad, o), Scope: "node", Subject: c.name(id) + " (node id " + short(id) + ")",
				Current: what, Required: "alive in every node's view",
				Fix: fmt.Sprintf("start %s again; if it is gone for good: CLUSTER FORGET %s on every node within a minute, after a review", c.name(id), id)})
		}
		if len(out) == 0 {
			return []Finding{{Outcome: OK, Scope: "cluster", Subject: nodesText(len(ops)), Current: "all alive in every view", Required: "alive in every node's view"}}
		}
		return out
	},
})

// nodeTrouble is what is wrong with a node in the eyes of the others.
func nodeTrouble(o *opinion, owns bool) (string, Outcome) {
	role := "replica"
	if o.master > 0 {
		role = "master without slots"
	}
	bad := Warn
	if owns {
		role, bad = "master with slots", Fail
	}
	switch {
	case o.node.Has("handshake"):
		return "handshake: somebody tried to meet it, it does not answer", Warn
	case o.node.Has("noaddr"):
		return "ghost: known by its id, without an address", Warn
	case o.failed > 0:
		return fmt.Sprintf("%s, marked fail by %d of %d nodes", role, o.failed, o.known), bad
	case o.suspected > 0:
		return fmt.Sprintf("%s, suspected (fail?) by %d of %d nodes", role, o.suspected, o.known), Warn
	}
	return "", OK
}

// prodFails makes a dead replica a failure where production is meant.
func prodFails(s *Snapshot, bad Outcome, o *opinion) Outcome {
	if s.Plan.Profile == "prod" && o.failed > 0 && !strings.Contains(strings.Join(o.node.Flags, ","), "noaddr") {
		return Fail
	}
	return bad
}
