package bench

import (
	"strings"
	"testing"
)

func TestAssertionsCompareTheResult(t *testing.T) {
	r := &Result{
		Operations: 10_000, Errors: 3,
		Rate:      Rate{Wanted: 1000, Achieved: 995},
		Latency:   Latencies{Service: Percentiles{Count: 1, P99: 900, Max: 2000}, Intended: Percentiles{Count: 1, P99: 4200, Mean: 310.5}},
		Redirects: Redirects{Client: ClientRedirects{Moved: 26}},
		Books:     Books{State: "closed"},
	}
	for clause, want := range map[string]string{
		"p99<5ms":          "",
		"p99 < 5ms":        "",
		"p99<4200us":       "4.20 ms",
		"service.p99<=1ms": "",
		"service.max<1ms":  "2.00 ms",
		"mean>300us":       "",
		"errors=0":         "3",
		"errors<=3":        "",
		"errors<0.1%":      "",
		"errors<0.01%":     "0.03%",
		"moved<0.1%":       "0.26%",
		"moved=26":         "",
		"ask=0":            "",
		"rate>=0.99":       "",
		"rate>=99.9%":      "99.5%",
		"throughput>900":   "",
		"throughput>2000":  "995/s",
		"dropped=0":        "",
		"books=closed":     "",
		"books!=closed":    "closed",
	} {
		as, err := ParseAssertions(clause)
		if err != nil {
			t.Errorf("%s: %v", clause, err)
			continue
		}
		ok, got := as[0].Check(r)
		if ok != (want == "") || want != "" && got != want {
			t.Errorf("%s: %v, got %q; want %q", clause, ok, got, want)
		}
	}
}

func TestAssertionsAboutNothingFail(t *testing.T) {
	r := &Result{}
	as, err := ParseAssertions("p99<5ms,rate>=0.9,errors<1%")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range as {
		if ok, got := a.Check(r); ok || got == "" {
			t.Errorf("%s holds for a run without operations (%q)", a, got)
		}
	}
}

func TestBadAssertionsSayWhatIsWanted(t *testing.T) {
	for in, want := range map[string]string{
		"":                "want metric",
		"p99":             "want metric",
		"p99<5":           "needs a duration",
		"p98<5ms":         "unknown metric",
		"errors=none":     "needs a number",
		"throughput>50%":  "takes no %",
		"books>closed":    "books=closed",
		"books=balanced":  "books=closed",
		"p99<5ms,":        "want metric",
		"rate>=NaN":       "needs a number",
		"service.rate>=1": "unknown metric",
	} {
		if _, err := ParseAssertions(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", in, err, want)
		}
	}
}

func FuzzParseAssertions(f *testing.F) {
	f.Add("p99<5ms,moved<0.1%,errors=0,rate>=0.99,books=closed")
	f.Fuzz(func(t *testing.T, s string) {
		as, err := ParseAssertions(s)
		if err != nil {
			return
		}
		for _, a := range as {
			a.Check(&Result{})
		}
	})
}

func FuzzParseMix(f *testing.F) {
	f.Add("get=90,set=10")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseMix(s)
		if err != nil {
			return
		}
		again, err := ParseMix(m.String())
		if err != nil || again.String() != m.String() {
			t.Errorf("%q reads as %q, and that as %q, %v", s, m, again, err)
		}
	})
}
