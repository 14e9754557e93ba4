package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// refusals are the counters of INFO stats that say somebody was turned away.
var refusals = []string{"rejected_connections", "evicted_clients", "client_query_buffer_limit_disconnections", "client_output_buffer_limit_disconnections"}

var _ = register(Check{
	ID:       "C14",
	Title:    "no client is being turned away or thrown out",
	Severity: Fail,
	Why:      "these clients see closed connections and errors now",
	Fix:      "rejected_connections: raise maxclients and nofile, or shrink pools (C13); the others: client-output-buffer-limit, maxmemory-clients, and the clients that do not read their replies",
	Verify:   "redis-cli -p PORT info stats | grep -E 'rejected|evicted_clients|disconnections'",
	Needs:    NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			d, why := n.delta()
			if why != "" {
				return skip("node", n.Addr, why)
			}
			if d.Restarted || d.Reset {
				return skip("node", n.Addr, "the counters were reset between the two samples")
			}
			var now, before []string
			for _, name := range refusals {
				if v := d.Counters[name]; v > 0 {
					now = append(now, fmt.Sprintf("%s +%d in %.1f s", name, v, n.Seconds))
				}
				if v, ok := n.Info.Int(name); ok && v > 0 {
					before = append(before, fmt.Sprintf("%s %d", name, v))
				}
			}
			f := Finding{Outcome: OK, Current: "none", Required: "no growth"}
			switch {
			case len(now) > 0:
				f.Outcome, f.Current = Fail, strings.Join(now, ", ")
			case len(before) > 0:
				slices.Sort(before)
				f.Outcome, f.Current = Info, strings.Join(before, ", ")+" since the start, none now"
			}
			return f
		})
	},
})
