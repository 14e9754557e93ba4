package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/bench"
	"github.com/rcctl/rcctl/clustertest"
)

func TestBenchNamesEveryWrongFlagWithItsFix(t *testing.T) {
	for _, tc := range []struct{ flag, value, fix string }{
		{"rate", "-1", "closed loop"},
		{"rate", "NaN", "operations per second"},
		{"duration", "0", "at least 100ms"},
		{"duration", "-5s", "at least 100ms"},
		{"warmup", "-1s", "0 or more"},
		{"keys", "0", "1 or more"},
		{"keys", "-3", "1 to"},
		{"value-size", "0", "1 or more"},
		{"pipeline", "0", "1 or more"},
		{"workers", "0", "or unlimited"},
		{"workers", "many", "or unlimited"},
		{"engine", "jedis", "pool or go-redis"},
		{"mix", "get=x", "get=90,set=10"},
		{"mix", "flushall=1", "get or set"},
		{"dist", "gauss", "uniform, zipf"},
		{"theta", "2", "0.99"},
		{"prefix", "{x}", "braces"},
		{"read-timeout", "0", "300ms"},
		{"pool-size", "0", "1 to 10000"},
		{"assert", "p99<fast", "duration such as 5ms"},
		{"out", "/no/such/dir/run.json", "no such file"},
	} {
		r := runApp(t.Context(), "bench", "--cluster", "127.0.0.1:1", "--"+tc.flag+"="+tc.value)
		if r.code != exitUsage || !strings.Contains(r.stderr, "--"+tc.flag) || !strings.Contains(r.stderr, tc.fix) || r.stdout != "" {
			t.Errorf("--%s=%s: exit %d, %q: want %d, the flag and %q", tc.flag, tc.value, r.code, r.stderr, exitUsage, tc.fix)
		}
	}
}

func TestBenchOfNothingThereIsNoReport(t *testing.T) {
	begin := time.Now()
	r := runApp(t.Context(), "bench", "--cluster", "127.0.0.1:1", "-o", "json")
	if r.code != exitUnknown || r.stdout != "" || !strings.Contains(r.stderr, "127.0.0.1:1") {
		t.Errorf("exit %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestBenchReportsAndAsserts(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
	out := filepath.Join(t.TempDir(), "run.json")
	base := []string{"--cluster", c.Addrs()[0], "--rate", "500", "--duration", "1s", "--keys", "500"}

	r := runApp(t.Context(), append([]string{"bench", "run", "--out", out, "--assert", "errors=0,rate>=0.5,books=closed"}, base...)...)
	if r.code != exitOK || !strings.Contains(r.stdout, "Limited by") || r.stderr != "" {
		t.Errorf("exit %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	saved, err := bench.ReadResult(f)
	if err != nil || saved.Operations != 500 || saved.Version == "" {
		t.Errorf("saved result %+v, %v", saved, err)
	}

	r = runApp(t.Context(), append([]string{"bench", "-o", "json", "--assert", "errors=0,throughput>1000000"}, base...)...)
	if r.code != exitFindings || !strings.Contains(r.stderr, "throughput>1000000") || !strings.Contains(r.stderr, "it is ") {
		t.Errorf("exit %d, stderr %q: want %d with clause and value", r.code, r.stderr, exitFindings)
	}
	var v struct {
		Schema     string
		Operations int
		Books      struct{ State string }
	}
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil || v.Schema != bench.Schema || v.Operations != 500 || v.Books.State != "closed" {
		t.Errorf("%v: %+v", err, v)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(out), ".rcctl-bench-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind %q, %v", left, err)
	}
}

func TestBenchScenariosDoTheirFaultToAClusterOfTheirOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("runs two scenarios on clusters of real servers")
	}
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"reshard", "--lab", "--slots", "50", "--duration", "3s"}, []string{"50 slots went from", "no operation failed after the fault", "Books       closed"}},
		{[]string{"failover", "--lab", "--fault", "failover", "--duration", "3s"}, []string{"CLUSTER FAILOVER", "is a master now", "Recovery"}},
	} {
		r := runApp(t.Context(), append([]string{"bench"}, tc.args...)...)
		if r.code == exitUnknown && strings.Contains(r.stderr, clustertest.ErrNoServer.Error()) && os.Getenv("RCCTL_REQUIRE_REDIS") != "1" {
			t.Skip(r.stderr)
		}
		if r.code != exitOK {
			t.Errorf("%v: exit %d, %s", tc.args, r.code, r.stderr)
		}
		for _, w := range tc.want {
			if !strings.Contains(r.stdout, w) {
				t.Errorf("%v: %q is not in\n%s", tc.args, w, r.stdout)
			}
		}
	}
}

