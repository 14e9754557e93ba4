package doctor

import "fmt"

// minPorts is the smallest comfortable number of local ports. Proposal: a
// default kernel has 28232, a fifth of that is a range somebody made small.
const minPorts = 20000

var _ = register(Check{
	ID:       "T07",
	Title:    "there are enough local ports for outgoing connections",
	Severity: Warn,
	Why:      "every connection to one server address takes a local port of this range, and keeps it for a minute after closing; when none is left, connect fails with EADDRNOTAVAIL",
	Fix:      "widen net.ipv4.ip_local_port_range and reserve the ports of services in it (T08)",
	Verify:   "sysctl net.ipv4.ip_local_port_range",
	Run: func(s *Snapshot) []Finding {
		t := s.appNet()
		v := t.net.Settings.Get("net.ipv4.ip_local_port_range")
		r, err := v.Ints()
		if err != nil {
			return []Finding{skip("netns", t.subject, err.Error())}
		}
		if len(r) != 2 {
			return []Finding{skip("netns", t.subject, "ip_local_port_range is not two numbers: "+v.Text)}
		}
		want := int64(minPorts)
		if s.Plan.Profile == profileHigh {
			want = 60000
		}
		width := max(r[1]-r[0]+1, 0)
		f := Finding{Outcome: OK, Scope: "netns", Subject: t.subject,
			Current:  fmt.Sprintf("%d-%d: %d ports for each destination address", r[0], r[1], width),
			Required: fmt.Sprintf("at least %d ports", want)}
		if width < want {
			f.Outcome = Warn
			f.Fix = t.setFix(s, "net.ipv4.ip_local_port_range", briefRange) + "; with the ports of services reserved (T08)"
		}
		return []Finding{f}
	},
})
