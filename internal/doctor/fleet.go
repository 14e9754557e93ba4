package doctor

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// JudgeAll judges snapshots of many hosts as one report. Findings about the
// cluster that several hosts make alike are there once; those about a host
// name it. It adds what only many hosts together show: settings that differ,
// and connections projected from all of them.
func JudgeAll(all []*Snapshot, sel Selection) (Report, error) {
	if len(all) == 0 {
		return Report{}, fmt.Errorf("no snapshot to judge")
	}
	first, err := Judge(all[0], sel)
	if err != nil || len(all) == 1 {
		return first, err
	}
	total := Report{Schema: Schema, Kind: "report", Findings: nil, Baseline: nil}
	var hosts []string
	seen := map[Finding]int{}
	for _, s := range all {
		r, err := Judge(s, sel)
		if err != nil {
			return Report{}, err
		}
		hosts = append(hosts, r.Host)
		if r.Time.After(total.Time) {
			total.Time = r.Time
		}
		total.Nodes = max(total.Nodes, r.Nodes)
		for _, c := range r.Cluster {
			if !slices.Contains(total.Cluster, c) {
				total.Cluster = append(total.Cluster, c)
			}
		}
		total.Error = firstOf(total.Error, r.Error)
		for _, f := range r.Findings {
			key := f
			if i, ok := seen[key]; ok {
				total.Findings[i].Host += ", " + r.Host
				continue
			}
			seen[key] = len(total.Findings)
			f.Host = r.Host
			total.Findings = append(total.Findings, f)
		}
	}
	total.Host = strings.Join(hosts, ", ")
	findings := append(total.Findings, skew(all)...)
	total.Findings = nil
	for _, f := range findings {
		total.add(f)
	}
	total.sort()
	return total, nil
}

// skew are settings of the network namespaces that differ between hosts.
func skew(all []*Snapshot) []Finding {
	keys := map[string]bool{}
	for _, s := range all {
		for k := range s.Host.Net.Settings {
			keys[k] = true
		}
	}
	delete(keys, "net.netfilter.nf_conntrack_count")
	var out []Finding
	for _, k := range sortedKeys(keys) {
		values := map[string][]string{}
		for _, s := range all {
			if v := s.Host.Net.Settings.Get(k); v.Known() {
				values[v.Text] = append(values[v.Text], s.Host.Name)
			}
		}
		if len(values) > 1 {
			out = append(out, Finding{ID: "K02", Title: "hosts have the same settings", Outcome: Info, Severity: Warn, Scope: "netns", Subject: k,
				Current: strings.ReplaceAll(valuesText(values), "nodes", "hosts"), Required: "the same on hosts of one kind",
				Why: "hosts that differ behave differently under the same load", Fix: "set " + k + " alike in /etc/sysctl.d, or know why not"})
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Difference is what changed between two snapshots.
type Difference struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"` // "diff"
	// Worse: something fails now that did not.
	Worse   bool     `json:"worse"`
	Changes []Change `json:"changes"`
}

// Change is one check on one subject that says something else now. Before or
// After is nil when the finding was not there.
type Change struct {
	ID      string   `json:"id"`
	Subject string   `json:"subject"`
	Before  *Finding `json:"before,omitempty"`
	After   *Finding `json:"after,omitempty"`
}

// Diff judges two snapshots and compares the findings by check and subject.
// Process ids and namespace numbers in subjects make two subjects of them.
func Diff(before, after *Snapshot) (Difference, error) {
	d := Difference{Schema: Schema, Kind: "diff", Changes: []Change{}}
	b, err := Judge(before, Selection{})
	if err != nil {
		return d, err
	}
	a, err := Judge(after, Selection{})
	if err != nil {
		return d, err
	}
	type key struct{ id, subject string }
	m := map[key]*Change{}
	at := func(f Finding) *Change {
		k := key{f.ID, f.Subject}
		if m[k] == nil {
			m[k] = &Change{ID: f.ID, Subject: f.Subject}
		}
		return m[k]
	}
	for _, f := range b.Findings {
		at(f).Before = &f
	}
	for _, f := range a.Findings {
		at(f).After = &f
	}
	for _, c := range m {
		was, is := outcomeOf(c.Before), outcomeOf(c.After)
		if was == is && c.Before != nil && c.After != nil && (c.Before.Current == c.After.Current || is == OK || is == Skipped) {
			continue
		}
		if (was == OK || was == Skipped) && (is == OK || is == Skipped) && was == is {
			continue
		}
		d.Worse = d.Worse || (is == Fail && was != Fail)
		d.Changes = append(d.Changes, *c)
	}
	slices.SortFunc(d.Changes, func(x, y Change) int {
		return cmp.Or(cmp.Compare(slices.Index(outcomes, outcomeOf(x.After)), slices.Index(outcomes, outcomeOf(y.After))),
			cmp.Compare(x.ID, y.ID), cmp.Compare(x.Subject, y.Subject))
	})
	return d, nil
}

// outcomeOf a finding that is not there is ok: checks name what is wrong one
// by one and sum up what is right.
func outcomeOf(f *Finding) Outcome {
	if f == nil {
		return OK
	}
	return f.Outcome
}

// WriteText writes the changes for people, the worst first.
func (d Difference) WriteText(w io.Writer) error {
	t := &textWriter{w: w, o: TextOptions{Width: 80}}
	for _, c := range d.Changes {
		t.line("%-4s -> %-4s  RC-%s  %s", word(outcomeOf(c.Before)), word(outcomeOf(c.After)), c.ID, c.Subject)
		if c.Before != nil {
			t.para("      ", "before", required(*c.Before))
		}
		if c.After != nil {
			t.para("      ", "after", required(*c.After))
		}
	}
	if len(d.Changes) == 0 {
		t.line("no change")
	}
	return t.err
}
