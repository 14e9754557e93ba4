package health_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/health"
	"github.com/redis/go-redis/v9"
)

func TestStatesOfAnEmbeddedCluster(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		fault func(c *clustertest.Cluster) error
		want  health.Verdict
		code  health.Code
	}{
		{"a replica is killed", func(c *clustertest.Cluster) error { return c.Masters()[0].Replicas()[0].Kill() }, health.Degraded, health.CodeNoFailoverCandidate},
		{"a master is killed", func(c *clustertest.Cluster) error { return c.Masters()[0].Kill() }, health.Down, health.CodeMasterUnreachable},
		{"a master is paused", func(c *clustertest.Cluster) error { return c.Masters()[0].Pause() }, health.Down, health.CodeSlotsUnserved},
		{"a master loads", func(c *clustertest.Cluster) error {
			_, err := c.Masters()[0].Inject(clustertest.Fault{Error: "LOADING Redis is loading the dataset in memory"})
			return err
		}, health.Down, health.CodeLoading},
		{"a master refuses the password", func(c *clustertest.Cluster) error {
			_, err := c.Masters()[0].Inject(clustertest.Fault{Error: "NOAUTH Authentication required."})
			return err
		}, health.Down, health.CodeAuth},
		{"a node has an old view", func(c *clustertest.Cluster) error {
			if err := c.Masters()[2].FreezeView(true); err != nil {
				return err
			}
			return c.MoveSlots(t.Context(), c.Masters()[1], 0, 1, 2)
		}, health.Degraded, health.CodeViewDivergence},
		{"a replica is promoted", func(c *clustertest.Cluster) error {
			return c.Failover(t.Context(), c.Masters()[0].Replicas()[0])
		}, health.OK, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := clustertest.Run(t, clustertest.Options{Replicas: 1, NodeTimeout: time.Hour})
			h := newChecker(t, c, nil)
			healthy(t, h)
			if err := tc.fault(c); err != nil {
				t.Fatal(err)
			}
			r := wantReport(t, h, tc.name, func(r *health.Report) bool {
				return r.Verdict == tc.want && (tc.code == "" || r.Has(tc.code))
			})
			if len(r.Shards) != 3 {
				t.Error(dump(r))
			}
		})
	}
}

// In virtual time the bounds are exact.
func TestTheBoundsOfReportAndQuickCheckInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Embedded{InMemory: true}, Replicas: 1, NodeTimeout: time.Hour})
		h := newChecker(t, c, nil)
		r := report(t, h)
		if r.Verdict != health.OK {
			t.Fatal(dump(r))
		}
		time.Sleep(499 * time.Millisecond)
		if report(t, h) != r {
			t.Error("another report within 500 ms")
		}
		time.Sleep(time.Millisecond)
		if r = report(t, h); time.Since(r.Time) != 0 {
			t.Error("a report of 500 ms is handed out again")
		}
		hung := c.Masters()[1]
		if err := hung.Pause(); err != nil {
			t.Fatal(err)
		}
		paused := time.Now()
		for report(t, h).Verdict != health.Down {
			time.Sleep(10 * time.Millisecond)
		}
		if d := time.Since(paused); d > 900*time.Millisecond {
			t.Errorf("seen after %s, want at most MaxAge + Timeout = 900 ms", d)
		}
		start := time.Now()
		err := health.QuickCheck(t.Context(), c.Client())
		var ne *health.NodeError
		if d := time.Since(start); err == nil || d > 3*time.Second || errors.As(err, &ne) && ne.Addr != hung.Addr() {
			t.Errorf("QuickCheck after %s: %v", d, err)
		}
		if err := hung.Resume(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCloseEndsConnectionsAndGoroutines(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Replicas: 1})
	dials := &countingDialer{}
	o := c.ClientOptions()
	o.Dialer = dials.wrap(o.Dialer)
	before := runtime.NumGoroutine()
	h, err := health.New(health.Config{Options: o, MaxAge: -1})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		report(t, h)
	}
	if n := dials.made.Load(); n != 6 {
		t.Errorf("20 rounds dialed %d times, want 6: one connection a node", n)
	}
	h.Close()
	h.Close()
	if _, err := h.Report(t.Context()); !errors.Is(err, health.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	eventually(t, 5*time.Second, "no connection", func() bool { return dials.open.Load() == 0 })
	eventually(t, 5*time.Second, "the goroutines of before", func() bool { return runtime.NumGoroutine() <= before })
}

func TestANodeThatHangsHoldsOneProbeNotOneARound(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{NodeTimeout: time.Hour})
	o := c.ClientOptions()
	dials := &countingDialer{}
	o.Dialer = dials.wrap(o.Dialer)
	h, err := health.New(health.Config{Options: o, MaxAge: -1, Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	report(t, h)
	if err := c.Masters()[0].Pause(); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if r := report(t, h); r.Verdict != health.Down {
			t.Fatal(dump(r))
		}
		if n := dials.open.Load(); n > 5 {
			t.Fatalf("%d connections to 3 nodes", n)
		}
		buf := make([]byte, 1<<20)
		if n := strings.Count(string(buf[:runtime.Stack(buf, true)]), "health.ask("); n > 1 {
			t.Fatalf("%d probes are out, one node hangs", n)
		}
	}
}

func TestAPoolThatRanDryIsDegraded(t *testing.T) {
	t.Parallel()
	c := clustertest.Run(t, clustertest.Options{Replicas: 1})
	o := c.ClientOptions()
	o.PoolSize, o.PoolTimeout, o.MaxRedirects = 1, 20*time.Millisecond, -1
	rdb := redis.NewClusterClient(o)
	defer rdb.Close()
	h, err := health.New(health.Config{Client: rdb, MaxAge: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	healthy(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	blocked := make(chan struct{})
	go func() {
		defer close(blocked)
		rdb.BLPop(ctx, time.Second, "{k}list") // holds the only connection
	}()
	eventually(t, 5*time.Second, "a wait for a connection that ends without one", func() bool {
		return errors.Is(rdb.Get(t.Context(), "k").Err(), redis.ErrPoolTimeout)
	})
	if r := report(t, h); !r.Has(health.CodePoolExhausted) || r.Verdict != health.Degraded {
		t.Error(dump(r))
	}
	cancel()
	<-blocked
	if r := report(t, h); r.Has(health.CodePoolExhausted) {
		t.Error("said again without another timeout")
	}
}
