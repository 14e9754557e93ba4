package doctor

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A recorded case: a snapshot of a real host and cluster (testdata/BASE.json),
// a JSON merge patch (RFC 7386) that says what is different, and what the
// check must make of it.
type recordedCase struct {
	Base    string
	Patch   any
	Outcome Outcome // the worst of the check's findings
	Says    []string
}

func loadJSON(t testing.TB, name string, v any) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// snapshotOf is a base with a patch.
func snapshotOf(t testing.TB, base string, patch any) *Snapshot {
	t.Helper()
	if bases[base] == nil {
		var doc any
		loadJSON(t, filepath.Join("testdata", base+".json"), &doc)
		bases[base] = doc
	}
	b, err := json.Marshal(mergePatch(bases[base], patch))
	if err != nil {
		t.Fatal(err)
	}
	var s Snapshot
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

var bases = map[string]any{}

// mergePatch leaves its arguments as they are.
func mergePatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		if patch == nil {
			return target
		}
		return patch
	}
	out := map[string]any{}
	if t, ok := target.(map[string]any); ok {
		maps.Copy(out, t)
	}
	for k, v := range p {
		if v == nil {
			delete(out, k)
			continue
		}
		out[k] = mergePatch(out[k], v)
	}
	return out
}

// worst is the worst outcome of findings.
func worst(fs []Finding) Outcome {
	w := OK
	for _, f := range fs {
		if slices.Index(outcomes, f.Outcome) < slices.Index(outcomes, w) {
			w = f.Outcome
		}
	}
	return w
}

func TestEveryCheckHasARecordedPassAndARecordedFailure(t *testing.T) {
	for _, c := range Checks() {
		t.Run(c.ID, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join("testdata", c.ID, "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			var passes, fails bool
			for _, file := range files {
				var rc recordedCase
				loadJSON(t, file, &rc)
				s := snapshotOf(t, rc.Base, rc.Patch)
				got := c.run(s)
				if w := worst(got); w != rc.Outcome {
					t.Errorf("%s: outcome %s, want %s\n%+v", file, w, rc.Outcome, got)
				}
				text, _ := json.Marshal(got)
				for _, says := range rc.Says {
					if !strings.Contains(strings.ReplaceAll(string(text), `\u003e`, ">"), says) {
						t.Errorf("%s: nothing says %q\n%+v", file, says, got)
					}
				}
				passes = passes || rc.Outcome == OK
				fails = fails || rc.Outcome == Fail || rc.Outcome == Warn || rc.Outcome == Info
				for _, f := range got {
					if slices.Index(outcomes, f.Outcome) < slices.Index(outcomes, c.Severity) {
						t.Errorf("%s: outcome %s is worse than the severity %s", file, f.Outcome, c.Severity)
					}
				}
			}
			if !passes || !fails {
				t.Errorf("testdata/%s needs a snapshot that passes (has one: %v) and one that does not (has one: %v)", c.ID, passes, fails)
			}
		})
	}
}

func TestTestdataBelongsToChecks(t *testing.T) {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == "fuzz" {
			continue
		}
		if _, err := Find(e.Name()); err != nil {
			t.Errorf("testdata/%s: %v", e.Name(), err)
		}
	}
}

