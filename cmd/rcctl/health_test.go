package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/health"
)

// healthCluster is 3 + 3 real servers that serve what they have when some
// slots are lost.
func healthCluster(t *testing.T) *clustertest.Cluster {
	t.Helper()
	return clustertest.Run(t, clustertest.Options{
		Backend: clustertest.Processes{}, Replicas: 1, NodeTimeout: 20 * time.Second,
		Config: map[string]string{"cluster-require-full-coverage": "no"},
	})
}

// narrow reports lines that are wider than a terminal.
func narrow(t *testing.T, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		if len(strings.TrimRight(line, "\n")) > textWidth {
			t.Errorf("%d columns: %q", len(line), line)
		}
	}
}

func TestHealthTellsTheStatesApartByExitCode(t *testing.T) {
	t.Parallel()
	c := healthCluster(t)
	seed := c.Addrs()[0]
	run := func(when string, code int, args ...string) string {
		t.Helper()
		r := runApp(t.Context(), append([]string{"health", "--cluster", seed, "--timeout", "2s"}, args...)...)
		if r.code != code || r.stderr != "" {
			t.Errorf("%s: exit code %d, want %d\n%s%s", when, r.code, code, r.stdout, r.stderr)
		}
		return r.stdout
	}
	if out := run("healthy", exitOK, "--fail-on", "degraded"); !strings.HasPrefix(out, "OK  16384 of 16384 slots served, 3 of 3 shards can fail over\n") {
		t.Error(out)
	}
	var rep health.Report
	if err := json.Unmarshal([]byte(run("healthy", exitOK, "-o", "json")), &rep); err != nil || rep.Schema != "rcctl.health.v1" || rep.Verdict != health.OK || len(rep.Shards) != 3 {
		t.Errorf("%v %+v", err, rep)
	}

	replica := c.Masters()[0].Replicas()[0]
	if err := replica.Kill(); err != nil {
		t.Fatal(err)
	}
	out := run("a replica is dead", exitOK)
	run("a replica is dead", exitFindings, "--fail-on", "degraded", "-o", "json")
	if !strings.HasPrefix(out, "DEGRADED") || !strings.Contains(out, replica.Addr()) || !strings.Contains(out, "-> ") {
		t.Error(out)
	}
	narrow(t, out)

	master := c.Masters()[1]
	if err := master.Pause(); err != nil {
		t.Fatal(err)
	}
	defer master.Resume()
	out = run("a master hangs", exitFindings)
	first := strings.SplitN(out, "\n", 4)
	if !strings.HasPrefix(out, "DOWN") || len(first) < 3 || !strings.Contains(first[2], "master_unreachable  "+master.Addr()+"  slots 5461-") {
		t.Error(out)
	}
	narrow(t, out)
}

func TestHealthWatchPrintsWhatChangesAndEndsWithTheLastVerdict(t *testing.T) {
	t.Parallel()
	c := healthCluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pr, pw := io.Pipe()
	code := make(chan int, 1)
	go func() {
		a := &app{stdin: strings.NewReader(""), stdout: pw, stderr: io.Discard, getenv: func(string) string { return "" }}
		code <- a.run(ctx, []string{"health", "--cluster", c.Addrs()[0], "--watch", "--interval", "100ms"})
		pw.Close()
	}()
	lines := bufio.NewScanner(pr)
	until := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("no line with %q", want)
	}
	until(" OK")
	if err := c.Masters()[2].Kill(); err != nil {
		t.Fatal(err)
	}
	until(" DOWN  master_unreachable " + c.Addrs()[2])
	cancel()
	go io.Copy(io.Discard, pr)
	if got := <-code; got != exitFindings {
		t.Errorf("exit code %d", got)
	}
}

func TestTopologyInEveryFormat(t *testing.T) {
	t.Parallel()
	c := healthCluster(t)
	to := c.Masters()[2]
	if _, err := c.BeginMove(t.Context(), 93, to); err != nil {
		t.Fatal(err)
	}
	run := func(format string) string {
		t.Helper()
		r := runApp(t.Context(), "topology", "--cluster", c.Addrs()[3], "-o", format)
		if r.code != exitOK || r.stderr != "" {
			t.Fatalf("-o %s: exit code %d\n%s", format, r.code, r.stderr)
		}
		return r.stdout
	}
	text := run("text")
	narrow(t, text)
	for _, n := range c.Nodes() {
		if !strings.Contains(text, n.Addr()+"  "+n.ID()[:8]) {
			t.Errorf("%s is missing:\n%s", n.Addr(), text)
		}
	}
	move := c.Addrs()[0] + " for " + to.Addr()
	if !strings.Contains(text, "slot 93 is leaving "+move) || !strings.Contains(text, "slot 93 is coming to "+to.Addr()) {
		t.Errorf("no open slot:\n%s", text)
	}
	var rep topologyReport
	if err := json.Unmarshal([]byte(run("json")), &rep); err != nil || rep.Schema != "rcctl.topology.v1" || len(rep.Shards) != 3 || len(rep.Slots.Migrating) != 1 || rep.Strays == nil {
		t.Errorf("%v %+v", err, rep)
	}
	dot := run("dot")
	if !strings.HasPrefix(dot, "digraph cluster {") || strings.Count(dot, "->") != 4 || !strings.Contains(dot, `[style=dashed, label="slot 93"]`) {
		t.Error(dot)
	}
}

func TestHealthThroughAnAddressMap(t *testing.T) {
	t.Parallel()
	c := healthCluster(t)
	args := []string{"health", "--cluster", "127.255.255.254:7000", "--addr-map", "127.255.255.254:7000=" + c.Addrs()[0]}
	if r := runApp(t.Context(), args...); r.code != exitOK || !strings.HasPrefix(r.stdout, "OK") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

func TestLongTextIsWrappedWithAnIndent(t *testing.T) {
	var b strings.Builder
	wrapped(&b, "  -> ", strings.Repeat("word ", 20)+strings.Repeat("x", 100))
	want := "  -> " + strings.TrimSpace(strings.Repeat("word ", 15)) + "\n     " + strings.TrimSpace(strings.Repeat("word ", 5)) + "\n     " + strings.Repeat("x", 100) + "\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
