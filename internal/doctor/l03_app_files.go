package doctor

import (
	"fmt"

	"github.com/rcctl/rcctl/sysctl"
)

// assumedNodes is the size of a cluster that was not asked.
const assumedNodes = 6

var _ = register(Check{
	ID:       "L03",
	Title:    "the application may open its connections twice over",
	Severity: Fail,
	Why:      "during a failover pools exist twice; without files left every dial, file and request fails with \"too many open files\"",
	Fix:      "LimitNOFILE=65536 in the application's unit, or --ulimit nofile=65536 for its container",
	Verify:   "grep 'open files' /proc/PID/limits of the application",
	Run: func(s *Snapshot) []Finding {
		subject := fmt.Sprintf("%s pid %d", firstOf(s.Shell.Name, "shell"), s.Shell.PID)
		l, err := s.Shell.Limit(openFiles)
		if err != nil {
			return []Finding{skip("this shell", subject, err.Error())}
		}
		nodes := assumedNodes
		if s.Cluster != nil {
			nodes = len(s.Cluster.Nodes)
		}
		pools := int64(s.Plan.PoolSize) * int64(nodes)
		want := 2 * (pools + 100)
		f := Finding{Outcome: OK, Scope: "this shell", Subject: subject, Current: "nofile " + l.String(),
			Required: fmt.Sprintf("hard at least %d: 2 x (%d connections x %d nodes + 100)", want, s.Plan.PoolSize, nodes)}
		switch {
		case !sysctl.AtLeast(l.Hard, want):
			f.Outcome = Fail
		case s.Plan.Profile == profileHigh && !sysctl.AtLeast(l.Hard, 65536):
			f.Outcome, f.Required = Warn, "hard at least 65536 (profile high-concurrency)"
		}
		if f.Outcome != OK {
			f.Fix = fmt.Sprintf("LimitNOFILE=%d in the application's unit, or --ulimit nofile=%d for its container; Go programs use the hard limit by themselves, for others raise the soft one too", max(want, 65536), max(want, 65536))
		}
		return []Finding{f}
	},
})
