package doctor

import (
	"fmt"
	"time"
)

var _ = register(Check{
	ID: "T19", Title: "a connection attempt into the void ends soon", Severity: Warn,
	Why:    "the kernel tries for 127 s (tcp_syn_retries = 6); only the client's dial timeout ends it sooner, and attempts multiply",
	Fix:    "DialTimeout 500 ms and DialerRetries 1 in the client",
	Verify: "sysctl net.ipv4.tcp_syn_retries",
	Run: func(s *Snapshot) []Finding {
		return perNet([]netTarget{s.appNet()}, func(t netTarget) Finding {
			n, err := t.net.Settings.Get("net.ipv4.tcp_syn_retries").Int()
			if err != nil {
				return skipped(err.Error())
			}
			kernel := time.Duration(1<<min(n+1, 30)-1) * time.Second
			dial := s.Plan.DialTimeout * time.Duration(s.Plan.DialerRetries)
			f := ok(fmt.Sprintf("the plan gives up after %v, the kernel after %v", dial, kernel), "below 5 s")
			if dial <= 0 || min(dial, kernel) > stallLimit {
				return f.as(Warn, "")
			}
			return f
		})
	},
})
