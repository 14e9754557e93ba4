package bench

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// load runs a generator in virtual time with a fake cluster and returns what
// was recorded.
func load(t *testing.T, ctx context.Context, o Options, send sender) (*generator, *tally, int) {
	t.Helper()
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	rec := newRecorder(4)
	g := newGenerator(o.withDefaults(), send, func(int) int { return -1 }, rec, time.Now())
	g.sleeper = func() (func(time.Duration), func()) { return time.Sleep, func() {} }
	unfinished := g.run(ctx)
	rec.close()
	sum := newTally()
	rec.drain(sum)
	return g, sum, unfinished
}

func takes(d time.Duration) sender {
	return func(context.Context, []operation, []outcome) { time.Sleep(d) }
}

func TestOpenLoopSendsExactlyTheRateTimesTheDuration(t *testing.T) {
	for _, tc := range []struct {
		rate     float64
		duration time.Duration
		warmup   time.Duration
		want     uint64
	}{
		{2000, 10 * time.Second, 0, 20_000},
		{3000, 14 * time.Second, 2 * time.Second, 42_000},
		{0.5, 10 * time.Second, 0, 5},
		{333.3, 3 * time.Second, 700 * time.Millisecond, 1000},
		{1, 200 * time.Millisecond, 0, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := Options{Rate: tc.rate, Duration: tc.duration, Warmup: tc.warmup}
			_, sum, _ := load(t, t.Context(), o, takes(time.Millisecond))
			if sum.operations != tc.want {
				t.Errorf("rate %v for %s: %d operations, want %d", tc.rate, tc.duration, sum.operations, tc.want)
			}
			if sum.intended.max != 1000 || sum.service.max != 1000 {
				t.Errorf("rate %v: intended max %d µs, service max %d µs, want 1000 for both", tc.rate, sum.intended.max, sum.service.max)
			}
		})
	}
}

func TestDueTimesDoNotDrift(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	p := pace{start: start, every: 1e9 / 3000.0}
	for _, i := range []int64{0, 1, 2999, 3000, 3_000_000, 10_800_000} {
		want := start.Add(time.Duration(math.Round(float64(i) / 3000 * 1e9)))
		if got := p.due(i); got.Sub(want).Abs() > time.Microsecond {
			t.Errorf("request %d is due at %s, want %s", i, got, want)
		}
	}
	if n := p.dueCount(start.Add(time.Second - time.Microsecond)); n != 3000 {
		t.Errorf("%d requests are due in the first second, want 3000", n)
	}
}

func TestAStallOfTheClusterCountsIntoIntendedLatencyOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		send := func(context.Context, []operation, []outcome) {
			if at := time.Since(begin); at >= 3*time.Second && at < 5*time.Second {
				time.Sleep(5*time.Second - at)
			}
			time.Sleep(time.Millisecond)
		}
		o := Options{Rate: 1000, Duration: 10 * time.Second, Workers: 10}
		g, sum, _ := load(t, t.Context(), o, send)
		if sum.operations != 10_000 {
			t.Errorf("%d operations, want all 10000", sum.operations)
		}
		if p95 := sum.intended.at(95); p95 < 1_000_000 {
			t.Errorf("intended p95 %d µs, want above a second", p95)
		}
		if p99 := sum.service.at(99); p99 > 2000 {
			t.Errorf("service p99 %d µs, want about 1 ms: only ten requests met the stall", p99)
		}
		if q := g.peak.Load(); q < 1900 || q > 2000 {
			t.Errorf("longest queue %d, want nearly 2000", q)
		}
		if lag := sum.lag.max; lag > 10 {
			t.Errorf("schedule lag %d µs: the wait for busy workers is not the generator's", lag)
		}
	})
}

func TestUnlimitedWorkersSendEveryRequestAtItsDueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Rate: 1000, Duration: 2 * time.Second, Workers: Unlimited}
		_, sum, _ := load(t, t.Context(), o, takes(1500*time.Millisecond))
		if sum.operations != 2000 || sum.wait.max > 1 {
			t.Errorf("%d operations, longest wait %d µs: want 2000 and none", sum.operations, sum.wait.max)
		}
	})
}

