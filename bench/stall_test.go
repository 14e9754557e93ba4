package bench_test

import (
	"testing"
	"time"

	"github.com/rcctl/rcctl/bench"
	"github.com/rcctl/rcctl/clustertest"
)

func TestAStalledMasterShowsInIntendedLatencyAndNotInServiceLatency(t *testing.T) {
	if testing.Short() {
		t.Skip("runs for 14 seconds")
	}
	c := clustertest.Run(t, clustertest.Options{
		Backend: clustertest.Processes{}, NodeTimeout: 15 * time.Second, // a stall must not become a failover
		Config: map[string]string{"enable-debug-command": "yes"},
	})
	stalled := c.Masters()[1]
	o := options(c)
	o.Engine, o.Rate, o.Duration, o.Workers = bench.EngineGoRedis, 3000, 14*time.Second, 50
	o.Cluster.ReadTimeout = 5 * time.Second
	done := make(chan error, 1)
	began := false
	o.Progress = func(p bench.Progress) {
		if p.Phase == "run" && p.Elapsed >= 3*time.Second && !began {
			began = true
			go func() { done <- stalled.Client().Do(t.Context(), "DEBUG", "SLEEP", "2").Err() }()
		}
	}
	res := mustRun(t, o)
	<-done // the sleep itself may outlast the read timeout of that client
	if res.Errors != 0 || res.Operations != 42_000 {
		t.Errorf("%d operations, %d errors %v: want 42000 and none", res.Operations, res.Errors, res.ErrorKinds)
	}
	if p95 := res.Latency.Intended.P95; p95 < 500_000 {
		t.Errorf("intended p95 %d µs, want at least 500 ms", p95)
	}
	if p95 := res.Latency.Service.P95; p95 >= 50_000 {
		t.Errorf("service p95 %d µs, want below 50 ms", p95)
	}
	var found bool
	for _, n := range res.Nodes {
		if n.Addr == stalled.Addr() {
			found = n.Slowest >= 1_500_000
		}
	}
	if !found {
		t.Errorf("the report does not show that %s was slow", stalled.Addr())
	}
	if res.Books.State != "closed" {
		t.Errorf("books %+v", res.Books)
	}
}
