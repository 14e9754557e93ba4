package bench

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestAResultWithoutASingleSuccessIsValidJSON(t *testing.T) {
	r := &Result{Schema: Schema, Options: setup(Options{Duration: time.Second}.withDefaults()), Operations: 5, Errors: 5,
		ErrorKinds: map[string]uint64{"timeout": 5}, Rate: Rate{Wanted: 100, Achieved: perSecond(0, 0)}, Books: ledger{}.close()}
	r.LimitedBy, r.Evidence = judge(r)
	r.HDR = Encoded{encode(makeHistogram()), encode(makeHistogram())}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b.Bytes()) {
		t.Fatalf("not valid JSON: %s", b.String())
	}
	back, err := ReadResult(&b)
	if err != nil || back.Errors != 5 || back.Books.State != "closed" {
		t.Errorf("read back %+v, %v", back, err)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || strings.Contains(text.String(), "NaN") {
		t.Errorf("text %q, %v", text.String(), err)
	}
}

func TestTheNamesOfTheJSONFieldsStay(t *testing.T) {
	var b bytes.Buffer
	if err := (&Result{Schema: Schema, Books: ledger{}.close()}).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"schema", "operations", "errors", "limited_by", "interrupted",
		"redirects.client.moved", "redirects.client.ask", "redirects.client.tryagain", "redirects.client.clusterdown",
		"redirects.server.moved", "redirects.server.ask",
		"books.state", "books.reasons", "books.unexplained", "rate.wanted", "rate.achieved",
		"latency_us.service.p50", "latency_us.service.p95", "latency_us.service.p99", "latency_us.service.p999", "latency_us.service.max",
		"latency_us.intended.p50", "latency_us.intended.p95", "latency_us.intended.p99", "latency_us.intended.p999", "latency_us.intended.max",
	} {
		var at any = m
		for _, k := range strings.Split(path, ".") {
			obj, ok := at.(map[string]any)
			if !ok {
				t.Fatalf("%s: %v is no object", path, at)
			}
			if at, ok = obj[k]; !ok {
				t.Errorf("there is no .%s", path)
			}
		}
	}
}

func TestAnotherSchemaIsRefused(t *testing.T) {
	if _, err := ReadResult(strings.NewReader(`{"schema":"rcctl.bench.v9"}`)); err == nil || !strings.Contains(err.Error(), "rcctl.bench.v9") {
		t.Errorf("error %v", err)
	}
}

func TestHistogramsSurviveEncoding(t *testing.T) {
	h := makeHistogram()
	for i := 1; i <= 1000; i++ {
		h.record(time.Duration(i)*time.Millisecond, 1)
	}
	raw, err := base64.StdEncoding.DecodeString(encode(h))
	if err != nil {
		t.Fatal(err)
	}
	back, err := hdrhistogram.Decode(raw)
	if err != nil || back.TotalCount() != 1000 || back.ValueAtPercentile(50) != h.h.ValueAtPercentile(50) {
		t.Errorf("decoded %v, %v", back, err)
	}
}

func TestEveryWrongOptionIsNamedWithItsFix(t *testing.T) {
	err := Options{Engine: "x", Rate: -1, Keys: -5, Prefix: "{a}", Workers: -7, Dist: Dist{Name: "cauchy"}}.Validate()
	for _, want := range []string{"Engine x", "Rate -1", "Duration 0s", "Keys -5", "Prefix {a}", "Workers -7", "Dist cauchy"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not have %q", err, want)
		}
	}
	if err := (Options{Duration: time.Second}).Validate(); err != nil {
		t.Errorf("the defaults are wrong: %v", err)
	}
}
