package doctor

import (
	"fmt"
	"time"
)

const tightTimeout = 500 * time.Millisecond

var _ = register(Check{
	ID: "X19", Title: "the client's network timeouts are tight", Severity: Warn,
	Why: "Redis answers in microseconds; loose timeouts pile up goroutines while a node is sick",
	Fix: "ReadTimeout and WriteTimeout of 200 to 500 ms; links between clouds or regions may need 1 s",
	Run: func(s *Snapshot) []Finding {
		f := Finding{Outcome: OK, Scope: "path", Subject: "client configuration of the plan", Required: "read and write at most 500 ms (1 s over cloud links)",
			Current: fmt.Sprintf("read %v, write %v", s.Plan.ReadTimeout, s.Plan.WriteTimeout)}
		if s.Plan.ReadTimeout > tightTimeout || s.Plan.WriteTimeout > tightTimeout {
			f.Outcome = Warn
		}
		return []Finding{f}
	},
})
