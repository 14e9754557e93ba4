package doctor

import "fmt"

var _ = register(Check{
	ID: "T18", Title: "a pulled cable is noticed in minutes, not a quarter of an hour", Severity: Info,
	Why:    "with tcp_retries2 = 15 a write without a deadline waits 924 s for a peer that is gone; go-redis with read timeouts does not, Pub/Sub and blocking calls without a deadline do",
	Fix:    "net.ipv4.tcp_retries2 = 8 on hosts whose clients have no read deadline",
	Verify: "sysctl net.ipv4.tcp_retries2",
	Run: func(s *Snapshot) []Finding {
		return perNet([]netTarget{s.appNet()}, func(t netTarget) Finding {
			n, err := t.net.Settings.Get("net.ipv4.tcp_retries2").Int()
			if err != nil {
				return skipped(err.Error())
			}
			f := ok(fmt.Sprintf("tcp_retries2 = %d", n), "5 to 8, or a deadline on every read")
			if n > 8 {
				return f.as(Info, t.setFix(s, "net.ipv4.tcp_retries2", "8")+"; only if some client has no read deadline")
			}
			return f
		})
	},
})
