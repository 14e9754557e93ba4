package doctor

var _ = register(Check{
	ID: "T11", Title: "TCP timestamps are on", Severity: Warn,
	Why:    "reuse of ports in TIME_WAIT needs timestamps: with them off, tcp_tw_reuse = 1 does nothing, whatever a tuning guide says",
	Fix:    "net.ipv4.tcp_timestamps = 1",
	Verify: "sysctl net.ipv4.tcp_timestamps net.ipv4.tcp_tw_reuse",
	Run: func(s *Snapshot) []Finding {
		return perNet([]netTarget{s.appNet()}, func(t netTarget) Finding {
			ts, reuse := t.net.Settings.Get("net.ipv4.tcp_timestamps"), t.net.Settings.Get("net.ipv4.tcp_tw_reuse")
			if !ts.Known() {
				return skipped(ts.Reason)
			}
			f := ok("tcp_timestamps = "+ts.Text+", tcp_tw_reuse = "+reuse.String(), "tcp_timestamps 1")
			switch {
			case ts.Text != "0":
				return f
			case reuse.Text == "1":
				return f.as(Warn, t.setFix(s, "net.ipv4.tcp_timestamps", "1"))
			}
			return f.as(Info, t.setFix(s, "net.ipv4.tcp_timestamps", "1"))
		})
	},
})
