package doctor_test

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/internal/doctor"
	"github.com/rcctl/rcctl/pool"
)

func gather(t *testing.T, cfg pool.Config) *doctor.Snapshot {
	t.Helper()
	s, err := doctor.Gather(t.Context(), doctor.Request{Client: cfg, Interval: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func judge(t *testing.T, s *doctor.Snapshot) doctor.Report {
	t.Helper()
	r, err := doctor.Judge(s, doctor.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// only are the findings of one check.
func only(r doctor.Report, id string) []doctor.Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f doctor.Finding) bool { return f.ID != id })
}

func TestAHealthyClusterIsSeenWithItsServerProcesses(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
	s := gather(t, pool.Config{Addrs: c.Addrs()[:1]})
	r := judge(t, s)
	if r.ExitCode(false) != 0 || r.Nodes != 6 {
		t.Errorf("exit code %d, %d nodes: %+v", r.ExitCode(false), r.Nodes, r.Findings)
	}
	for _, n := range c.Nodes() {
		v := s.Servers[n.Addr()]
		if v == nil {
			t.Errorf("no process found for %s: %s", n.Addr(), s.ServersReason)
			continue
		}
		if _, err := v.Process.Limit("Max open files"); err != nil {
			t.Errorf("%s: %v", n.Addr(), err)
		}
	}
	if len(only(r, "L01")) == 0 || only(r, "L01")[0].Outcome != doctor.OK {
		t.Errorf("L01: %+v", only(r, "L01"))
	}
	for _, n := range s.Cluster.Nodes {
		if !slices.Contains(strings.Fields(n.DefaultUser), "nopass") {
			t.Errorf("%s: default user %q", n.Addr, n.DefaultUser)
		}
		for k := range n.Config {
			if strings.Contains(k, "pass") || strings.Contains(k, "masterauth") {
				t.Errorf("%s: the snapshot holds %s", n.Addr, k)
			}
		}
		if _, ok := n.Later.Int("total_commands_processed"); !ok || n.Seconds <= 0 {
			t.Errorf("%s: no second sample: %s", n.Addr, n.LaterReason)
		}
	}
}

func TestThreeKindsOfCoverageAreToldApart(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Config: map[string]string{"cluster-require-full-coverage": "no"}})
	seed, victim := c.Nodes()[0], c.Nodes()[1]

	// A path that is broken only from here: the address is mapped to a port
	// where nobody listens.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := l.Addr().String()
	l.Close()
	s := gather(t, pool.Config{Addrs: []string{seed.Addr()}, AddrMap: map[string]string{victim.Addr(): dead}})
	f := only(judge(t, s), "C02")
	if len(f) != 1 || f[0].Outcome != doctor.Fail || !strings.Contains(f[0].Current, "owner unreachable from here: "+victim.Addr()) {
		t.Errorf("unreachable from here: %+v", f)
	}
	if text := f[0].Fix + f[0].Why; strings.Contains(text, "--cluster fix") || strings.Contains(text, "ADDSLOTS") {
		t.Errorf("advises to change a healthy cluster: %s", text)
	}

	// A slot that nobody owns.
	if err := seed.Client().ClusterDelSlots(t.Context(), 7).Err(); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes()[1:] {
		if err := n.Client().ClusterDelSlots(t.Context(), 7).Err(); err != nil {
			t.Fatal(err)
		}
	}
	f = only(judge(t, gather(t, pool.Config{Addrs: []string{seed.Addr()}})), "C02")
	if len(f) != 1 || !strings.Contains(f[0].Current, "unassigned") || !strings.Contains(f[0].Subject, "slots 7 (1 slot)") {
		t.Errorf("unassigned: %+v", f)
	}

	// An owner that is dead, and the cluster knows it.
	if err := victim.Kill(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		f = only(judge(t, gather(t, pool.Config{Addrs: []string{seed.Addr()}})), "C02")
		i := slices.IndexFunc(f, func(f doctor.Finding) bool { return strings.Contains(f.Current, "owner failed: "+victim.Addr()) })
		if i >= 0 {
			if !strings.Contains(f[i].Fix, "start the server "+victim.Addr()) {
				t.Errorf("fix: %s", f[i].Fix)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the dead owner is never called failed: %+v", f)
		}
	}
}

func TestAFrozenNodeDoesNotHoldTheVerdictUp(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1, NodeTimeout: 30 * time.Second})
	victim := c.Nodes()[2]
	if err := victim.Pause(); err != nil {
		t.Fatal(err)
	}
	defer victim.Resume()
	start := time.Now()
	s := gather(t, pool.Config{Addrs: []string{victim.Addr(), c.Addrs()[0]}})
	if d := time.Since(start); d > 9*time.Second {
		t.Errorf("took %v", d)
	}
	f := only(judge(t, s), "C02")
	if len(f) != 1 || !strings.Contains(f[0].Current, "owner unreachable from here: "+victim.Addr()) {
		t.Errorf("%+v", f)
	}
}

