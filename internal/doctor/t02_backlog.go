package doctor

import (
	"fmt"
	"net"
)

// usualBacklog is tcp-backlog as Redis ships.
const usualBacklog = 511

var _ = register(Check{
	ID: "T02", Title: "the server's accept queue is as long as it asked for", Severity: Warn,
	Why:    "the kernel cuts the backlog to somaxconn in silence: a server configured with 65000 runs with 4096, and CONFIG GET still says 65000",
	Fix:    "raise net.core.somaxconn, then restart the server: the queue keeps its length until listen() is called again",
	Verify: "ss -ltn (Send-Q of a listening socket)",
	Needs:  NeedsServer,
	Run: func(s *Snapshot) []Finding {
		return perServer(s, "process", func(v *Server) Finding {
			want, asked := int64(usualBacklog), int64(0)
			if n := s.node(v); n != nil {
				asked = number(n.Config["tcp-backlog"])
				want = max(asked, 1)
			}
			_, port, _ := net.SplitHostPort(v.Addr)
			reason := firstOf(v.Process.Net.ListenersReason, "no listening socket on port "+port+" was seen")
			for _, l := range v.Process.Net.Listeners {
				if int64(l.Addr.Port()) != number(port) {
					continue
				}
				have, err := l.Backlog.Int()
				if err != nil {
					reason = err.Error()
					continue
				}
				f := ok(fmt.Sprintf("backlog in effect %d", have), fmt.Sprintf("at least %d", want))
				if asked > 0 {
					f.Current += fmt.Sprintf(", asked for %d", asked)
				}
				if have < want {
					t := netTarget{net: &v.Process.Net, servers: []*Server{v}}
					return f.as(Warn, t.setFix(s, "net.core.somaxconn", fmt.Sprint(max(want, 4096)))+"; then restart the server")
				}
				return f
			}
			return skipped(reason)
		})
	},
})
