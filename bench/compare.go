package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchmath"
)

// CompareSchema names the form of a Comparison in JSON.
const CompareSchema = "rcctl.bench.compare.v1"

// compareAlpha is the chance of a false alarm for one metric. Four metrics
// together stay below 5 %.
const compareAlpha = 0.01

// minRuns is the smallest number of runs on each side with which the test can
// tell anything at compareAlpha.
const minRuns = 5

// A RunSet is what was measured several times in the same way.
type RunSet struct {
	Label string
	Runs  []*Result
}

// A Comparison is one set of runs beside another.
type Comparison struct {
	Schema string `json:"schema"`
	Base   string `json:"base"`
	New    string `json:"new"`
	// Differ are the settings that are not the same: what is compared.
	Differ  []string     `json:"differ"`
	Metrics []CompareRow `json:"metrics"`
}

// A CompareRow is one metric. Delta is relative to the base: 0.05 is 5 % more.
type CompareRow struct {
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Base   Center  `json:"base"`
	New    Center  `json:"new"`
	Delta  float64 `json:"delta"`
	P      float64 `json:"p"` // of the Mann-Whitney test
	// Verdict is "~" (noise), "better" or "worse".
	Verdict string `json:"verdict"`
	// Low and High bound Delta with 95 % confidence (bootstrap of the
	// medians over the runs).
	Low  float64 `json:"delta_low"`
	High float64 `json:"delta_high"`
	Note string  `json:"note,omitempty"`
}

// A Center is the median of N runs.
type Center struct {
	Median float64 `json:"median"`
	N      int     `json:"n"`
}

type metric struct {
	name, unit   string
	higherBetter bool
	of           func(*Result) float64
}

var compared = []metric{
	{"throughput", "operations/s", true, func(r *Result) float64 { return r.Rate.Achieved }},
	{"intended p50", "us", false, func(r *Result) float64 { return float64(r.Latency.Intended.P50) }},
	{"intended p99", "us", false, func(r *Result) float64 { return float64(r.Latency.Intended.P99) }},
	{"service p99", "us", false, func(r *Result) float64 { return float64(r.Latency.Service.P99) }},
}

// Compare tells what changed from base to new. Runs of unlike workloads are an
// error that names the settings: engine and client may differ, what is sent may
// not. Interrupted runs are an error too.
func Compare(base, new RunSet) (*Comparison, error) {
	if len(base.Runs) == 0 || len(new.Runs) == 0 {
		return nil, fmt.Errorf("compare %s and %s: a set has no runs", base.Label, new.Label)
	}
	first := base.Runs[0]
	for _, set := range []RunSet{base, new} {
		for _, r := range set.Runs {
			if unlike := unlikeWorkloads(first.Options, r.Options); len(unlike) > 0 {
				return nil, fmt.Errorf("compare %s and %s: unlike workloads: %s", base.Label, new.Label, strings.Join(unlike, ", "))
			}
			if r.Interrupted {
				return nil, fmt.Errorf("compare: a run of %s was interrupted; leave it out", set.Label)
			}
		}
	}
	c := &Comparison{Schema: CompareSchema, Base: base.Label, New: new.Label, Differ: clientsDiffer(first.Options, new.Runs[0].Options)}
	for _, m := range compared {
		c.Metrics = append(c.Metrics, m.compare(base.Runs, new.Runs))
	}
	return c, nil
}

func (m metric) compare(base, new []*Result) CompareRow {
	a, b := m.values(base), m.values(new)
	row := CompareRow{Metric: m.name, Unit: m.unit, Base: Center{median(a), len(a)}, New: Center{median(b), len(b)}, P: 1, Verdict: "~"}
	if row.Base.Median == 0 {
		row.Note = "the base is zero"
		return row
	}
	row.Delta = row.New.Median/row.Base.Median - 1
	row.Low, row.High = bootstrap(a, b)
	if len(a) < minRuns || len(b) < minRuns {
		row.Note = fmt.Sprintf("%d runs or more of each are needed to tell it from noise", minRuns)
		return row
	}
	row.P, row.Verdict = m.verdict(a, b)
	return row
}

// verdict tests whether two samples differ.
func (m metric) verdict(a, b []float64) (p float64, verdict string) {
	th := &benchmath.Thresholds{CompareAlpha: compareAlpha}
	test := benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(a), th), benchmath.NewSample(slices.Clone(b), th))
	delta := median(b) - median(a)
	switch {
	case math.IsNaN(test.P):
		return 1, "~"
	case test.P >= compareAlpha || delta == 0:
		return test.P, "~"
	case (delta > 0) == m.higherBetter:
		return test.P, "better"
	}
	return test.P, "worse"
}