func TestAUserWithFewRightsSeesSkippedChecks(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}})
	for _, n := range c.Nodes() {
		if err := n.Client().Do(t.Context(), "ACL", "SETUSER", "little", "on", ">secret", "+ping", "+cluster|nodes", "+info", "+hello", "+client|setname").Err(); err != nil {
			t.Fatal(err)
		}
	}
	r := judge(t, gather(t, pool.Config{Addrs: c.Addrs()[:1], Username: "little", Password: "secret"}))
	if f := only(r, "S02"); len(f) != 1 || f[0].Outcome != doctor.Skipped || !strings.Contains(f[0].Reason, "may not run CONFIG GET") {
		t.Errorf("S02: %+v", f)
	}
	if f := only(r, "C02"); len(f) != 1 || f[0].Outcome != doctor.OK {
		t.Errorf("C02: %+v", f)
	}
	for _, n := range c.Nodes() {
		if err := n.Client().Do(t.Context(), "ACL", "SETUSER", "little", "-info").Err(); err != nil {
			t.Fatal(err)
		}
	}
	s := gather(t, pool.Config{Addrs: c.Addrs()[:1], Username: "little", Password: "secret"})
	if !strings.Contains(s.ServersReason, "may not run INFO") {
		t.Errorf("the servers run on this host, and the reason they are not looked at is %q", s.ServersReason)
	}
	if r.Summary.Broken > 0 {
		t.Errorf("broken: %+v", r.Findings)
	}
}

func TestWithoutAServerTheErrorComesSoonAndTheHostIsJudged(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	start := time.Now()
	s, err := doctor.Gather(t.Context(), doctor.Request{Client: pool.Config{Addrs: []string{addr}}})
	var ce *doctor.ClusterError
	if !errors.As(err, &ce) || !strings.Contains(ce.Text, "refused") || strings.Contains(ce.Text, "\n") {
		t.Fatalf("error %v", err)
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("took %v", d)
	}
	r := judge(t, s)
	if r.ExitCode(false) != 3 || r.Error == "" || len(only(r, "T07")) == 0 {
		t.Errorf("exit code %d, error %q", r.ExitCode(false), r.Error)
	}
}

func TestTheCallingShellIsJudgedNotOurselves(t *testing.T) {
	s, err := doctor.Gather(context.Background(), doctor.Request{Interval: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if s.Shell.PID != os.Getppid() {
		t.Errorf("pid %d, want the parent %d", s.Shell.PID, os.Getppid())
	}
	if f := only(judge(t, s), "L03"); len(f) != 1 || f[0].Scope != "this shell" {
		t.Errorf("L03: %+v", f)
	}
}

func TestEndpointsThatClientsAreSentToAreTriedNotOnlyTheAddressesOfTheBus(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{})
	n := c.Nodes()[1]
	if err := n.AnnounceHost(t.Context(), "node1.invalid"); err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Nodes() {
		if m != n {
			if err := m.AnnounceHost(t.Context(), "localhost"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.PreferEndpoint(t.Context(), clustertest.EndpointHostname); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"localhost": "127.0.0.1"}
	for _, m := range c.Nodes() {
		host, port, _ := net.SplitHostPort(m.Addr())
		names["localhost:"+port] = net.JoinHostPort(host, port)
	}
	s := gather(t, pool.Config{Addrs: []string{c.Nodes()[0].Addr()}, AddrMap: names})
	f := slices.DeleteFunc(only(judge(t, s), "X01"), func(f doctor.Finding) bool { return f.Outcome == doctor.OK })
	if len(f) != 1 || f[0].Outcome != doctor.Fail || f[0].Subject != n.Addr() ||
		!strings.Contains(f[0].Current, "node1.invalid:") || !strings.Contains(f[0].Current, "does not resolve") {
		t.Errorf("X01: %+v", f)
	}
	if s.Cluster.Nodes[n.Addr()].View == nil {
		t.Error("the node was not asked, though its address answers")
	}
}

func TestTheSamplesAreTheIntervalApartWhenTheFirstOneIsSlow(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{})
	if _, err := c.Nodes()[0].Inject(clustertest.Fault{Command: "CONFIG", Delay: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	const interval = 250 * time.Millisecond
	s, err := doctor.Gather(t.Context(), doctor.Request{Client: pool.Config{Addrs: c.Addrs()[:1]}, Interval: interval})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range s.Cluster.Nodes {
		if n.Seconds < interval.Seconds() {
			t.Errorf("%s: rates are taken over %.3f s, want %v", n.Addr, n.Seconds, interval)
		}
	}
}

func TestAnInterruptedSnapshotIsNoCleanBill(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	start := time.Now()
	s, err := doctor.Gather(ctx, doctor.Request{Client: pool.Config{Addrs: c.Addrs()[:1]}, Interval: time.Minute})
	var ce *doctor.ClusterError
	if !errors.As(err, &ce) || !strings.Contains(ce.Text, "interrupted") {
		t.Fatalf("error %v", err)
	}
	if r := judge(t, s); r.ExitCode(false) != 3 || r.Error != ce.Text {
		t.Errorf("exit code %d, error %q", r.ExitCode(false), r.Error)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
}
