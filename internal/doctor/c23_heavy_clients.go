package doctor

// heavyOutput is an output buffer in bytes that no healthy client has.
const heavyOutput = 64 << 20

var _ = register(Check{
	ID: "C23", Title: "no client monitors or hoards output", Severity: Warn,
	Why:    "MONITOR halves the throughput; a client that does not read makes the server keep its replies in memory",
	Fix:    "end MONITOR; look at the client that does not read (client list, omem), set client-output-buffer-limit",
	Verify: "redis-cli -p PORT client list",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			if n.Clients == nil {
				return skipped(firstOf(n.ClientsReason, "CLIENT LIST is empty"))
			}
			f := ok("none", "none")
			for _, g := range n.Clients {
				switch {
				case g.Kind == "monitor":
					f.Current = plural(g.Count, "client") + " in MONITOR, such as " + g.Example
					return f.as(Warn, "")
				case g.Kind != "replica" && g.MaxOutput > heavyOutput:
					f.Current = bytesText(g.MaxOutput) + " of replies wait for one client of the kind of " + g.Example
					return f.as(Warn, "")
				}
			}
			return f
		})
	},
})
