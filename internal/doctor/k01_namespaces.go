package doctor

import (
	"fmt"
	"strings"

	"github.com/rcctl/rcctl/sysctl"
)

var _ = register(Check{
	ID:       "K01",
	Title:    "rcctl and what it judges share their namespaces",
	Severity: Info,
	Why:      "network settings belong to a network namespace and a new one does not inherit the host's; the lines of this report name whose values they show",
	Fix:      "nothing to mend: read the scope on each line; to look from inside, run rcctl in the same container (nsenter -t PID -n)",
	Verify:   "ls -l /proc/self/ns /proc/PID/ns",
	Run: func(s *Snapshot) []Finding {
		var out []Finding
		mine := s.Host.Namespaces
		if v := mine["net"]; !v.Known() {
			return []Finding{skip("host", s.Host.Name, v.Reason)}
		}
		if len(s.Servers) == 0 {
			return []Finding{compareNamespaces("rcctl and process 1 of "+s.Host.Name, mine, s.Host.InitNamespaces)}
		}
		for _, v := range s.servers() {
			out = append(out, compareNamespaces("rcctl and "+v.name(), mine, v.Process.Namespaces))
		}
		return out
	},
})

func compareNamespaces(subject string, a, b map[string]sysctl.Value) Finding {
	f := Finding{Outcome: OK, Scope: "host", Subject: subject, Required: "the same, or stated", Current: "same net, pid and cgroup namespaces"}
	var differ []string
	for _, kind := range []string{"net", "pid", "cgroup"} {
		x, y := a[kind], b[kind]
		if !x.Known() || !y.Known() {
			return skip(f.Scope, subject, firstOf(x.Reason, y.Reason))
		}
		if x.Text != y.Text {
			differ = append(differ, fmt.Sprintf("%s differs (%s, %s)", kind, x.Text, y.Text))
		}
	}
	if len(differ) > 0 {
		f.Outcome, f.Current = Info, strings.Join(differ, "; ")
	}
	return f
}