func (m metric) values(runs []*Result) []float64 {
	out := make([]float64, len(runs))
	for i, r := range runs {
		out[i] = m.of(r)
	}
	return out
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// bootstrap is the 95 % interval of the relative difference of the medians. Its
// random numbers are always the same, so that a comparison can be repeated.
func bootstrap(a, b []float64) (low, high float64) {
	const rounds = 1000
	rnd := rand.New(rand.NewPCG(1, 2))
	draw := func(v, into []float64) float64 {
		for i := range into {
			into[i] = v[rnd.IntN(len(v))]
		}
		return median(into)
	}
	bufA, bufB := make([]float64, len(a)), make([]float64, len(b))
	deltas := make([]float64, 0, rounds)
	for range rounds {
		if base := draw(a, bufA); base != 0 {
			deltas = append(deltas, draw(b, bufB)/base-1)
		}
	}
	if len(deltas) == 0 {
		return 0, 0
	}
	slices.Sort(deltas)
	return deltas[len(deltas)*25/1000], deltas[min(len(deltas)*975/1000, len(deltas)-1)]
}

// unlikeWorkloads names the settings of the workload that differ.
func unlikeWorkloads(a, b Setup) []string {
	return differences(map[string][2]any{
		"rate": {a.Rate, b.Rate}, "duration": {a.DurationSeconds, b.DurationSeconds}, "workers": {a.Workers, b.Workers},
		"mix": {a.Mix, b.Mix}, "keys": {a.Keys, b.Keys}, "dist": {a.Dist, b.Dist}, "value size": {a.ValueSize, b.ValueSize},
		"preload": {a.Preload, b.Preload},
	})
}

// clientsDiffer names the settings that may be what is compared.
func clientsDiffer(a, b Setup) []string {
	return differences(map[string][2]any{
		"engine": {a.Engine, b.Engine}, "pipeline": {a.Pipeline, b.Pipeline}, "auto-pipeline": {a.AutoPipeline, b.AutoPipeline},
		"client": {a.Client, b.Client}, "cluster": {a.Addrs, b.Addrs},
	})
}

func differences(fields map[string][2]any) []string {
	out := []string{}
	for name, v := range fields {
		if !reflect.DeepEqual(v[0], v[1]) {
			out = append(out, fmt.Sprintf("%s %v and %v", name, v[0], v[1]))
		}
	}
	slices.Sort(out)
	return out
}

// WriteJSON writes the comparison, indented.
func (c *Comparison) WriteJSON(w io.Writer) error {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("bench compare: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// WriteText writes the comparison as a table.
func (c *Comparison) WriteText(w io.Writer) error {
	t := &textReport{}
	t.line("Base", "%s", c.Base)
	t.line("New", "%s", c.New)
	for _, d := range c.Differ {
		t.line("Differ", "%s", d)
	}
	rows := [][]string{{"", "base", "new", "change", "95 % interval", "p", "verdict"}}
	notes := []string{}
	for _, m := range c.Metrics {
		rows = append(rows, []string{m.Metric, quantity(m.Base.Median, m.Unit), quantity(m.New.Median, m.Unit), signed(m.Delta),
			signed(m.Low) + " to " + signed(m.High), strconv.FormatFloat(m.P, 'f', 3, 64), m.Verdict})
		if m.Note != "" && !slices.Contains(notes, m.Note) {
			notes = append(notes, m.Note)
		}
	}
	t.table(rows)
	fmt.Fprintf(&t.b, "  medians of %d and %d runs; ~ is noise (Mann-Whitney, p >= %v)\n", c.Metrics[0].Base.N, c.Metrics[0].New.N, compareAlpha)
	for _, n := range notes {
		fmt.Fprintf(&t.b, "  %s\n", n)
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

func quantity(v float64, unit string) string {
	if unit == "us" {
		return usecText(int64(v))
	}
	return rateText(v) + "/s"
}

func signed(f float64) string { return fmt.Sprintf("%+.1f %%", f*100) }

// WriteBenchstat writes runs in the format that benchstat reads: one line a
// run, named by its label.
func WriteBenchstat(w io.Writer, sets ...RunSet) error {
	var b strings.Builder
	b.WriteString("Unit op/s better=higher\n")
	for _, s := range sets {
		label := strings.Map(func(r rune) rune {
			if r <= ' ' {
				return '_'
			}
			return r
		}, s.Label)
		for _, r := range s.Runs {
			fmt.Fprintf(&b, "BenchmarkCluster/set=%s %d %s op/s", label, max(r.Operations, 1), formatFloat(r.Rate.Achieved))
			for _, m := range compared[1:] {
				fmt.Fprintf(&b, " %s %s", formatFloat(m.of(r)*1000), "ns-"+strings.ReplaceAll(m.name, " ", "-"))
			}
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