func TestBenchScenariosWantExactlyOneCluster(t *testing.T) {
	for _, args := range [][]string{{"reshard"}, {"failover", "--lab", "--cluster", "127.0.0.1:1"}, {"reshard", "--lab", "--slots", "0"}, {"failover", "--lab", "--fault", "fire"}} {
		if r := runApp(t.Context(), append([]string{"bench"}, args...)...); r.code != exitUsage {
			t.Errorf("%v: exit %d, %q", args, r.code, r.stderr)
		}
	}
}

func TestBenchStormAndStampedeReportInBothForms(t *testing.T) {
	if testing.Short() {
		t.Skip("runs each scenario twice; package bench tests what they measure")
	}
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
	storm := []string{"bench", "storm", "--cluster", c.Addrs()[0], "--workers", "20", "--duration", "200ms", "--pool-sizes", "1,8", "--keys", "100"}
	herd := []string{"bench", "stampede", "--cluster", c.Addrs()[0], "--workers", "4", "--ttls", "200ms", "--load", "50ms", "--expiries", "2", "--guards", "none,lockcluster"}
	for _, tc := range []struct {
		args         []string
		text, schema string
	}{{storm, "Knee", bench.StormSchema}, {herd, "loads per expiry", bench.StampedeSchema}} {
		if r := runApp(t.Context(), tc.args...); r.code != exitOK || !strings.Contains(r.stdout, tc.text) {
			t.Errorf("%v: exit %d\n%s\n%s", tc.args, r.code, r.stdout, r.stderr)
		}
		r := runApp(t.Context(), append(tc.args, "-o", "json")...)
		var v struct{ Schema string }
		if err := json.Unmarshal([]byte(r.stdout), &v); r.code != exitOK || err != nil || v.Schema != tc.schema {
			t.Errorf("%v: exit %d, %v, schema %q", tc.args, r.code, err, v.Schema)
		}
	}
	for _, args := range [][]string{
		{"storm", "--cluster", "127.0.0.1:1", "--pool-sizes", "0"}, {"stampede", "--cluster", "127.0.0.1:1", "--ttls", "soon"},
		{"stampede", "--cluster", "127.0.0.1:1", "--guards", "hope"}, {"stampede", "--cluster", "127.0.0.1:1", "--ttls", "100ms"},
	} {
		if r := runApp(t.Context(), append([]string{"bench"}, args...)...); r.code != exitUsage || !strings.Contains(r.stderr, args[3]) {
			t.Errorf("%v: exit %d, %q", args, r.code, r.stderr)
		}
	}
}

func TestBenchCompareReadsFilesDirectoriesAndPatterns(t *testing.T) {
	dir := t.TempDir()
	for _, set := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, set), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, n := range []string{"1", "2", "3", "4", "5"} {
			doc := `{"schema":"rcctl.bench.v1","operations":10,"rate":{"achieved":10` + n + map[string]string{"a": "", "b": "0"}[set] + `}}`
			if err := os.WriteFile(filepath.Join(dir, set, n+".json"), []byte(doc), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b", "*.json")
	if r := runApp(t.Context(), "bench", "compare", a, b); r.code != exitOK || !strings.Contains(r.stdout, "better") {
		t.Errorf("exit %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
	var c bench.Comparison
	if r := runApp(t.Context(), "bench", "compare", a, b, "-o", "json"); json.Unmarshal([]byte(r.stdout), &c) != nil || c.Schema != bench.CompareSchema {
		t.Errorf("exit %d\n%s", r.code, r.stdout)
	}
	if r := runApp(t.Context(), "bench", "compare", a, b, "-o", "benchstat"); strings.Count(r.stdout, "BenchmarkCluster/") != 10 {
		t.Errorf("exit %d\n%s", r.code, r.stdout)
	}
	for _, args := range [][]string{{a}, {a, filepath.Join(dir, "none")}} {
		if r := runApp(t.Context(), append([]string{"bench", "compare"}, args...)...); r.code != exitUsage {
			t.Errorf("%v: exit %d, %s", args, r.code, r.stderr)
		}
	}
}

func TestAWrongMixIsNamedOnce(t *testing.T) {
	r := runApp(t.Context(), "bench", "--cluster", "127.0.0.1:1", "--mix", "flushall=1")
	if r.code != exitUsage || strings.Count(r.stderr, "unknown operation") != 1 {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}
