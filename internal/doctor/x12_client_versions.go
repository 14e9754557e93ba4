package doctor

import (
	"fmt"
	"strings"
)

var _ = register(Check{
	ID: "X12", Title: "running programs link a supported go-redis", Severity: Warn,
	Why:    "some versions were taken back by their authors for wrong behaviour",
	Fix:    "upgrade go-redis and rebuild",
	Verify: "go version -m /proc/PID/exe",
	Run: func(s *Snapshot) []Finding {
		if s.ProgramsReason != "" {
			return []Finding{skip("host", s.Host.Name, s.ProgramsReason)}
		}
		f := Finding{Outcome: OK, Scope: "host", Subject: s.Host.Name, Required: "no retracted version (list of " + versionsKnown + ")"}
		var all, bad []string
		for _, p := range s.Programs {
			v := p.Deps[goRedis]
			text := fmt.Sprintf("%s pid %d: %s", p.Name, p.PID, v)
			all = append(all, text)
			if retractedGoRedis[v] {
				bad = append(bad, text)
			}
		}
		switch {
		case len(bad) > 0:
			f.Outcome, f.Current = Warn, strings.Join(bad, ", ")+" (retracted)"
		case len(all) == 0 && s.ProgramsHidden > 0:
			return []Finding{skip("host", s.Host.Name, "not permitted to look into "+plural(s.ProgramsHidden, "other program"))}
		case len(all) == 0:
			f.Current = "no running program links go-redis"
		default:
			f.Current = strings.Join(all[:min(5, len(all))], ", ")
		}
		return []Finding{f}
	},
})
