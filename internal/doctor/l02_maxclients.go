package doctor

import "fmt"

var _ = register(Check{
	ID:       "L02",
	Title:    "the server kept the maxclients it was configured with",
	Severity: Fail,
	Why:      "a server that gets fewer files than it needs lowers maxclients in silence: asked for 20000 under a limit of 20000 it runs with 19968, with one line in its log",
	Fix:      "raise the server's nofile to maxclients + 32 and what the bus takes, then restart it",
	Verify:   "redis-cli -p PORT config get maxclients; grep maxclients redis.conf",
	Needs:    NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding { return maxclientsKept(s, n) })
	},
})

func maxclientsKept(s *Snapshot, n *Node) Finding {
	have := number(n.Config["maxclients"])
	if have <= 0 {
		return skip("node", n.Addr, firstOf(n.ConfigReason, "CONFIG GET shows no maxclients"))
	}
	need := s.connections(n)
	f := Finding{Outcome: OK, Scope: "node", Subject: n.Addr, Current: fmt.Sprintf("maxclients %d", have),
		Required: "what the configuration asks for"}
	bad := Warn
	if have < need {
		bad = Fail
		f.Required = fmt.Sprintf("at least %d planned connections", need)
	}
	v := s.Servers[n.Addr]
	if v != nil && v.Config != nil {
		if asked := number(v.Config["maxclients"]); asked > 0 {
			f.Current = fmt.Sprintf("maxclients %d, %s asks for %d", have, v.ConfigFile, asked)
			if have < asked {
				f.Outcome, f.Required = bad, fmt.Sprintf("maxclients %d", asked)
				f.Fix = nofileFix(s, v, asked+reservedFiles)
				return f
			}
		}
	}
	if have < need {
		f.Outcome = Fail
		return f
	}
	if v == nil {
		return hint(f, have)
	}
	l, err := v.Process.Limit(openFiles)
	if err == nil && have+reservedFiles == l.Soft && have%100 != 0 {
		f.Outcome = Warn
		f.Current = fmt.Sprintf("maxclients %d = nofile %d - %d, not a round number: lowered to fit", have, l.Soft, reservedFiles)
		f.Required = "the number that was asked for"
		f.Fix = nofileFix(s, v, have+2*reservedFiles)
	}
	return f
}

// hint looks at the number alone, where the process cannot be seen: lowered
// values are 32 below a limit, which is a round number or a power of two.
func hint(f Finding, have int64) Finding {
	limit := have + reservedFiles
	if have%100 != 0 && (limit%1000 == 0 || limit&(limit-1) == 0) {
		f.Outcome = Warn
		f.Current = fmt.Sprintf("maxclients %d = %d - %d: looks lowered to fit a limit of %d files", have, limit, reservedFiles, limit)
		f.Required = "the number that was asked for"
	}
	return f
}
