package doctor

import (
	"fmt"
	"time"
)

// stallLimit is what one command may take at worst before a person notices.
const stallLimit = 5 * time.Second

var _ = register(Check{
	ID: "X10", Title: "one command has a bearable worst case", Severity: Warn,
	Why: "dial attempts, retries and redirects multiply: go-redis' defaults (5 s x 5 attempts x 4) make one command wait 100 s for a node that swallows packets",
	Fix: "DialTimeout 500 ms, DialerRetries 1, ReadTimeout and WriteTimeout 300 ms, MaxRedirects 3, ContextTimeoutEnabled with a deadline; plan with --dial-timeout, --read-timeout, --dialer-retries",
	Run: func(s *Snapshot) []Finding {
		p := s.Plan
		attempts := time.Duration(p.MaxRedirects + 1)
		hole := attempts * time.Duration(p.DialerRetries) * p.DialTimeout
		stalled := attempts * (p.ReadTimeout + p.WriteTimeout)
		f := Finding{Outcome: OK, Scope: "path", Subject: "client configuration of the plan", Required: fmt.Sprintf("below %v", stallLimit),
			Current: fmt.Sprintf("%v for a node that swallows packets, %v for one that hangs", hole, stalled)}
		if max(hole, stalled) > stallLimit {
			f.Outcome = Warn
		}
		return []Finding{f}
	},
})