func TestTheRecordedClusterHasNothingThatFails(t *testing.T) {
	for _, base := range []string{"cluster", "host"} {
		r, err := Judge(snapshotOf(t, base, nil), Selection{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			if f.Outcome == Fail || f.Outcome == Broken {
				t.Errorf("%s: %+v", base, f)
			}
		}
		if code := r.ExitCode(false); code != 0 {
			t.Errorf("%s: exit code %d", base, code)
		}
	}
}

func TestEveryCheckIsInEveryReport(t *testing.T) {
	for name, s := range map[string]*Snapshot{
		"empty":   {ClusterReason: "none", ServersReason: "none"},
		"host":    snapshotOf(t, "host", nil),
		"cluster": snapshotOf(t, "cluster", nil),
		"no node answers": snapshotOf(t, "cluster", map[string]any{"cluster": map[string]any{"nodes": map[string]any{
			"127.0.0.1:12300": nil, "127.0.0.1:12301": nil, "127.0.0.1:12302": nil, "127.0.0.1:12303": nil, "127.0.0.1:12304": nil, "127.0.0.1:12305": nil}}}),
	} {
		r, err := Judge(s, Selection{})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, f := range r.Findings {
			seen[f.ID] = true
			if f.Outcome == Broken {
				t.Errorf("%s: %s is broken: %s", name, f.ID, f.Reason)
			}
			if f.Outcome == Skipped && f.Reason == "" {
				t.Errorf("%s: %s is skipped without a reason", name, f.ID)
			}
			if f.Scope == "" || f.Why == "" || f.Severity == "" {
				t.Errorf("%s: %s lacks scope, why or severity: %+v", name, f.ID, f)
			}
		}
		for _, c := range Checks() {
			if !seen[c.ID] {
				t.Errorf("%s: %s is missing", name, c.ID)
			}
		}
	}
}

func TestJudgingIsPure(t *testing.T) {
	s := snapshotOf(t, "cluster", nil)
	before, _ := json.Marshal(s)
	one, _ := Judge(s, Selection{})
	two, _ := Judge(s, Selection{})
	after, _ := json.Marshal(s)
	if string(before) != string(after) {
		t.Error("judging changed the snapshot")
	}
	a, _ := json.Marshal(one)
	b, _ := json.Marshal(two)
	if string(a) != string(b) {
		t.Error("judging twice gives two reports")
	}
}

func TestACheckThatPanicsIsBrokenAndTheOthersStillRun(t *testing.T) {
	c := &Check{ID: "Z99", Title: "t", Severity: Warn, Why: "w", Fix: "f", Run: func(*Snapshot) []Finding { panic("oops") }}
	got := c.run(&Snapshot{})
	if len(got) != 1 || got[0].Outcome != Broken || !strings.Contains(got[0].Reason, "oops") {
		t.Errorf("%+v", got)
	}
	silent := &Check{ID: "Z98", Title: "t", Severity: Warn, Why: "w", Fix: "f", Run: func(*Snapshot) []Finding { return nil }}
	if got := silent.run(&Snapshot{}); len(got) != 1 || got[0].Outcome != Broken {
		t.Errorf("a silent check: %+v", got)
	}
	var r Report
	r.add(Finding{Outcome: Broken})
	if r.ExitCode(false) != 3 {
		t.Errorf("exit code %d, want 3", r.ExitCode(false))
	}
}

func TestChecksAreSelectedByIDInAnyForm(t *testing.T) {
	s := snapshotOf(t, "host", nil)
	r, err := Judge(s, Selection{Only: []string{"rc-t07", "L03"}, Skip: []string{"RC-L03"}})
	if err != nil || len(r.Findings) != 1 || r.Findings[0].ID != "T07" {
		t.Errorf("%v %+v", err, r.Findings)
	}
	if _, err := Judge(s, Selection{Only: []string{"T999"}}); err == nil || !strings.Contains(err.Error(), "doctor list") {
		t.Errorf("unknown id: %v", err)
	}
}

func TestNoTextLineIsWiderThanTheTerminalUnlessAWordIs(t *testing.T) {
	s := snapshotOf(t, "cluster", map[string]any{"host": map[string]any{"settings": map[string]any{"vm.overcommit_memory": map[string]any{"value": "0"}}}})
	r, _ := Judge(s, Selection{})
	for _, color := range []bool{false, true} {
		var b strings.Builder
		if err := WriteText(&b, r, TextOptions{Color: color, ASCII: true}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "\x1b") != color {
			t.Errorf("color=%v is not honoured", color)
		}
		for _, l := range strings.Split(b.String(), "\n") {
			if !color && len(l) > 80 && len(strings.Fields(l)) > 2 {
				t.Errorf("%d columns: %q", len(l), l)
			}
		}
	}
}

func TestPortSetsJoinNeighboursAndKeepWhatIsReserved(t *testing.T) {
	p, err := parsePorts("8080,9000-9010")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.with([]int{9011, 17000, 17001, 8080}).String(); got != "8080,9000-9011,17000-17001" {
		t.Errorf("got %s", got)
	}
	if !p.has(9005) || p.has(9011) {
		t.Error("has is wrong")
	}
	if _, err := parsePorts("80,x"); err == nil {
		t.Error("no error for a bad list")
	}
}

var update = flag.Bool("update", false, "write generated files anew")

func TestThePageOfChecksIsUpToDate(t *testing.T) {
	var b bytes.Buffer
	if err := WriteCatalogue(&b); err != nil {
		t.Fatal(err)
	}
	const page = "../../docs/checks.md"
	if *update {
		if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil || !bytes.Equal(have, b.Bytes()) {
		t.Errorf("docs/checks.md is stale (%v): run go test ./internal/doctor -update", err)
	}
}

func TestEveryFormatCarriesTheSameFindings(t *testing.T) {
	s := snapshotOf(t, "cluster", map[string]any{"shell": map[string]any{"limits": map[string]any{"Max open files": map[string]any{"soft": 1, "hard": 1}}}})
	r, _ := Judge(s, Selection{})
	if r.ExitCode(false) != 1 || r.NagiosCode(false) != 2 {
		t.Fatalf("codes %d and %d", r.ExitCode(false), r.NagiosCode(false))
	}
	for name, write := range map[string]func(w *bytes.Buffer) error{
		"text":   func(w *bytes.Buffer) error { return WriteText(w, r, TextOptions{}) },
		"short":  func(w *bytes.Buffer) error { return WriteShort(w, r) },
		"json":   func(w *bytes.Buffer) error { return WriteJSON(w, r) },
		"prom":   func(w *bytes.Buffer) error { return WriteProm(w, r) },
		"nagios": func(w *bytes.Buffer) error { return WriteNagios(w, r, false) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "L03") {
			t.Errorf("%s does not show what fails:\n%s", name, b.String())
		}
	}
}

func TestADifferenceShowsWhatGotWorse(t *testing.T) {
	old, now := snapshotOf(t, "host", nil), snapshotOf(t, "host", map[string]any{"shell": map[string]any{"limits": map[string]any{"Max open files": map[string]any{"soft": 1, "hard": 1}}}})
	d, err := Diff(old, now)
	if err != nil || !d.Worse || len(d.Changes) != 1 || d.Changes[0].ID != "L03" {
		t.Errorf("%v %+v", err, d)
	}
	if d, _ := Diff(now, old); d.Worse || len(d.Changes) != 1 {
		t.Errorf("the other way: %+v", d)
	}
	if d, _ := Diff(old, old); len(d.Changes) != 0 {
		t.Errorf("the same: %+v", d)
	}
}

func TestAFleetReportNamesHostsAndWhatDiffers(t *testing.T) {
	a := snapshotOf(t, "host", nil)
	b := snapshotOf(t, "host", map[string]any{"host": map[string]any{"name": "app-2", "net": map[string]any{"settings": map[string]any{"net.core.somaxconn": map[string]any{"value": "128"}}}}})
	r, err := JudgeAll([]*Snapshot{a, b}, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	var warned, skewed bool
	for _, f := range r.Findings {
		warned = warned || (f.ID == "T01" && f.Outcome == Warn && f.Host == "app-2")
		skewed = skewed || (f.ID == "K02" && f.Subject == "net.core.somaxconn" && strings.Contains(f.Current, "128 on app-2"))
	}
	if !warned || !skewed {
		t.Errorf("warned %v, skewed %v: %+v", warned, skewed, r.Findings)
	}
}

func TestMapAddrReadsEntriesAsPoolDoes(t *testing.T) {
	m := map[string]string{"10.0.0.1:7000": "127.0.0.1:9000", "10.0.0.2:7000": "gate", "10.0.0.3": "gate:9000", "10.0.0.4": "::1", "10.0.0.2": "other"}
	for announced, want := range map[string]string{
		"10.0.0.1:7000": "127.0.0.1:9000", "10.0.0.1:7001": "10.0.0.1:7001", "10.0.0.2:7000": "gate:7000", "10.0.0.2:7001": "other:7001",
		"10.0.0.3:7000": "gate:9000", "10.0.0.4:7000": "[::1]:7000", "no port": "no port", "[::1]:7000": "[::1]:7000",
	} {
		if got := MapAddr(m, announced); got != want {
			t.Errorf("%s is dialed as %s, want %s", announced, got, want)
		}
	}
}
