package doctor

import (
	"fmt"
	"time"
)

var _ = register(Check{
	ID: "S05", Title: "the server does not close connections that the pool keeps", Severity: Warn,
	Why:    "a pooled connection that the server has closed fails its next command, which is retried or lost",
	Fix:    "timeout 0 on the servers, or a pool idle time (ConnMaxIdleTime) below it",
	Verify: "redis-cli --cluster call HOST:PORT config get timeout",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			v, found := n.Config["timeout"]
			if !found {
				return skipped(firstOf(n.ConfigReason, "CONFIG GET shows no timeout"))
			}
			d := time.Duration(number(v)) * time.Second
			f := ok("timeout "+v, fmt.Sprintf("0, or more than the pool's idle time %v", s.Plan.IdleTimeout))
			if d > 0 && d <= s.Plan.IdleTimeout {
				return f.as(Warn, "")
			}
			return f
		})
	},
})
