package doctor

import (
	"fmt"
	"time"
)

const clockLimit = 500 * time.Millisecond

var _ = register(Check{
	ID: "X09", Title: "the clocks agree", Severity: Warn,
	Why:    "keys expire by the clock of the node that serves them: after a failover to a node that is ahead they are gone early; locks and fresh times depend on it",
	Fix:    "run chrony or another NTP client on every host",
	Verify: "redis-cli -p PORT time; chronyc tracking",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		var first, last *Node
		for _, n := range s.Cluster.each() {
			if n.ClockReason != "" || !n.Reach.OK {
				continue
			}
			if first == nil || n.ClockOffsetUsec < first.ClockOffsetUsec {
				first = n
			}
			if last == nil || n.ClockOffsetUsec > last.ClockOffsetUsec {
				last = n
			}
		}
		if first == nil {
			return []Finding{skip("cluster", "clocks", "no node told its time")}
		}
		us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
		spread := us(last.ClockOffsetUsec - first.ClockOffsetUsec)
		nodes := Finding{Outcome: OK, Scope: "cluster", Subject: "nodes among each other", Required: "within 500 ms",
			Current: fmt.Sprintf("within %v", spread.Round(time.Millisecond))}
		if spread-us(last.ClockErrorUsec+first.ClockErrorUsec) > clockLimit {
			nodes.Outcome = Warn
			nodes.Current = fmt.Sprintf("%s is %v ahead of %s", last.Addr, spread.Round(time.Millisecond), first.Addr)
		}
		here := Finding{Outcome: OK, Scope: "path", Subject: "nodes against this host", Required: "within 500 ms"}
		far := max(last.ClockOffsetUsec, -first.ClockOffsetUsec)
		here.Current = fmt.Sprintf("within %v", us(far).Round(time.Millisecond))
		if us(far-max(last.ClockErrorUsec, first.ClockErrorUsec)) > clockLimit {
			here.Outcome = Info
		}
		return []Finding{nodes, here}
	},
})
