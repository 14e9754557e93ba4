package doctor

import "fmt"

// churnLimit is how many new connections a second per connected client are
// too many: one a minute.
const churnLimit = 1.0 / 60

var _ = register(Check{
	ID: "C17", Title: "connections live long", Severity: Warn,
	Why:    "each new connection costs a handshake in TCP, TLS and AUTH and a port in TIME_WAIT; many of them mean no pooling, pools that are too small, or a timeout that closes them",
	Fix:    "one client for the process, made at start; look at S05 and T16 for who closes connections",
	Verify: "redis-cli -p PORT info stats | grep total_connections_received",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			d, why := n.delta()
			if why != "" {
				return skipped(why)
			}
			if d.Restarted || d.Reset {
				return skipped("the counters were reset between the two samples")
			}
			clients, _ := n.Info.Int("connected_clients")
			rate := float64(d.Counters["total_connections_received"]) / n.Seconds
			f := ok("few new connections", "fewer than 1 new connection a minute per client, or 5 a second")
			if rate > 5 && rate > churnLimit*float64(max(clients, 1)) {
				f.Current = fmt.Sprintf("%.0f new connections a second, %d clients connected", rate, clients)
				return f.as(Warn, "")
			}
			return f
		})
	},
})
