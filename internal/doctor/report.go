package doctor

import (
	"cmp"
	"slices"
	"time"
)

// Schema names the form of snapshots and reports; it changes when a field
// goes away or changes its meaning.
const Schema = "rcctl.doctor.v1"

// Finding is what a check says about one subject.
type Finding struct {
	ID       string  `json:"id"`
	Title    string  `json:"title"`
	Outcome  Outcome `json:"outcome"`
	Severity Outcome `json:"severity"`
	// Scope is where the value counts: host, netns, cgroup, process, this
	// shell, node, cluster, path.
	Scope string `json:"scope"`
	// Subject is what was looked at: a node's address, a process.
	Subject  string `json:"subject"`
	Current  string `json:"current"`
	Required string `json:"required"`
	Why      string `json:"why"`
	Fix      string `json:"fix"`
	Verify   string `json:"verify,omitempty"`
	// Reason tells why a check was skipped or is broken.
	Reason string `json:"reason"`
	// Host names the snapshot's host where a report covers several.
	Host string `json:"host,omitempty"`
}

// Summary counts findings by outcome.
type Summary struct {
	Fail    int `json:"fail"`
	Warn    int `json:"warn"`
	Info    int `json:"info"`
	OK      int `json:"ok"`
	Skipped int `json:"skipped"`
	Broken  int `json:"broken"`
}

// Report is the judgement on a snapshot.
type Report struct {
	Schema string    `json:"schema"`
	Kind   string    `json:"kind"` // "report"
	Time   time.Time `json:"time"` // of the snapshot
	Host   string    `json:"host"`
	// Cluster are the seeds asked, empty for a host-only report.
	Cluster  []string  `json:"cluster,omitempty"`
	Nodes    int       `json:"nodes"`
	Summary  Summary   `json:"summary"`
	Findings []Finding `json:"findings"`
	// Baseline are the kernel settings that every report shows.
	Baseline []BaselineLine `json:"baseline"`
	// Error tells why the cluster could not be checked at all.
	Error string `json:"error,omitempty"`
}

// Selection narrows down which checks run. Ids as [Find] takes them; an empty
// Only means all.
type Selection struct{ Only, Skip []string }

// Judge runs the checks over a snapshot. It is a pure function of its
// arguments. Unknown ids in the selection are an error.
func Judge(s *Snapshot, sel Selection) (Report, error) {
	checks, err := sel.checks()
	if err != nil {
		return Report{}, err
	}
	r := Report{Schema: Schema, Kind: "report", Time: s.Time, Host: s.Host.Name, Cluster: s.Plan.Seeds,
		Error: s.Error, Baseline: baseline(s)}
	if s.Cluster != nil {
		r.Nodes = len(s.Cluster.Nodes)
	}
	for _, c := range checks {
		for _, f := range c.run(s) {
			r.add(f)
		}
	}
	r.sort()
	return r, nil
}

func (sel Selection) checks() ([]*Check, error) {
	skip := map[*Check]bool{}
	for _, id := range sel.Skip {
		c, err := Find(id)
		if err != nil {
			return nil, err
		}
		skip[c] = true
	}
	only := map[*Check]bool{}
	for _, id := range sel.Only {
		c, err := Find(id)
		if err != nil {
			return nil, err
		}
		only[c] = true
	}
	return slices.DeleteFunc(Checks(), func(c *Check) bool {
		return skip[c] || (len(only) > 0 && !only[c])
	}), nil
}

func (r *Report) add(f Finding) {
	r.Findings = append(r.Findings, f)
	n := map[Outcome]*int{Fail: &r.Summary.Fail, Warn: &r.Summary.Warn, Info: &r.Summary.Info,
		OK: &r.Summary.OK, Skipped: &r.Summary.Skipped, Broken: &r.Summary.Broken}[f.Outcome]
	if n != nil {
		*n++
	}
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(outcomes, a.Outcome), slices.Index(outcomes, b.Outcome)),
			cmp.Compare(a.ID, b.ID))
	})
}

// ExitCode is 0 for ok or warnings, 1 when something fails (a warning too if
// strict), 3 when the cluster or a check could not be checked.
func (r Report) ExitCode(strict bool) int {
	switch {
	case r.Error != "":
		return 3
	case r.Summary.Fail > 0 || (strict && r.Summary.Warn > 0):
		return 1
	case r.Summary.Broken > 0:
		return 3
	}
	return 0
}
