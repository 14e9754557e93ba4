package doctor

import "strings"

var _ = register(Check{
	ID: "C27", Title: "nothing is under way that makes figures provisional", Severity: Info,
	Why:    "loading, saving, rewriting and syncing make other findings look worse than they are",
	Fix:    "wait, and run doctor again",
	Verify: "redis-cli -p PORT info persistence",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			if n.InfoReason != "" {
				return skipped(n.InfoReason)
			}
			var now []string
			for _, p := range []struct{ field, word string }{{"loading", "loading"}, {"rdb_bgsave_in_progress", "BGSAVE"},
				{"aof_rewrite_in_progress", "AOF rewrite"}, {"master_sync_in_progress", "sync from its master"}} {
				if n.Info.String(p.field) == "1" {
					now = append(now, p.word)
				}
			}
			f := ok("nothing", "nothing")
			if len(now) > 0 {
				f.Current = strings.Join(now, ", ")
				return f.as(Info, "")
			}
			return f
		})
	},
})
