package doctor

import "fmt"

var _ = register(Check{
	ID: "X05", Title: "nothing between here and the nodes changes addresses", Severity: Info,
	Why:    "a NAT or proxy on the path has idle timeouts and port limits of its own, and hides who a client is",
	Fix:    "nothing, if it is meant; keep connections alive below its idle timeout",
	Verify: "redis-cli -h HOST -p PORT client info",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			if n.PeerAddr == "" || n.LocalAddr == "" {
				return skipped("the server did not say how it sees us (CLIENT INFO)")
			}
			if n.PeerAddr != n.LocalAddr {
				f := ok(fmt.Sprintf("we are %s, the server sees %s", n.LocalAddr, n.PeerAddr), "the same").as(Info, "")
				f.Scope = "path"
				return f
			}
			return ok("the server sees our own address", "the same")
		})
	},
})
