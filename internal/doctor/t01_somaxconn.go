package doctor

import "fmt"

var _ = register(Check{
	ID:       "T01",
	Title:    "somaxconn is large enough for the server's accept queue",
	Severity: Warn,
	Why:      "the accept queue is the smaller of the backlog a server asked for and somaxconn; when it is full, connection attempts wait for a second and more",
	Fix:      "raise net.core.somaxconn, then restart the server: the backlog is fixed at listen()",
	Verify:   "sysctl net.core.somaxconn",
	Needs:    NeedsHostOrServer,
	Run: func(s *Snapshot) []Finding {
		var out []Finding
		for _, t := range s.serverNets() {
			f := Finding{Outcome: OK, Scope: "netns", Subject: t.subject}
			want := int64(1024)
			for _, v := range t.servers {
				if n := s.node(v); n != nil {
					want = max(want, number(n.Config["tcp-backlog"]))
				}
			}
			if s.Plan.Profile == profileHigh {
				want = 65535
			}
			v := t.net.Settings.Get("net.core.somaxconn")
			have, err := v.Int()
			if err != nil {
				out = append(out, skip(f.Scope, f.Subject, err.Error()))
				continue
			}
			f.Current = fmt.Sprintf("net.core.somaxconn = %d", have)
			f.Required = fmt.Sprintf("at least %d", want)
			if have < want {
				f.Outcome = Warn
				f.Fix = t.setFix(s, "net.core.somaxconn", fmt.Sprint(max(want, 4096))) + "; then restart the server: the backlog is fixed at listen()"
			}
			out = append(out, f)
		}
		return out
	},
})
