package health_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/health"
)

// seeIn is how soon after a fault a report must show it. The promise is 1 s;
// the race detector and a busy machine get three times that.
const seeIn = 3 * time.Second

func newChecker(t *testing.T, c *clustertest.Cluster, change func(*health.Config)) *health.Checker {
	t.Helper()
	cfg := health.Config{Client: c.Client()}
	if change != nil {
		change(&cfg)
	}
	h, err := health.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func report(t *testing.T, h *health.Checker) *health.Report {
	t.Helper()
	r, err := h.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantReport polls until a report fits and logs how long that took.
func wantReport(t *testing.T, h *health.Checker, what string, fits func(r *health.Report) bool) *health.Report {
	t.Helper()
	start := time.Now()
	for {
		r := report(t, h)
		if fits(r) {
			t.Logf("%s: after %d ms", what, time.Since(start).Milliseconds())
			return r
		}
		if time.Since(start) > seeIn {
			t.Fatalf("not within %s: %s\n%s", seeIn, what, dump(r))
		}
		<-time.After(20 * time.Millisecond)
	}
}

// healthy waits for the first report that is OK: on a busy machine a probe may
// be too late.
func healthy(t *testing.T, h *health.Checker) *health.Report {
	t.Helper()
	return wantReport(t, h, "ok", func(r *health.Report) bool { return r.Verdict == health.OK })
}

func dump(r *health.Report) string {
	b, _ := json.MarshalIndent(r, "", " ")
	return string(b)
}

func reason(r *health.Report, code health.Code) health.Reason {
	for _, x := range r.Reasons {
		if x.Code == code {
			return x
		}
	}
	return health.Reason{}
}

func TestAHealthyClusterIsOK(t *testing.T) {
	t.Parallel()
	c := processes(t, 1)
	r := healthy(t, newChecker(t, c, nil))
	if r.Verdict != health.OK || len(r.Reasons) != 0 || r.Slots.Served != 16384 || len(r.Shards) != 3 || len(r.Strays) != 0 {
		t.Fatal(dump(r))
	}
	for _, s := range r.Shards {
		if !s.CanFailOver || len(s.Replicas) != 1 || !s.Replicas[0].LinkUp || s.Replicas[0].LagBytes < 0 || s.Replicas[0].Lag < 0 || !strings.HasPrefix(s.Master.Version, "redis 7") {
			t.Error(dump(r))
		}
	}
}

func TestADeadReplicaIsDegradedAndNamesTheShardThatCannotFailOver(t *testing.T) {
	t.Parallel()
	c := processes(t, 1)
	h := newChecker(t, c, nil)
	report(t, h)
	master := c.Masters()[0]
	replica := master.Replicas()[0]
	if err := replica.Kill(); err != nil {
		t.Fatal(err)
	}
	r := wantReport(t, h, "no_failover_candidate", func(r *health.Report) bool { return r.Has(health.CodeNoFailoverCandidate) })
	if x := reason(r, health.CodeNoFailoverCandidate); r.Verdict != health.Degraded || x.Node != master.Addr() || health.FormatRanges(x.Slots) != ownSlots(t, master) {
		t.Error(dump(r))
	}
	if x := reason(r, health.CodeReplicaUnreachable); x.Node != replica.Addr() || !strings.Contains(x.Detail, "refused") {
		t.Error(dump(r))
	}
}

func TestADeadMasterIsDownWithItsExactSlots(t *testing.T) {
	t.Parallel()
	c := processes(t, 0)
	h := newChecker(t, c, func(cfg *health.Config) { cfg.ReplicasOptional = true })
	healthy(t, h)
	dead := c.Masters()[1]
	slots := ownSlots(t, dead)
	if err := dead.Kill(); err != nil {
		t.Fatal(err)
	}
	r := wantReport(t, h, "slots_unserved", func(r *health.Report) bool { return r.Has(health.CodeSlotsUnserved) })
	if x := reason(r, health.CodeSlotsUnserved); r.Verdict != health.Down || health.FormatRanges(x.Slots) != slots {
		t.Error(dump(r))
	}
	if x := r.Reasons[0]; x.Code != health.CodeMasterUnreachable || x.Node != dead.Addr() || x.Fix == "" {
		t.Errorf("the cause is not first: %v", r.Reasons)
	}
	if err := dead.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "OK again", func() bool { return report(t, h).Verdict == health.OK })
}

func TestWithFullCoverageEverySlotIsRefusedAndTheCauseIsTold(t *testing.T) {
	t.Parallel()
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, NodeTimeout: 500 * time.Millisecond})
	h := newChecker(t, c, nil)
	report(t, h)
	dead := c.Masters()[1]
	slots := ownSlots(t, dead)
	if err := dead.Kill(); err != nil {
		t.Fatal(err)
	}
	var r *health.Report
	eventually(t, 10*time.Second, "all slots unserved", func() bool {
		r = report(t, h)
		return r.Slots.Served == 0
	})
	if x := r.Reasons[0]; x.Code != health.CodeMasterUnreachable || health.FormatRanges(x.Slots) != slots {
		t.Error(dump(r))
	}
	if x := reason(r, health.CodeSlotsUnserved); !strings.Contains(x.Fix, "cluster-require-full-coverage") || health.FormatRanges(x.Slots) != "0-16383" {
		t.Error(dump(r))
	}
}

