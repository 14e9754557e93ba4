package doctor

import (
	"fmt"
	"strings"
)

var _ = register(Check{
	ID: "T26", Title: "the connection tracking table has room", Severity: Fail,
	Why:    "when it is full the kernel drops packets of new connections: \"table full, dropping packet\"",
	Fix:    "net.netfilter.nf_conntrack_max on the host, or no tracking for Redis ports (NOTRACK)",
	Verify: "sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max",
	Run: func(s *Snapshot) []Finding {
		return perNet(append(s.otherNets(), s.appNet()), func(t netTarget) Finding {
			max := t.net.Settings.Get("net.netfilter.nf_conntrack_max")
			if strings.HasSuffix(max.Reason, "is absent") {
				return ok("no connection tracking here", "below 80 %")
			}
			limit, err := max.Int()
			if err != nil {
				return skipped(err.Error())
			}
			n, err := t.net.Settings.Get("net.netfilter.nf_conntrack_count").Int()
			if err != nil {
				return skipped(err.Error())
			}
			share := float64(n) / float64(limit)
			f := ok(fmt.Sprintf("%d of %d (%s)", n, limit, percent(share)), "below 80 %")
			switch {
			case limit <= 0 || share < 0.8:
				return f
			case share >= 0.95:
				return f.as(Fail, "")
			}
			return f.as(Warn, "")
		})
	},
})
