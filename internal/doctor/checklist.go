package doctor

import (
	"fmt"
	"io"
	"strings"
)

// ChecklistLine is one point of the list to go through before production.
type ChecklistLine struct {
	Point string `json:"point"`
	// Verdict is "ok", "not ok" or "cannot be seen from here".
	Verdict string `json:"verdict"`
	Found   string `json:"found"`
	// Prove is how to see it for oneself.
	Prove string `json:"prove"`
}

const (
	pointOK     = "ok"
	pointNotOK  = "not ok"
	pointUnseen = "cannot be seen from here"
)

// Checklist goes through the points for production. stated: the plan's
// timeouts were given by the user, not defaults. It is a pure function.
func Checklist(s *Snapshot, stated bool) ([]ChecklistLine, error) {
	r, err := Judge(s, Selection{Only: []string{"C15", "C17", "X19"}})
	if err != nil {
		return nil, err
	}
	return []ChecklistLine{
		singletonPoint(r),
		timeoutPoint(r, stated),
		hashTagPoint(s),
		{"a circuit breaker and a fallback for a total outage", pointUnseen, "it lives in the application's code",
			"stop the servers of a staging cluster and watch the application answer; package pool has a breaker per node"},
		{"CPU, RAM, hit rate and connected clients are monitored", pointUnseen, "it lives in the monitoring",
			"curl -s APP/metrics | grep rcctl_; dashboards and alert rules are in deploy/"},
	}, nil
}

// worstOf is the worst outcome of some checks in a report, and its text.
func worstOf(r Report, ids ...string) (Outcome, string) {
	for _, f := range r.Findings { // sorted, the worst first
		for _, id := range ids {
			if f.ID == id {
				return f.Outcome, firstOf(f.Reason, f.Subject+": "+f.Current)
			}
		}
	}
	return Skipped, "not checked"
}

func verdictOf(o Outcome) string {
	switch o {
	case OK, Info:
		return pointOK
	case Warn, Fail:
		return pointNotOK
	}
	return pointUnseen
}

func singletonPoint(r Report) ChecklistLine {
	o, text := worstOf(r, "C15", "C17")
	if o == OK {
		text = "few new connections, and the planned pools fit into maxclients"
	}
	return ChecklistLine{"one client per process, with PoolSize and MinIdleConns", verdictOf(o), text,
		"rcctl doctor --only C15,C17 --pool-size N --instances N; in the code: one call of pool.New"}
}

func timeoutPoint(r Report, stated bool) ChecklistLine {
	l := ChecklistLine{"tight dial, read and write timeouts", pointUnseen, "the client's timeouts were not given (--dial-timeout, --read-timeout, --write-timeout)",
		"rcctl doctor --only X19,X10 --dial-timeout D --read-timeout D --write-timeout D"}
	if stated {
		o, text := worstOf(r, "X19")
		l.Verdict, l.Found = verdictOf(o), text
	}
	return l
}

func hashTagPoint(s *Snapshot) ChecklistLine {
	l := ChecklistLine{Point: "hash tags for multi-key operations", Verdict: pointUnseen, Prove: "redis-cli --cluster call HOST:PORT info errorstats | grep CROSSSLOT; rcctl slot KEY KEY"}
	if s.Cluster == nil {
		l.Found = s.ClusterReason
		return l
	}
	var wrong []string
	seen := 0
	for _, n := range s.Cluster.each() {
		if n.LaterReason != "" || n.Later.Fields == nil || n.Later.ErrorsDisabled {
			continue
		}
		seen++
		if v := n.Later.Errors["CROSSSLOT"]; v > 0 {
			wrong = append(wrong, fmt.Sprintf("%s %d", n.Addr, v))
		}
	}
	switch {
	case seen == 0:
		l.Found = "no node told its error counts"
	case len(wrong) > 0:
		l.Verdict, l.Found = pointNotOK, "CROSSSLOT replies since the start: "+strings.Join(wrong, ", ")
	default:
		l.Verdict, l.Found = pointOK, "no CROSSSLOT reply since the servers' counters started"
	}
	return l
}

// WriteChecklist writes the list for people.
func WriteChecklist(w io.Writer, list []ChecklistLine, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	t := &textWriter{w: w, o: o}
	for i, l := range list {
		t.line("%d. %s: %s", i+1, l.Point, l.Verdict)
		t.para("   ", "found", l.Found)
		t.para("   ", "prove", l.Prove)
	}
	return t.err
}
