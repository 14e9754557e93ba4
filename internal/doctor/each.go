package doctor

import (
	"fmt"
	"strings"
)

// perServer runs f for each server process on this host and sums up what is
// ok.
func perServer(s *Snapshot, scope string, f func(v *Server) Finding) []Finding {
	var out, good []Finding
	for _, v := range s.servers() {
		x := f(v)
		x.Scope = firstOf(x.Scope, scope)
		x.Subject = firstOf(x.Subject, v.name())
		if x.Outcome == OK {
			good = append(good, x)
		} else {
			out = append(out, x)
		}
	}
	if len(good) > 1 {
		sum := summed(good)
		sum[0].Subject = fmt.Sprintf("%d server processes", len(good))
		good = sum
	}
	return append(merge(out), good...)
}

// perNet runs f for each network namespace.
func perNet(targets []netTarget, f func(t netTarget) Finding) []Finding {
	var out []Finding
	for _, t := range targets {
		x := f(t)
		x.Scope = firstOf(x.Scope, "netns")
		x.Subject = firstOf(x.Subject, t.subject)
		out = append(out, x)
	}
	return out
}

// increase is how much a counter of a namespace grew between the samples.
func (t netTarget) increase(name string) (int64, error) {
	before, ok := t.net.Counters[name]
	if !ok {
		return 0, fmt.Errorf("%s", firstOf(t.net.CountersReason, "the kernel has no counter "+name))
	}
	after, ok := t.later[name]
	if !ok {
		return 0, fmt.Errorf("%s", firstOf(t.why, "there is no second sample of "+name))
	}
	return after - before, nil
}

// ok is a finding that passes, without a subject, which perNode and the
// like fill in; as makes it one that does not.
func ok(current, required string) Finding {
	return Finding{Outcome: OK, Current: current, Required: required}
}

func (f Finding) as(o Outcome, fix string) Finding {
	f.Outcome, f.Fix = o, fix
	return f
}

func skipped(reason string) Finding { return Finding{Outcome: Skipped, Reason: reason} }

// percent is a share as text.
func percent(f float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*f), ".0") + " %"
}

// total adds a number of INFO up over nodes.
func total(nodes []*Node, field string) (sum int64, known int) {
	for _, n := range nodes {
		if v, ok := n.Info.Int(field); ok {
			sum += v
			known++
		}
	}
	return sum, known
}
