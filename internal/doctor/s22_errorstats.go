package doctor

var _ = register(Check{
	ID: "S22", Title: "the servers still count their errors", Severity: Warn,
	Why:    "after 128 distinct error prefixes, which scripts make up, a server stops counting: redirects cannot be measured any more",
	Fix:    "CONFIG RESETSTAT, and let scripts return errors with a fixed first word",
	Verify: "redis-cli -p PORT info errorstats",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			switch {
			case n.InfoReason != "":
				return skipped(n.InfoReason)
			case n.Info.ErrorsDisabled || n.Later.ErrorsDisabled:
				return ok("ERRORSTATS_DISABLED", "errors are counted").as(Warn, "")
			}
			return ok("errors are counted", "errors are counted")
		})
	},
})
