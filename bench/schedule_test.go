package bench

import (
	"context"
	"testing"
	"time"
)

func TestTwentyThousandRequestsASecondKeepTheirTimes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes five seconds")
	}
	o := Options{Rate: 20_000, Duration: 5 * time.Second, Workers: 64}.withDefaults()
	rec := newRecorder(16)
	u := startUsage()
	g := newGenerator(o, func(context.Context, []operation, []outcome) {}, func(int) int { return -1 }, rec, time.Now())
	g.run(t.Context())
	rec.close()
	u.stop()
	sum := newTally()
	rec.drain(sum)
	t.Logf("interarrival error %+v", g.gaps.percentiles())
	t.Logf("lag %+v", sum.lag.percentiles())
	t.Logf("cpu %+v", u.result)
	if sum.operations != 100_000 {
		t.Errorf("%d requests, want exactly 100000", sum.operations)
	}
	if p99 := g.gaps.at(99); p99 > 1000 {
		if u.result.HostCPUShare > hostBusyShare {
			t.Logf("interarrival error p99 %d µs, above 1 ms, on a host that is %.0f %% busy", p99, u.result.HostCPUShare*100)
			return
		}
		t.Errorf("interarrival error p99 %d µs, want at most 1 ms", p99)
	}
}
