package doctor

import "fmt"

var _ = register(Check{
	ID:       "H01",
	Title:    "the server can fork however much memory it uses",
	Severity: Fail,
	Why:      "BGSAVE, AOF rewrites and full syncs of replicas fork; without overcommit the kernel refuses the fork of a process that uses more than half of the memory",
	Fix:      "vm.overcommit_memory = 1 on the host",
	Verify:   "sysctl vm.overcommit_memory",
	Needs:    NeedsHostOrServer,
	Run: func(s *Snapshot) []Finding {
		v, err := s.Host.Settings.Get("vm.overcommit_memory").Int()
		if err != nil {
			return []Finding{skip("host", s.Host.Name, err.Error())}
		}
		f := Finding{Outcome: OK, Scope: "host", Subject: s.Host.Name, Current: fmt.Sprintf("vm.overcommit_memory = %d", v), Required: "1"}
		if v == 1 {
			return []Finding{f}
		}
		f.Outcome = Warn
		f.Fix = hostFix(s, "vm.overcommit_memory", "1")
		available, err := s.Host.MemAvailable.Int()
		for _, srv := range s.servers() {
			n := s.node(srv)
			if n == nil || err != nil {
				continue
			}
			if used, ok := n.Info.Int("used_memory"); ok && used > available/2 {
				f.Outcome = Fail
				f.Current += fmt.Sprintf("; %s uses %s, %s are available", n.Addr, bytesText(used), bytesText(available))
			}
		}
		return []Finding{f}
	},
})
