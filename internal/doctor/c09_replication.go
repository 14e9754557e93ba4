package doctor

import (
	"fmt"
	"strings"
)

// lagLimit is how far in bytes a replica may be behind.
const lagLimit = 10 << 20

var _ = register(Check{
	ID: "C09", Title: "replicas follow closely", Severity: Warn,
	Why:    "what a replica has not received is lost when it is promoted; a full sync forks and reads everything",
	Fix:    "look at the replica's link and log; a larger repl-backlog-size avoids full syncs after short breaks",
	Verify: "redis-cli -p PORT info replication",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			if n.InfoReason != "" {
				return skipped(n.InfoReason)
			}
			if n.Info.Role() != "slave" {
				return ok("master", "link up, less than 1 s and 10 MiB behind")
			}
			f := ok("link up", "link up, less than 1 s and 10 MiB behind")
			var bad []string
			if link := n.Info.String("master_link_status"); link != "up" {
				bad = append(bad, "link "+quoteEmpty(link))
			}
			if ago, known := n.Info.Int("master_last_io_seconds_ago"); known && ago > 10 {
				bad = append(bad, fmt.Sprintf("nothing from the master for %d s", ago))
			}
			if m := s.Cluster.byID(n.View[n.ID].MasterID); m != nil {
				mine, ok1 := n.Info.Int("slave_repl_offset")
				its, ok2 := m.Info.Int("master_repl_offset")
				if ok1 && ok2 && its-mine > lagLimit {
					bad = append(bad, bytesText(its-mine)+" behind "+m.Addr)
				}
			}
			if len(bad) == 0 {
				return f
			}
			f.Current = strings.Join(bad, ", ")
			return f.as(Warn, "")
		})
	},
})
