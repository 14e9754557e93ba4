package doctor

import "fmt"

var _ = register(Check{
	ID:       "H02",
	Title:    "transparent huge pages do not slow the server's forks down",
	Severity: Warn,
	Why:      "after a fork every first write copies 2 MB instead of 4 KB: latency spikes and memory",
	Fix:      "kernel parameter transparent_hugepage=madvise, or a unit that writes madvise to /sys/kernel/mm/transparent_hugepage/enabled; Redis opts out by itself with disable-thp yes (its default)",
	Verify:   "cat /sys/kernel/mm/transparent_hugepage/enabled; grep THP_enabled /proc/PID/status",
	Needs:    NeedsHostOrServer,
	Run: func(s *Snapshot) []Finding {
		mode := s.Host.HugePages
		if !mode.Known() {
			return []Finding{skip("host", s.Host.Name, mode.Reason)}
		}
		if mode.Text != "always" || len(s.Servers) == 0 {
			f := Finding{Outcome: OK, Scope: "host", Subject: s.Host.Name, Current: "mode " + mode.Text, Required: "madvise or never, or a server that opted out"}
			if mode.Text == "always" {
				f.Outcome = Info // a server opts out by itself; none is here to ask
			}
			return []Finding{f}
		}
		var out []Finding
		for _, v := range s.servers() {
			f := Finding{Outcome: OK, Scope: "process", Subject: v.name(), Required: "the process opted out (THP_enabled 0)"}
			allowed := v.Process.HugePagesAllowed
			switch {
			case !allowed.Known():
				f = skip("process", v.name(), "mode always; "+allowed.Reason)
			case allowed.Text == "0":
				f.Current = "mode always, but the process opted out"
			default:
				f.Outcome = Warn
				f.Current = fmt.Sprintf("mode always, THP_enabled %s, %s in huge pages", allowed.Text, pagesText(v))
			}
			out = append(out, f)
		}
		return out
	},
})

func pagesText(v *Server) string {
	if n, err := v.Process.HugePageBytes.Int(); err == nil {
		return bytesText(n)
	}
	return "unknown memory"
}
