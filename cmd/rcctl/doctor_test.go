package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/redis/go-redis/v9"
)

func TestTheDoctorOfAHostAloneSkipsTheClusterAndSaysWhy(t *testing.T) {
	r := runApp(t.Context(), "doctor", "-o", "json", "--interval", "10ms")
	var report struct {
		Schema   string
		Findings []struct{ ID, Outcome, Scope, Reason string }
		Baseline []struct{ Setting string }
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	if report.Schema != "rcctl.doctor.v1" || len(report.Baseline) != 4 {
		t.Errorf("schema %q, %d settings always shown", report.Schema, len(report.Baseline))
	}
	for _, f := range report.Findings {
		if f.ID == "C02" && (f.Outcome != "skipped" || !strings.Contains(f.Reason, "--cluster")) {
			t.Errorf("C02: %+v", f)
		}
		if f.ID == "L03" && f.Scope != "this shell" {
			t.Errorf("L03: %+v", f)
		}
	}
	text := runApp(t.Context(), "doctor", "--interval", "10ms").stdout
	for _, want := range []string{"ip_local_port_range", "tcp_tw_reuse", "somaxconn", "nofile"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not show %s", want)
		}
	}
}

func TestTheDoctorRefusesWrongFlags(t *testing.T) {
	for _, args := range [][]string{
		{"doctor", "--only", "Z99"}, {"doctor", "--profile", "nice"}, {"doctor", "-o", "xml"}, {"doctor", "--pid", "-1"},
		{"doctor", "--interval", "0s"}, {"doctor", "something"}, {"doctor", "explain"}, {"doctor", "explain", "Z99"},
		{"doctor", "analyze", "/does/not/exist"}, {"doctor", "fix"}, {"doctor", "moved"}, {"doctor", "--host-root", "/does/not/exist"},
		{"doctor", "--pid", "4194305"}, {"sysctl", "print", "--ports", "70000"},
	} {
		r := runApp(t.Context(), args...)
		if r.code != exitUsage || r.stderr == "" {
			t.Errorf("%v: exit code %d, stderr %q", args, r.code, r.stderr)
		}
	}
}

func TestStrictMakesWarningsFailInEveryFormat(t *testing.T) {
	args := []string{"doctor", "--interval", "10ms", "--only", "X19", "--read-timeout", "3s"}
	for _, format := range []string{"text", "short", "json", "prom"} {
		if r := runApp(t.Context(), append(args, "-o", format)...); r.code != exitOK || !strings.Contains(r.stdout, "X19") {
			t.Errorf("-o %s: exit code %d\n%s", format, r.code, r.stdout)
		}
		if r := runApp(t.Context(), append(args, "-o", format, "--strict")...); r.code != exitFindings {
			t.Errorf("-o %s --strict: exit code %d", format, r.code)
		}
	}
	if r := runApp(t.Context(), append(args, "-o", "nagios")...); r.code != 1 || !strings.HasPrefix(r.stdout, "RCCTL WARNING") {
		t.Errorf("nagios: exit code %d\n%s", r.code, r.stdout)
	}
}

func TestASnapshotIsJudgedLaterAsNow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "host.json")
	if r := runApp(t.Context(), "doctor", "gather", "--interval", "10ms", "-o", file); r.code != exitOK {
		t.Fatalf("gather: %d %s", r.code, r.stderr)
	}
	if r := runApp(t.Context(), "doctor", "analyze", file, "-o", "json"); r.code != exitOK || !json.Valid([]byte(r.stdout)) {
		t.Errorf("analyze: %d %s", r.code, r.stderr)
	}
	if r := runApp(t.Context(), "doctor", "analyze", file, file, "-o", "short"); r.code != exitOK {
		t.Errorf("analyze of two: %d %s", r.code, r.stderr)
	}
	if r := runApp(t.Context(), "doctor", "diff", file, file); r.code != exitOK || r.stdout != "no change\n" {
		t.Errorf("diff: %d %q", r.code, r.stdout)
	}
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(`{"schema":"other"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := runApp(t.Context(), "doctor", "analyze", bad); r.code != exitUsage || !strings.Contains(r.stderr, "gather") {
		t.Errorf("a file that is no snapshot: %d %s", r.code, r.stderr)
	}
}

func TestThePrintedSettingsStartWithTheThreeOfABusyHost(t *testing.T) {
	r := runApp(t.Context(), "sysctl", "print", "--ports", "7000,7001")
	want := "net.ipv4.ip_local_port_range = 1024 65535\nnet.ipv4.tcp_tw_reuse = 1\nnet.core.somaxconn = 65535\nnet.ipv4.ip_local_reserved_ports = 7000-7001,17000-17001\n"
	if r.code != exitOK || !strings.HasPrefix(r.stdout, want) {
		t.Errorf("%d\n%s", r.code, r.stdout)
	}
	for _, way := range []string{"sysctl -p FILE", "sysctl --system"} {
		if !strings.Contains(r.stdout, way) {
			t.Errorf("does not say %q", way)
		}
	}
}

func TestTheListAndExplanationsAreForMachinesToo(t *testing.T) {
	var list []struct{ ID, Why, Fix string }
	r := runApp(t.Context(), "doctor", "list", "-o", "json")
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || len(list) < 70 {
		t.Fatalf("%v, %d checks", err, len(list))
	}
	if r := runApp(t.Context(), "doctor", "explain", "rc-t08"); r.code != exitOK || !strings.Contains(r.stdout, "RC-T08") {
		t.Errorf("explain: %d %s", r.code, r.stdout)
	}
}

// The counts of doctor moved are the servers' own; a client that does not
// follow redirects shows as such.
func TestMovedCountsWhatTheServersCount(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wrong := c.Nodes()[0]
	unaware := redis.NewClient(&redis.Options{Addr: wrong.Addr(), ClientName: "unaware", MaxRetries: -1})
	defer unaware.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			unaware.Get(ctx, "foo") // slot 12182: not the first master's
		}
	}()
	var report struct {
		Total struct{ Moved, Ask uint64 }
		Nodes []struct {
			Addr     string
			Errors   map[string]uint64
			Rejected map[string]uint64
		}
		Verdicts []string
	}
	r := runApp(t.Context(), "doctor", "moved", "--cluster", c.Addrs()[1], "--for", "500ms", "-o", "json")
	cancel()
	<-done
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.code != exitOK {
		t.Fatalf("%v %d %s", err, r.code, r.stderr)
	}
	for _, n := range report.Nodes {
		if got := n.Errors["MOVED"]; (got > 0) != (n.Addr == wrong.Addr()) || n.Rejected["get"] != got {
			t.Errorf("%s: MOVED %d, refused GETs %d", n.Addr, got, n.Rejected["get"])
		}
	}
	if report.Total.Moved == 0 || !strings.Contains(strings.Join(report.Verdicts, "\n"), "suspect") {
		t.Errorf("%+v", report)
	}
}

func TestTheDoctorTellsUnreachableFromTimeoutSoon(t *testing.T) {
	start := time.Now()
	r := runApp(t.Context(), "doctor", "--cluster", freeAddr(t), "-o", "json")
	if r.code != exitUnknown || time.Since(start) > 3*time.Second {
		t.Errorf("exit code %d after %v", r.code, time.Since(start))
	}
	var report struct{ Error string }
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || !strings.Contains(report.Error, "refused") {
		t.Errorf("%v: %s", err, r.stdout)
	}
}