func TestAPausedMasterIsUnreachable(t *testing.T) {
	t.Parallel()
	c := processes(t, 1)
	h := newChecker(t, c, nil)
	report(t, h)
	m := c.Masters()[2]
	if err := m.Pause(); err != nil {
		t.Fatal(err)
	}
	defer m.Resume()
	r := wantReport(t, h, "master_unreachable", func(r *health.Report) bool { return r.Has(health.CodeMasterUnreachable) })
	if x := reason(r, health.CodeMasterUnreachable); r.Verdict != health.Down || x.Node != m.Addr() || !strings.Contains(x.Detail, "no answer within 400ms") {
		t.Error(dump(r))
	}
}

// While a master is down and its replica takes over, the servers themselves are
// asked all the time: the report may be Down only as long as they are, plus the
// time in which it must notice.
func TestAFailoverIsDownNoLongerThanTheServersAre(t *testing.T) {
	t.Parallel()
	c := clustertest.Run(t, clustertest.Options{
		Backend: clustertest.Processes{}, Replicas: 1, NodeTimeout: time.Second,
		Config: map[string]string{"cluster-require-full-coverage": "no"},
	})
	h := newChecker(t, c, nil)
	report(t, h)
	m := c.Masters()[0]
	replica := m.Replicas()[0]
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	var promoted time.Time
	inProgress, wasDown := false, false
	for {
		r := report(t, h)
		wasDown = wasDown || r.Verdict == health.Down
		inProgress = inProgress || r.Has(health.CodeFailoverInProgress)
		if promoted.IsZero() && replica.Client().Do(t.Context(), "set", "{06S}x", "1").Err() == nil { // slot 0
			promoted = time.Now()
		}
		if !promoted.IsZero() && r.Verdict != health.Down {
			break
		}
		if !promoted.IsZero() && time.Since(promoted) > seeIn {
			t.Fatalf("Down %s after the replica serves\n%s", time.Since(promoted), dump(r))
		}
		if time.Since(killed) > 30*time.Second {
			t.Fatal("no failover within 30 s")
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Logf("servers down for %d ms, report not Down %d ms later; failover_in_progress seen: %v",
		promoted.Sub(killed).Milliseconds(), time.Since(promoted).Milliseconds(), inProgress)
	if !wasDown || !inProgress {
		t.Errorf("seen Down: %v, failover_in_progress: %v", wasDown, inProgress)
	}
	r := report(t, h)
	if !r.Has(health.CodeReplicaUnreachable) || !r.Has(health.CodeNoFailoverCandidate) || r.Verdict != health.Degraded {
		t.Error(dump(r))
	}
}

// Two masters that forgot each other: what each side of a partition of the
// cluster bus sees.
func TestNodesThatDisagreeAreAViewDivergence(t *testing.T) {
	t.Parallel()
	c := processes(t, 0)
	h := newChecker(t, c, func(cfg *health.Config) { cfg.ReplicasOptional = true })
	healthy(t, h)
	ms := c.Masters()
	slots := ownSlots(t, ms[1])
	for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 0}, {2, 0}} {
		if err := ms[pair[0]].Client().ClusterForget(t.Context(), ms[pair[1]].ID()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	r := wantReport(t, h, "view_divergence", func(r *health.Report) bool { return r.Has(health.CodeViewDivergence) })
	if x := reason(r, health.CodeViewDivergence); x.Verdict != health.Degraded || x.Node == "" || len(x.Slots) == 0 {
		t.Errorf("slots of the second master are %s\n%s", slots, dump(r))
	}
}

func TestAHalfMovedSlotIsListedAndNotAFault(t *testing.T) {
	t.Parallel()
	c := processes(t, 0)
	h := newChecker(t, c, func(cfg *health.Config) { cfg.ReplicasOptional = true })
	to := c.Masters()[1]
	m, err := c.BeginMove(t.Context(), 93, to)
	if err != nil {
		t.Fatal(err)
	}
	r := wantReport(t, h, "open slot", func(r *health.Report) bool { return len(r.Slots.Migrating) == 1 && len(r.Slots.Importing) == 1 })
	if s := r.Slots.Migrating[0]; s.Slot != 93 || s.Other != to.Addr() || r.Verdict != health.OK {
		t.Error(dump(r))
	}
	if err := m.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAHundredCallersCostOneRound(t *testing.T) {
	t.Parallel()
	c := processes(t, 1)
	h := newChecker(t, c, nil)
	report(t, h)
	m := c.Masters()[0].Client()
	calls := func() string {
		info := m.Info(t.Context(), "commandstats").Val()
		i := strings.Index(info, "cmdstat_cluster|slots:")
		return info[i : i+strings.IndexByte(info[i:], ',')]
	}
	old := report(t, h)
	eventually(t, 3*time.Second, "age", func() bool { return time.Since(old.Time) > 600*time.Millisecond })
	before := calls()
	var wg sync.WaitGroup
	got := make([]*health.Report, 100)
	for i := range got {
		wg.Go(func() { got[i] = report(t, h) })
	}
	wg.Wait()
	var n0, n1 int
	fmt.Sscanf(before, "cmdstat_cluster|slots:calls=%d", &n0)
	fmt.Sscanf(calls(), "cmdstat_cluster|slots:calls=%d", &n1)
	if n1-n0 != 1 {
		t.Errorf("%d rounds for 100 callers, want 1 (%q)", n1-n0, before)
	}
	if slices.ContainsFunc(got, func(r *health.Report) bool { return r != got[0] }) {
		t.Error("the callers got different reports")
	}
}

func TestLivezReadyzAndReportzThroughAFault(t *testing.T) {
	t.Parallel()
	c := processes(t, 0)
	h := newChecker(t, c, func(cfg *health.Config) { cfg.MaxAge, cfg.ReplicasOptional = -1, true })
	get := func(handler http.Handler) (int, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		return w.Code, w.Body.String()
	}
	want := func(when string, codes ...int) {
		t.Helper()
		for i, code := range codes {
			if got, body := get(h.Readyz()); got != code {
				t.Fatalf("%s, round %d: readyz %d, want %d: %s", when, i+1, got, code, body)
			}
			if got, _ := get(health.Livez()); got != 200 {
				t.Fatalf("%s: livez %d", when, got)
			}
		}
	}
	healthy(t, h)
	eventually(t, 20*time.Second, "ready", func() bool { code, _ := get(h.Readyz()); return code == 200 })
	want("healthy", 200)
	m := c.Masters()[0]
	if err := m.Pause(); err != nil {
		t.Fatal(err)
	}
	want("one lost probe", 200)
	if err := m.Resume(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "OK after one lost probe", func() bool { return report(t, h).Verdict != health.Down })
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	want("killed", 200, 503, 503)
	if code, body := get(h.Reportz()); code != 200 || !strings.Contains(body, `"slots_unserved"`) || !strings.Contains(body, `"schema": "rcctl.health.v1"`) {
		t.Errorf("reportz %d: %s", code, body)
	}
	if _, body := get(h.Readyz()); !strings.HasPrefix(body, "down\nmaster_unreachable "+m.Addr()+" slots ") {
		t.Errorf("readyz says %q", body)
	}
	w := httptest.NewRecorder()
	h.Readyz().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
	h.Close()
	if code, _ := get(h.Readyz()); code != 503 {
		t.Errorf("closed: readyz %d", code)
	}
	if code, _ := get(health.Livez()); code != 200 {
		t.Errorf("closed: livez %d", code)
	}
}

func TestACallerThatGivesUpGetsItsContextsError(t *testing.T) {
	t.Parallel()
	c := processes(t, 0)
	h := newChecker(t, c, nil)
	for _, m := range c.Masters() {
		if err := m.Pause(); err != nil {
			t.Fatal(err)
		}
		defer m.Resume()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := h.Report(ctx); err != context.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
	if r := report(t, h); r.Known || r.Reasons[0].Code != health.CodeUnreachable || time.Since(start) > seeIn {
		t.Errorf("after %s: %s", time.Since(start), dump(r))
	}
}
