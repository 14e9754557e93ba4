package doctor

import "strings"

var _ = register(Check{
	ID: "T12", Title: "tcp_tw_recycle is off or gone", Severity: Fail,
	Why:    "it drops connections of clients behind one NAT at random; kernels from 4.12 on do not have it any more",
	Fix:    "remove net.ipv4.tcp_tw_recycle from /etc/sysctl.conf and /etc/sysctl.d, set it to 0",
	Verify: "sysctl net.ipv4.tcp_tw_recycle",
	Run: func(s *Snapshot) []Finding {
		return perNet([]netTarget{s.appNet()}, func(t netTarget) Finding {
			v := t.net.Settings.Get("net.ipv4.tcp_tw_recycle")
			switch {
			case strings.HasSuffix(v.Reason, "is absent"):
				return ok("absent: this kernel does not have it", "absent or 0")
			case !v.Known():
				return skipped(v.Reason)
			case v.Text == "0":
				return ok("0", "absent or 0")
			}
			return ok("tcp_tw_recycle = "+v.Text, "absent or 0").as(Fail, "")
		})
	},
})
