package doctor

import "fmt"

var _ = register(Check{
	ID: "T03", Title: "no connection attempt is dropped at a full accept queue", Severity: Fail,
	Why:    "each one dropped costs its client a second or more until it tries again",
	Fix:    "a longer accept queue (T01, T02), and fewer connections at once: pools instead of connections per request",
	Verify: "nstat -az TcpExtListenOverflows TcpExtListenDrops",
	Needs:  NeedsHostOrServer,
	Run: func(s *Snapshot) []Finding {
		return perNet(s.serverNets(), func(t netTarget) Finding {
			over, err := t.increase("TcpExt.ListenOverflows")
			if err != nil {
				return skipped(err.Error())
			}
			drops, err := t.increase("TcpExt.ListenDrops")
			if err != nil {
				return skipped(err.Error())
			}
			f := ok(fmt.Sprintf("ListenOverflows +%d, ListenDrops +%d", over, drops), "no growth between the samples")
			if over > 0 || drops > 0 {
				return f.as(Fail, "")
			}
			if since := t.net.Counters["TcpExt.ListenOverflows"]; since > 0 {
				f.Outcome, f.Current = Info, fmt.Sprintf("ListenOverflows %d since the namespace exists, none now", since)
			}
			return f
		})
	},
})
