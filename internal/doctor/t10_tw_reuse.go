package doctor

import "fmt"

var _ = register(Check{
	ID:       "T10",
	Title:    "closed connections give their ports back in time",
	Severity: Warn,
	Why:      "a closed connection keeps its local port for a minute; the kernel's default 2 reuses such ports on loopback only, so a benchmark on one host passes and production over a network fails",
	Fix:      "net.ipv4.tcp_tw_reuse = 1 on the side that connects, with tcp_timestamps = 1; better, keep connections open in a pool",
	Verify:   "sysctl net.ipv4.tcp_tw_reuse",
	Run: func(s *Snapshot) []Finding {
		t := s.appNet()
		v, err := t.net.Settings.Get("net.ipv4.tcp_tw_reuse").Int()
		if err != nil {
			return []Finding{skip("netns", t.subject, err.Error())}
		}
		meaning := map[int64]string{0: "never", 1: "everywhere", 2: "on loopback only"}[v]
		f := Finding{Outcome: OK, Scope: "netns", Subject: t.subject,
			Current:  fmt.Sprintf("tcp_tw_reuse = %d (%s)", v, meaning),
			Required: "1 when ports run short (T09), else any"}
		if v == 1 {
			return []Finding{f}
		}
		share, known := t.portShare()
		switch {
		case known && share >= portsShort:
			f.Outcome = Warn
		case s.Plan.Profile == profileHigh:
			f.Outcome, f.Required = Warn, "1 (profile high-concurrency)"
		default:
			f.Outcome = Info
		}
		f.Fix = t.setFix(s, "net.ipv4.tcp_tw_reuse", "1") + "; needed only where ports run short"
		return []Finding{f}
	},
})

// portsShort and portsOut are shares of the local ports in use towards one
// destination.
const (
	portsShort = 0.7
	portsOut   = 0.9
)

// portShare is the largest share of the local ports that one destination
// takes.
func (t netTarget) portShare() (float64, bool) {
	r, err := t.net.Settings.Get("net.ipv4.ip_local_port_range").Ints()
	if err != nil || len(r) != 2 || r[1] < r[0] || t.net.StatesReason != "" {
		return 0, false
	}
	if len(t.net.Destinations) == 0 {
		return 0, true
	}
	return float64(t.net.Destinations[0].Ports) / float64(r[1]-r[0]+1), true
}
