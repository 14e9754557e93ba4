package doctor

import "fmt"

var _ = register(Check{
	ID: "L04", Title: "fs.nr_open allows the limits in use", Severity: Fail,
	Why:    "a limit above fs.nr_open is refused, and the unit does not start",
	Fix:    "fs.nr_open at least as high as every LimitNOFILE",
	Verify: "sysctl fs.nr_open",
	Run: func(s *Snapshot) []Finding {
		max, err := s.Host.Settings.Get("fs.nr_open").Int()
		if err != nil {
			return []Finding{skip("host", s.Host.Name, err.Error())}
		}
		want, who := int64(briefFiles), "what busy hosts are given"
		for _, v := range s.servers() {
			if n := number(v.UnitNoFile.Text); n > want {
				want, who = n, "LimitNOFILE of "+v.Unit
			}
		}
		f := Finding{Outcome: OK, Scope: "host", Subject: s.Host.Name, Current: fmt.Sprintf("fs.nr_open = %d", max), Required: fmt.Sprintf("at least %d (%s)", want, who)}
		if max < want {
			f.Outcome, f.Fix = Fail, hostFix(s, "fs.nr_open", fmt.Sprint(want))
		}
		return []Finding{f}
	},
})
