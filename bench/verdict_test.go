package bench

import (
	"strings"
	"testing"
)

func TestTheVerdictNamesWhatLimitedTheRun(t *testing.T) {
	base := func() *Result {
		return &Result{
			Operations: 10_000, Seconds: 10,
			Rate:      Rate{Wanted: 2000, Achieved: 1000},
			Options:   Setup{Workers: 50, Pipeline: 1, Client: Client{PoolSize: 100}},
			Latency:   Latencies{Service: Percentiles{Count: 10_000, Mean: 200, P50: 200, Max: 900}},
			Generator: Generator{GOMAXPROCS: 4, CPUShare: 0.2, HostCPUShare: 0.3},
			Nodes:     []Node{{Addr: "a", Owned: 5000, Slowest: 900}, {Addr: "b", Owned: 5000, Slowest: 800}},
		}
	}
	for _, tc := range []struct {
		name     string
		set      func(*Result)
		limit    string
		evidence string
	}{
		{"the rate was reached", func(r *Result) { r.Rate.Achieved = 1999 }, LimitNothing, "1,999/s of 2,000/s"},
		{"reached, but one node stalled", func(r *Result) {
			r.Rate.Achieved = 2000
			r.Nodes[0].Slowest = 2_000_000
			r.Schedule.QueuePeak = 5900
		}, LimitNothing, "up to 5,900 requests were due"},
		{"waits for connections", func(r *Result) { r.Pool = PoolUse{Waits: 9000, WaitSeconds: 1.5} }, LimitPool, "75 % of the service time"},
		{"pool timeouts", func(r *Result) { r.Pool = PoolUse{Timeouts: 200} }, LimitPool, "200 of them timed out"},
		{"a busy server", func(r *Result) { r.Nodes[1].CPUShare = 0.97 }, LimitServer, "b used 97 %"},
		{"errors", func(r *Result) { r.Errors, r.ErrorKinds = 500, map[string]uint64{"timeout": 500} }, LimitServer, "500 of 10,000 operations failed: 500 timeout"},
		{"a stalled server", func(r *Result) { r.Nodes[1].Slowest = 2_000_000 }, LimitServer, "b took up to 2.00 s"},
		{"own processors", func(r *Result) { r.Generator.CPUShare = 0.96 }, LimitGenerator, "this process used 96 %"},
		{"processors of the host", func(r *Result) { r.Generator.HostCPUShare = 0.99 }, LimitGenerator, "run the generator on another host"},
		{"a quota", func(r *Result) { r.Generator.Throttled = 12 }, LimitGenerator, "quota"},
		{"too few workers", func(r *Result) {}, LimitGenerator, "raise --workers"},
		{"a long way", func(r *Result) { r.Latency.Service.P50 = 30_000 }, LimitNetwork, "network"},
		{"a closed loop", func(r *Result) { r.Rate.Wanted = 0 }, LimitGenerator, "50 workers"},
		{"nothing ended", func(r *Result) { *r = Result{Rate: Rate{Wanted: 10}} }, LimitServer, "no operation ended"},
	} {
		r := base()
		tc.set(r)
		limit, evidence := judge(r)
		if limit != tc.limit || !strings.Contains(strings.Join(evidence, "\n"), tc.evidence) {
			t.Errorf("%s: %s %q, want %s with %q", tc.name, limit, evidence, tc.limit, tc.evidence)
		}
	}
}

func TestALateScheduleIsAWarning(t *testing.T) {
	r := &Result{Operations: 10, Rate: Rate{Wanted: 10, Achieved: 10}, Schedule: Schedule{Lag: Percentiles{Count: 10, P99: 5000}}}
	if _, e := judge(r); !strings.Contains(strings.Join(e, "\n"), "late by 5.00 ms") {
		t.Errorf("evidence %q", e)
	}
}
