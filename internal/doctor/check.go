package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Outcome is what a check says about one thing.
type Outcome string

// The outcomes, from the worst to the best. Broken is a check that failed
// itself; Skipped one that could not see what it needs.
const (
	Fail    Outcome = "fail"
	Warn    Outcome = "warn"
	Broken  Outcome = "broken"
	Info    Outcome = "info"
	Skipped Outcome = "skipped"
	OK      Outcome = "ok"
)

// outcomes are all outcomes in the order of a report.
var outcomes = []Outcome{Fail, Warn, Broken, Info, Skipped, OK}

// Check is one entry of the catalogue.
type Check struct {
	// ID is letter and number, "T08"; never reused.
	ID string
	// Title says what is true when the check is ok.
	Title string
	// Severity is the worst that the check can say: Fail, Warn or Info.
	Severity Outcome
	// Why tells what happens otherwise, Fix what to do, lastingly.
	Why, Fix string
	// Verify is a command that shows the value, if there is one.
	Verify string
	// Needs is what the snapshot must hold for Run to be called.
	Needs Needs
	// Run judges a snapshot. It must return a finding at least.
	Run func(s *Snapshot) []Finding
}

// Needs says what a check looks at.
type Needs int

// What a snapshot can hold.
const (
	// NeedsHost: this host. Always there.
	NeedsHost Needs = iota
	// NeedsServer: a process of the cluster (or --pid) on this host.
	NeedsServer
	// NeedsHostOrServer: as NeedsServer; without a cluster and a target, this
	// host itself.
	NeedsHostOrServer
	// NeedsCluster: a cluster that answers.
	NeedsCluster
)

func (n Needs) String() string {
	return [...]string{"this host", "a server process on this host", "a server process on this host, or no cluster", "a cluster"}[n]
}

var registry []*Check

var idForm = regexp.MustCompile(`^[A-Z][0-9]{2}$`)

// register adds a check; a wrong literal is a programming error.
func register(c Check) *Check {
	switch {
	case !idForm.MatchString(c.ID):
		panic("doctor: check id " + c.ID + " is not a letter and two digits")
	case c.Title == "" || c.Why == "" || c.Fix == "" || c.Run == nil:
		panic("doctor: check " + c.ID + " lacks title, why, fix or run")
	case c.Severity != Fail && c.Severity != Warn && c.Severity != Info:
		panic("doctor: check " + c.ID + " has no severity")
	case slices.ContainsFunc(registry, func(o *Check) bool { return o.ID == c.ID }):
		panic("doctor: check " + c.ID + " is registered twice")
	}
	registry = append(registry, &c)
	return &c
}

// Checks are all checks in the order of their ids.
func Checks() []*Check {
	out := slices.Clone(registry)
	slices.SortFunc(out, func(a, b *Check) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Find is a check by its id, "T08" or "RC-T08", in any case.
func Find(id string) (*Check, error) {
	want := strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(id)), "RC-")
	for _, c := range registry {
		if c.ID == want {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no check %q: rcctl doctor list shows all", id)
}

// lacking is the reason why a snapshot does not hold what a check needs.
func (n Needs) lacking(s *Snapshot) string {
	switch n {
	case NeedsCluster:
		if s.Cluster == nil {
			return s.ClusterReason
		}
	case NeedsServer:
		if len(s.Servers) == 0 {
			return s.ServersReason
		}
	case NeedsHostOrServer:
		if len(s.Servers) == 0 && !s.hostOnly() {
			return s.ServersReason
		}
	}
	return ""
}

// run runs a check. A panic becomes the outcome broken; so does a check that
// says nothing.
func (c *Check) run(s *Snapshot) (out []Finding) {
	defer func() {
		if p := recover(); p != nil {
			out = []Finding{{Outcome: Broken, Reason: fmt.Sprintf("the check panicked: %v", p)}}
		}
		for i := range out {
			c.complete(&out[i])
		}
	}()
	if why := c.Needs.lacking(s); why != "" {
		return []Finding{{Outcome: Skipped, Reason: why}}
	}
	if out = c.Run(s); len(out) == 0 {
		out = []Finding{{Outcome: Broken, Reason: "the check gave no finding"}}
	}
	return out
}

// complete fills in what the literal says.
func (c *Check) complete(f *Finding) {
	f.ID, f.Title, f.Severity = c.ID, c.Title, c.Severity
	if f.Why == "" {
		f.Why = c.Why
	}
	if f.Scope == "" {
		f.Scope = [...]string{"host", "process", "host", "cluster"}[c.Needs]
	}
	switch f.Outcome {
	case Fail, Warn, Info:
		if f.Fix == "" {
			f.Fix = c.Fix
		}
		f.Verify = c.Verify
	case Skipped, Broken:
		if f.Reason == "" {
			f.Outcome, f.Reason = Broken, "skipped without a reason"
		}
	}
}
