package doctor

import (
	"fmt"
	"net"
)

// keepaliveLimit is 0.8 of the shortest idle timeout of the usual load
// balancers, 350 s.
const keepaliveLimit = 280

var _ = register(Check{
	ID: "T16", Title: "connections are probed before the network forgets them", Severity: Warn,
	Why:    "load balancers and NAT forget idle connections (350 s and up) without telling anybody; what counts is the timer of each socket, not the sysctl",
	Fix:    "tcp-keepalive 60 on the servers (CONFIG SET, CONFIG REWRITE); go-redis from 9.22 on probes after 30 s by itself",
	Verify: "ss -tno state established",
	Needs:  NeedsServer,
	Run: func(s *Snapshot) []Finding {
		return perServer(s, "process", func(v *Server) Finding {
			_, port, _ := net.SplitHostPort(v.Addr)
			if why := v.Process.Net.KeepalivesReason; why != "" {
				return skipped(why)
			}
			for _, k := range v.Process.Net.Keepalives {
				if int64(k.Port) != number(port) {
					continue
				}
				f := ok("the timers run", "a keepalive timer on connections")
				if n := s.node(v); k.WithTimer == 0 && k.Connections > 0 && n != nil && n.Config["tcp-keepalive"] == "0" {
					f.Current = fmt.Sprintf("none of %d connections has a keepalive timer, tcp-keepalive is 0", k.Connections)
					return f.as(Warn, "")
				}
				if k.MaxSeconds > keepaliveLimit {
					f.Required = fmt.Sprintf("at most %d s where a load balancer or NAT is in the path", keepaliveLimit)
					f.Current = "the longest timer is near the server's default of 300 s"
					return f.as(Info, "")
				}
				return f
			}
			return skipped("no connection to the server's port to look at")
		})
	},
})