func TestRequestsLeftInTheQueueAtTheEndAreDroppedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Rate: 100, Duration: 10 * time.Second, Workers: 1}
		begin := time.Now()
		g, sum, unfinished := load(t, t.Context(), o, takes(100*time.Millisecond))
		if took := time.Since(begin); took > 12500*time.Millisecond {
			t.Errorf("took %s, want at most duration + drain", took)
		}
		if all := sum.operations + uint64(g.dropped.Load()); all != 1000 || unfinished != 0 {
			t.Errorf("%d sent + %d dropped, want 1000 together; %d unfinished", sum.operations, g.dropped.Load(), unfinished)
		}
		if sum.operations < 119 || sum.operations > 121 {
			t.Errorf("%d operations, want 10/s for 12 s", sum.operations)
		}
	})
}

func TestARequestThatNeverEndsIsGivenUpAndCountedOnce(t *testing.T) {
	for _, rate := range []float64{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			stuck := make(chan struct{})
			var n atomic.Int64
			send := func(context.Context, []operation, []outcome) {
				if n.Add(1) == 50 {
					<-stuck
					return
				}
				time.Sleep(time.Millisecond)
			}
			begin := time.Now()
			o := Options{Rate: rate, Duration: 2 * time.Second, Workers: 2}
			_, sum, unfinished := load(t, t.Context(), o, send)
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("rate %v: took %s", rate, took)
			}
			if unfinished != 1 || sum.kinds["no answer by the end"] != 1 || sum.errors != 1 {
				t.Errorf("rate %v: unfinished %d, errors %v", rate, unfinished, sum.kinds)
			}
			if want := int64(sum.operations); n.Load() != want {
				t.Errorf("rate %v: %d sent, %d counted", rate, n.Load(), want)
			}
			close(stuck)
			synctest.Wait()
		})
	}
}

func TestACancelledRunEndsAtOnce(t *testing.T) {
	for _, rate := range []float64{0, 1000} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begin := time.Now()
			_, sum, _ := load(t, ctx, Options{Rate: rate, Duration: time.Hour, Workers: 5}, takes(5*time.Millisecond))
			if took := time.Since(begin); took > 1100*time.Millisecond {
				t.Errorf("rate %v: ended after %s", rate, took)
			}
			if sum.operations < 900 || sum.operations > 1010 {
				t.Errorf("rate %v: %d operations in a second, want about 1000", rate, sum.operations)
			}
		})
	}
}

func TestClosedLoopKeepsEachWorkerBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Duration: 2 * time.Second, Warmup: time.Second, Workers: 4}
		_, sum, _ := load(t, t.Context(), o, takes(10*time.Millisecond))
		if sum.operations < 796 || sum.operations > 804 {
			t.Errorf("%d operations, want 4 workers x 100/s x 2 s", sum.operations)
		}
		if sum.service.max != sum.intended.max {
			t.Errorf("service max %d, intended max %d: a closed loop has one latency", sum.service.max, sum.intended.max)
		}
	})
}

func TestPipelinesCountEveryCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		send := func(_ context.Context, ops []operation, out []outcome) {
			out[3].kind = "MOVED"
			out[4].miss = true
			time.Sleep(time.Millisecond)
		}
		o := Options{Rate: 1000, Duration: 2 * time.Second, Pipeline: 10}
		_, sum, _ := load(t, t.Context(), o, send)
		if sum.operations != 2000 || sum.errors != 200 || sum.misses != 200 {
			t.Errorf("operations %d, errors %d, misses %d: want 2000, 200, 200", sum.operations, sum.errors, sum.misses)
		}
		if n := sum.service.h.TotalCount(); n != 1800 {
			t.Errorf("%d in the service histogram, want the 1800 that succeeded", n)
		}
		if n := sum.failed.h.TotalCount(); n != 200 {
			t.Errorf("%d in the histogram of failures, want 200", n)
		}
	})
}
