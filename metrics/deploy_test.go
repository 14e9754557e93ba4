package metrics

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	rulesDir   = "../deploy/prometheus"
	grafanaDir = "../deploy/grafana"
)

// promtool runs Prometheus' checker; without one the test is skipped unless
// RCCTL_REQUIRE_PROMTOOL=1.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("RCCTL_REQUIRE_PROMTOOL") == "1" {
			t.Fatal("promtool is not on PATH: install the package prometheus")
		}
		t.Skip("promtool is not on PATH: install the package prometheus")
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestTheRulesPassPromtool(t *testing.T) {
	promtool(t, rulesDir, "check", "config", "prometheus.yml") // and its rules
	promtool(t, rulesDir, "test", "rules", "rules_test.yml", "rules_day_test.yml")
}

// Every alert has a runbook in three parts, and a unit test.
func TestEveryAlertHasARunbookAndATest(t *testing.T) {
	rules := read(t, filepath.Join(rulesDir, "rules.yml"))
	tests := read(t, filepath.Join(rulesDir, "rules_test.yml")) + read(t, filepath.Join(rulesDir, "rules_day_test.yml"))
	alerts := strings.Split(rules, "- alert: ")[1:]
	if len(alerts) < 10 {
		t.Fatalf("%d alerts", len(alerts))
	}
	for _, a := range alerts {
		name, _, _ := strings.Cut(a, "\n")
		for _, part := range []string{"What it means: ", "What to look at: ", "What to do: ", "severity: ", "summary: "} {
			if !strings.Contains(a, part) {
				t.Errorf("%s has no %q", name, part)
			}
		}
		if !strings.Contains(tests, `alertname="`+name+`"`) {
			t.Errorf("%s never fires in a unit test", name)
		}
	}
}

var (
	metricName = regexp.MustCompile(`rcctl_[a-z0-9_]+`)
	selector   = regexp.MustCompile(`(rcctl_[a-z0-9_]+)\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`([a-z_]+)\s*[=!]`)
)

// badNames are the metrics that a text names and that do not exist, and labels
// of metrics that do not have them.
func badNames(text string) (bad []string) {
	labels := map[string][]string{}
	for _, g := range groups {
		for _, s := range g.specs {
			have := append(slices.Clone(s.labels), g.owner, "job", "instance")
			labels[s.name] = have
			if s.kind == histogram {
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					labels[s.name+suffix] = append(slices.Clone(have), "le")
				}
			}
		}
	}
	for _, name := range metricName.FindAllString(text, -1) {
		if labels[name] == nil {
			bad = append(bad, name)
		}
	}
	for _, m := range selector.FindAllStringSubmatch(text, -1) {
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(labels[m[1]], l[1]) {
				bad = append(bad, m[1]+"{"+l[1]+"}")
			}
		}
	}
	return bad
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRulesNameOnlyMetricsAndLabelsThatExist(t *testing.T) {
	for _, f := range []string{"rules.yml", "rules_test.yml", "rules_day_test.yml"} {
		if bad := badNames(read(t, filepath.Join(rulesDir, f))); len(bad) > 0 {
			t.Errorf("%s: %v", f, bad)
		}
	}
	if bad := badNames(`rcctl_nope + rcctl_server_up{key="x"}`); len(bad) != 2 {
		t.Errorf("the check itself misses things: %v", bad)
	}
}

// expressions are the queries of a dashboard.
func expressions(t *testing.T, file string) (out []string) {
	t.Helper()
	var d struct {
		Title  string
		UID    string
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, file)), &d); err != nil || d.Title == "" || d.UID == "" {
		t.Fatalf("%s: %v", file, err)
	}
	for _, p := range d.Panels {
		if p.Type != "row" && p.Type != "text" && len(p.Targets) == 0 {
			t.Errorf("%s: panel %q asks nothing", file, p.Title)
		}
		for _, q := range p.Targets {
			out = append(out, q.Expr)
		}
	}
	return out
}

func TestDashboardsNameOnlyMetricsThatExistAndTheirExpressionsParse(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(grafanaDir, "*.json"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%v %v, want overview, pool, stampede, cluster", files, err)
	}
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboards\n  rules:\n")
	n := 0
	for _, f := range files {
		if bad := badNames(read(t, f)); len(bad) > 0 {
			t.Errorf("%s: %v", f, bad)
		}
		for _, e := range expressions(t, f) {
			e = strings.ReplaceAll(e, "$__rate_interval", "5m")
			fmt.Fprintf(&rules, "  - record: dashboard:expression%d\n    expr: %q\n", n, e)
			n++
		}
	}
	file := filepath.Join(t.TempDir(), "dashboards.yml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	promtool(t, ".", "check", "rules", file)
	t.Logf("%d expressions", n)
}
