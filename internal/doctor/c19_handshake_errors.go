package doctor

import "fmt"

var _ = register(Check{
	ID: "C19", Title: "generic errors are not mere handshakes", Severity: Info,
	Why:    "new clients send commands that old servers refuse with ERR at every connect (go-redis 9.22 on server 7.0: about two a connection); alarms on error counts fire for nothing",
	Fix:    "DisableIdentity and maintenance notifications off in the client, or a newer server",
	Verify: "redis-cli -p PORT info errorstats",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			d, why := n.delta()
			if why != "" {
				return skipped(why)
			}
			errs, conns := d.Errors["ERR"], d.Counters["total_connections_received"]
			f := ok("no flood of ERR", "no ERR replies from handshakes")
			if conns >= 3 && errs >= conns && errs <= 3*conns {
				f.Current = fmt.Sprintf("ERR +%d with %d new connections: handshakes", errs, conns)
				return f.as(Info, "")
			}
			return f
		})
	},
})
