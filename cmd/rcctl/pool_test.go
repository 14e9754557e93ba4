package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func runPool(t *testing.T, env map[string]string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(k string) string { return env[k] }}
	code = a.run(t.Context(), append([]string{"pool"}, args...))
	return out.String(), errs.String(), code
}

func TestPoolPlanSizesByLittlesLaw(t *testing.T) {
	out, errs, code := runPool(t, nil, "plan", "--rate", "300000", "--p99", "5ms", "--masters", "3", "--replicas", "1", "--instances", "10", "--maxclients", "10000", "-o", "json")
	if code != exitOK || errs != "" {
		t.Fatal(code, errs)
	}
	var p poolPlanJSON
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatal(err)
	}
	// 10000/s to a master from an instance, 5 ms each: 50 busy.
	if p.Busy != 50 || p.PoolSize < 100 || p.PoolSize > 130 || p.AtServer != 10*p.PoolSize+1 || p.Worst.BlackHole.Ms != 2170 {
		t.Errorf("%+v", p)
	}
}

func TestPoolPlanThatExceedsMaxclientsFails(t *testing.T) {
	out, _, code := runPool(t, nil, "plan", "--rate", "1e6", "--p99", "20ms", "--instances", "400", "--maxclients", "1000")
	if code != exitFindings || !strings.Contains(out, "problem: ") || !strings.Contains(out, "maxclients is 1000") {
		t.Errorf("%d\n%s", code, out)
	}
}

func TestPoolExplainShowsWhatTheTwoLayersOfRetriesCost(t *testing.T) {
	out, errs, code := runPool(t, nil, "explain", "--node-retries", "3", "--read-timeout", "100ms")
	if code != exitOK {
		t.Fatal(code, errs)
	}
	for _, want := range []string{"47.25s", "16", "NodeRetries multiply", "below 200ms", "config"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestPoolReadsTheURLAndTheEnvironment(t *testing.T) {
	out, errs, code := runPool(t, map[string]string{"RCCTL_URL": "redis://app:secret@h:1?pool_size=7"}, "explain", "-o", "json")
	if code != exitOK || !json.Valid([]byte(out)) || !strings.Contains(out, `"name":"PoolSize","value":"7","origin":"config"`) {
		t.Error(code, errs, out)
	}
	if strings.Contains(out, "secret") {
		t.Error("the password is shown")
	}
}

func TestPoolCommandLinesThatAreWrongAreUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"plan"}, {"plan", "--rate", "5"}, {"plan", "--rate", "-5", "--p99", "1ms"}, {"plan", "--rate", "5", "--p99", "1ms", "--masters", "0"},
		{"plan", "--rate", "1e9", "--p99", "1s"}, {"explain", "--pool-size", "many"}, {"explain", "--read-timeout", "3"}, {"explain", "--url", "http://h"},
		{"explain", "--op-budget", "-1s"}, {"explain", "x"},
	} {
		if _, errs, code := runPool(t, nil, args...); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d: %s", args, code, exitUsage, errs)
		}
	}
}
