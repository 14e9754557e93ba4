package doctor

import "fmt"

var _ = register(Check{
	ID: "C20", Title: "clients do not ask for the topology all the time", Severity: Warn,
	Why:    "refresh storms take CPU from commands: clients that read the map on every error, or old versions that do it on every connect",
	Fix:    "upgrade the client; ClusterStateReloadInterval of 10 s or more; look at C17 for short-lived clients",
	Verify: "redis-cli -p PORT info commandstats | grep cluster",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			d, why := n.delta()
			if why != "" {
				return skipped(why)
			}
			var calls, usec uint64
			for _, c := range []string{"cluster|slots", "cluster|shards", "cluster|nodes"} {
				calls += d.Commands[c].Calls
				usec += d.Commands[c].Usec
			}
			clients, _ := n.Info.Int("connected_clients")
			rate, share := float64(calls)/n.Seconds, float64(usec)/1e6/n.Seconds
			f := ok("below 1 % of a CPU", "below 1 call a second per client, 1 % of a CPU")
			// A few calls in a short sample, rcctl's own among them, say nothing.
			if share >= 0.01 && calls >= 20 || rate > float64(clients)+10 {
				f.Current = fmt.Sprintf("%.0f calls a second, %s of a CPU", rate, percent(share))
				return f.as(Warn, "")
			}
			return f
		})
	},
})
