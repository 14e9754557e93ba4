package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rcctl/rcctl/metrics"
	"github.com/rcctl/rcctl/pool"
)

// startPrometheus runs a Prometheus that scrapes targets every 200 ms with the
// rules of deploy/, without their waits, and returns its URL.
func startPrometheus(t *testing.T, targets ...string) string {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		if os.Getenv("RCCTL_REQUIRE_PROMTOOL") == "1" {
			t.Fatal("prometheus is not on PATH: install the package prometheus")
		}
		t.Skip("prometheus is not on PATH: install the package prometheus")
	}
	dir := t.TempDir()
	rules, err := os.ReadFile("../../deploy/prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}\nrule_files: [rules.yml]\n"+
		"scrape_configs: [{job_name: rcctl, static_configs: [{targets: [%s]}]}]\n", strings.Join(targets, ", "))
	for name, text := range map[string]string{
		"prometheus.yml": config,
		"rules.yml":      regexp.MustCompile(`(?m)^ +for: .*\n`).ReplaceAllString(string(rules), ""),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), path, "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:0")
	cmd.Dir = dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var log strings.Builder
	listening := regexp.MustCompile(`msg="Listening on" address=(\S+)`)
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				for lines.Scan() {
				}
			}()
			return "http://" + m[1]
		}
	}
	t.Fatalf("prometheus did not start:\n%s", &log)
	return ""
}

// query asks Prometheus; the result is a line per series, labels and value.
func query(t *testing.T, prom, expr string) string {
	t.Helper()
	code, text := get(t, http.DefaultClient, prom+"/api/v1/query?query="+neturl.QueryEscape(expr), "", "")
	var reply struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  []any
			}
		}
	}
	if code != 200 || json.Unmarshal([]byte(text), &reply) != nil {
		return "" // not ready yet
	}
	var b strings.Builder
	for _, r := range reply.Data.Result {
		fmt.Fprintln(&b, r.Metric, r.Value[len(r.Value)-1])
	}
	return b.String()
}

// Prometheus scrapes a service with the library and the exporter; when a master
// is killed the alerts of both sides fire, with the node and nothing else.
func TestPrometheusFiresTheAlertsOfAKilledMaster(t *testing.T) {
	t.Parallel()
	c := healthCluster(t)
	p, err := pool.New(t.Context(), pool.Config{Name: "service", Addrs: c.Addrs(), MinIdleConns: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	reg := prometheus.NewRegistry()
	reg.MustRegister(metrics.Pool(p))
	service := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	defer service.Close()
	exporter := startExporter(t, "--cluster", c.Addrs()[0], "--name", "shop")
	host := func(url string) string { return strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/metrics") }
	prom := startPrometheus(t, host(service.URL), host(exporter))

	wait := func(what, expr string, ok func(string) bool) {
		t.Helper()
		start := time.Now()
		for {
			for i := range 20 { // the service's load
				p.Client().Incr(t.Context(), fmt.Sprint("n:", i))
			}
			got := query(t, prom, expr)
			if ok(got) {
				t.Logf("%s after %d ms", what, time.Since(start).Milliseconds())
				return
			}
			if time.Since(start) > 30*time.Second {
				t.Fatalf("not within 30 s: %s\n%s", what, got)
			}
			<-time.After(50 * time.Millisecond)
		}
	}
	wait("both are scraped", `count(rcctl_server_up == 1) == 6 and sum(rcctl_pool_attempts_total) > 0`, func(s string) bool { return s != "" })
	if firing := query(t, prom, `ALERTS{alertstate="firing"}`); firing != "" {
		t.Errorf("healthy, and yet: %s", firing)
	}
	dead := c.Masters()[0]
	if err := dead.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, alert := range []string{"RedisSlotsUnserved", "RedisServerDown", "RedisBreakerOpen"} {
		wait(alert, `ALERTS{alertstate="firing",alertname="`+alert+`"}`, func(s string) bool {
			return s != "" && (alert == "RedisSlotsUnserved" || strings.Contains(s, "node:"+dead.Addr()))
		})
	}
}
