package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// errorKinds are error replies that mean something about the cluster or its
// clients, and what to do about each.
var errorKinds = map[string]string{
	"MOVED":       "a client that does not follow slot changes, or is not a cluster client: rcctl doctor moved names it",
	"ASK":         "a slot is on the move; without a reshard at work it was left half moved (C04)",
	"TRYAGAIN":    "multi-key commands on a slot that is on the move: they pass when the reshard ends, or send single-key commands meanwhile",
	"CLUSTERDOWN": "slots are not served (C01, C02)",
	"CROSSSLOT":   "a command names keys of several slots: give them a common hash tag",
	"LOADING":     "a node reads its data after a start: let clients retry",
	"NOAUTH":      "a client sends no password",
	"WRONGPASS":   "a client sends a wrong user or password",
	"NOPERM":      "a client's ACL user lacks a command or key pattern (ACL LOG tells which)",
	"OOM":         "maxmemory is reached under noeviction: raise it, or choose an eviction policy (S01, S02)",
	"READONLY":    "a client writes to a replica: it did not notice a failover",
	"MISCONF":     "the last save failed and stop-writes-on-bgsave-error is on: look into the server's log and disk",
	"BUSY":        "a script runs for too long",
	"NOREPLICAS":  "min-replicas-to-write is not met (C06, C09)",
	"MASTERDOWN":  "a replica without a link refuses reads (C09)",
}

// movedShare is the share of commands that may be redirected: more means
// clients with an old map.
const movedShare = 0.001

var _ = register(Check{
	ID:       "C18",
	Title:    "servers answer commands, not errors",
	Severity: Warn,
	Why:      "each kind of error reply has a cause of its own; counted between two samples on the servers, without load from here",
	Fix:      "see the finding for each kind",
	Verify:   "redis-cli -p PORT info errorstats",
	Needs:    NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			d, why := n.delta()
			switch {
			case why != "":
				return skip("node", n.Addr, why)
			case d.ErrorsDisabled:
				return skip("node", n.Addr, "errorstats are off on the server (S22)")
			case d.Restarted || d.Reset:
				return skip("node", n.Addr, "the counters were reset between the two samples")
			}
			done := d.Counters["total_commands_processed"]
			var what, fix []string
			for _, kind := range slices.Sorted(maps.Keys(errorKinds)) {
				v := d.Errors[kind]
				if v == 0 || (kind == "MOVED" && float64(v) < movedShare*float64(done+v)) {
					continue
				}
				what = append(what, fmt.Sprintf("%s %.1f/s", kind, float64(v)/n.Seconds))
				fix = append(fix, kind+": "+errorKinds[kind])
			}
			f := Finding{Outcome: OK, Current: "none of the kinds that matter", Required: "none, MOVED below 0.1 % of commands"}
			if len(what) > 0 {
				f.Outcome, f.Current, f.Fix = Warn, strings.Join(what, ", "), strings.Join(fix, "; ")
			}
			return f
		})
	},
})
