package bench

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// An Assertion is one clause that a result must satisfy, such as "p99<5ms".
type Assertion struct {
	text    string
	metric  string
	op      string
	limit   float64 // µs, operations, or a share, as the metric has it
	percent bool
	word    string // for books
}

var clauseForm = regexp.MustCompile(`^([a-z0-9_.]+)(<=|>=|!=|==|=|<|>)(.+)$`)

const assertionHelp = "want metric, comparison, value, such as p99<5ms, service.p99<2ms, moved<0.1%, errors=0, rate>=0.99, throughput>20000, books=closed"

// ParseAssertions reads clauses separated by commas. The metrics are
//
//   - p50, p95, p99, p999, max, mean of the intended latency, and the same
//     after "service.", with a duration;
//   - errors, dropped, moved, ask, tryagain, clusterdown: a number, or a share
//     of the operations with "%";
//   - rate: achieved over wanted operations a second, a number or "%";
//   - throughput: achieved operations a second;
//   - books: closed or open, with = or !=.
func ParseAssertions(s string) ([]Assertion, error) {
	var out []Assertion
	for clause := range strings.SplitSeq(s, ",") {
		a, err := parseClause(strings.ReplaceAll(strings.TrimSpace(clause), " ", ""))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", clause, err)
		}
		out = append(out, a)
	}
	return out, nil
}

func parseClause(s string) (Assertion, error) {
	m := clauseForm.FindStringSubmatch(s)
	if m == nil {
		return Assertion{}, fmt.Errorf("%s", assertionHelp)
	}
	a := Assertion{text: s, metric: m[1], op: strings.Replace(m[2], "==", "=", 1)}
	switch kind := metricKind(a.metric); kind {
	case "duration":
		d, err := time.ParseDuration(m[3])
		if err != nil || d < 0 {
			return a, fmt.Errorf("%s needs a duration such as 5ms", a.metric)
		}
		a.limit = float64(d) / float64(time.Microsecond)
	case "count", "number", "ratio":
		num, percent := strings.CutSuffix(m[3], "%")
		v, err := strconv.ParseFloat(num, 64)
		if err != nil || v < 0 || v > 1e15 || v != v {
			return a, fmt.Errorf("%s needs a number such as 0.99 or 0", a.metric)
		}
		if percent && kind == "number" {
			return a, fmt.Errorf("%s takes no %%; use rate for a share of the wanted rate", a.metric)
		}
		a.limit, a.percent = v, percent
		if percent {
			a.limit = v / 100
		}
	case "word":
		if m[3] != "closed" && m[3] != "open" || a.op != "=" && a.op != "!=" {
			return a, fmt.Errorf("want books=closed or books=open")
		}
		a.word = m[3]
	default:
		return a, fmt.Errorf("unknown metric %q: %s", a.metric, assertionHelp)
	}
	return a, nil
}

func metricKind(metric string) string {
	switch strings.TrimPrefix(metric, "service.") {
	case "p50", "p95", "p99", "p999", "max", "mean":
		return "duration"
	}
	switch metric {
	case "errors", "dropped", "moved", "ask", "tryagain", "clusterdown":
		return "count"
	case "rate":
		return "ratio"
	case "throughput":
		return "number"
	case "books":
		return "word"
	}
	return ""
}

// Check tells whether the result satisfies the clause; got is the value that
// was compared, with its unit. A latency of a run without a single success
// satisfies nothing, nor does a rate of a closed loop.
func (a Assertion) Check(r *Result) (ok bool, got string) {
	if a.metric == "books" {
		return (r.Books.State == a.word) == (a.op == "="), r.Books.State
	}
	v, unit, known := a.value(r)
	if !known {
		return false, unit
	}
	switch {
	case a.percent || unit == "%":
		got = strconv.FormatFloat(v*100, 'g', 4, 64) + "%"
	case unit == "µs":
		got = usecText(int64(v))
	default:
		got = formatFloat(v) + unit
	}
	switch a.op {
	case "<":
		ok = v < a.limit
	case "<=":
		ok = v <= a.limit
	case ">":
		ok = v > a.limit
	case ">=":
		ok = v >= a.limit
	case "=":
		ok = v == a.limit
	case "!=":
		ok = v != a.limit
	}
	return ok, got
}

// value is the metric's value and unit, or the reason why there is none.
func (a Assertion) value(r *Result) (v float64, unit string, known bool) {
	c := r.Redirects.Client
	switch a.metric {
	case "errors":
		return a.share(r.Errors, r.Operations)
	case "dropped":
		return a.share(r.Dropped, r.Operations+r.Dropped)
	case "moved":
		return a.share(c.Moved, r.Operations)
	case "ask":
		return a.share(c.Ask, r.Operations)
	case "tryagain":
		return a.share(c.TryAgain, r.Operations)
	case "clusterdown":
		return a.share(c.ClusterDown, r.Operations)
	case "throughput":
		return r.Rate.Achieved, "/s", true
	case "rate":
		if r.Rate.Wanted == 0 {
			return 0, "a closed loop has no wanted rate", false
		}
		return r.Rate.Achieved / r.Rate.Wanted, "", true
	}
	p := r.Latency.Intended
	if strings.HasPrefix(a.metric, "service.") {
		p = r.Latency.Service
	}
	if p.Count == 0 {
		return 0, "no operation succeeded", false
	}
	return map[string]float64{
		"p50": float64(p.P50), "p95": float64(p.P95), "p99": float64(p.P99),
		"p999": float64(p.P999), "max": float64(p.Max), "mean": p.Mean,
	}[strings.TrimPrefix(a.metric, "service.")], "µs", true
}

func (a Assertion) share(n, of uint64) (float64, string, bool) {
	if !a.percent {
		return float64(n), "", true
	}
	if of == 0 {
		return 0, "no operation ended", false
	}
	return float64(n) / float64(of), "%", true
}

// String is the clause as it was written, without spaces.
func (a Assertion) String() string { return a.text }
