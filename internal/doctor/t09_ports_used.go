package doctor

import "fmt"

var _ = register(Check{
	ID: "T09", Title: "local ports towards one server do not run out", Severity: Fail,
	Why:    "when all local ports towards one address are in use or in TIME_WAIT, connect fails with EADDRNOTAVAIL",
	Fix:    "keep connections in a pool instead of opening new ones; then a wider range (T07) and tcp_tw_reuse (T10)",
	Verify: "ss -tan | awk '{print $5}' | sort | uniq -c | sort -rn | head",
	Run: func(s *Snapshot) []Finding {
		return perNet([]netTarget{s.appNet()}, func(t netTarget) Finding {
			share, known := t.portShare()
			if !known {
				return skipped(firstOf(t.net.StatesReason, t.net.Settings.Get("net.ipv4.ip_local_port_range").Reason, "the port range cannot be read"))
			}
			f := ok("no outgoing connection", "below 70 % of the port range")
			if len(t.net.Destinations) > 0 {
				d := t.net.Destinations[0]
				f.Current = fmt.Sprintf("%d ports (%s) towards %s", d.Ports, percent(share), d.Addr)
			}
			switch {
			case share >= portsOut:
				return f.as(Fail, "")
			case share >= portsShort:
				return f.as(Warn, "")
			}
			return f
		})
	},
})
