package bench_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/bench"
	"github.com/rcctl/rcctl/pool"
)

func TestEightWorkersLoadEightTimesWithoutAGuardAndOnceWithLockcluster(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for two expiries with each of six guards")
	}
	t.Parallel() // it mostly waits
	c := startCluster(t)
	s, err := bench.RunStampede(t.Context(), bench.StampedeOptions{
		Cluster: pool.Config{Addrs: c.Addrs()[:1]}, Workers: []int{8}, Callers: 4, TTLs: []time.Duration{600 * time.Millisecond}, Expiries: 2,
		Load: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := s.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
	per, p99 := map[string]float64{}, map[string]int64{}
	for _, r := range s.Rows {
		per[r.Guard], p99[r.Guard] = r.PerExpiry, r.Latency.P99
	}
	// Four callers in each of eight workers: without a guard all of them load,
	// with one in the process each worker does.
	for guard, want := range map[string][2]float64{
		"none": {24, 33}, "mutex": {5, 9}, "singleflight": {7, 11}, "redis-lock": {1, 2}, "lockcluster": {1, 1}, "lockcluster-stale": {1, 1},
	} {
		if got := per[guard]; got < want[0] || got > want[1] {
			t.Errorf("%s: %.1f loads per expiry, want %v", guard, got, want)
		}
	}
	if p99["lockcluster-stale"] >= 200_000 || p99["none"] < 250_000 {
		t.Errorf("p99 %v µs: want stale values served without a wait, and a wait for the load without a guard", p99)
	}
	noKeys(t, c)
}

func TestStampedesNameWrongOptions(t *testing.T) {
	for want, o := range map[string]bench.StampedeOptions{
		"Workers": {Workers: []int{0}}, "TTLs": {TTLs: []time.Duration{time.Millisecond}}, "Guards": {Guards: []string{"hope"}},
		"Load": {Load: time.Hour}, "Callers": {Callers: -1}, "Expiries": {Expiries: -1},
	} {
		var oe *bench.OptionError
		if _, err := bench.RunStampede(t.Context(), o); !errors.As(err, &oe) || oe.Option != want {
			t.Errorf("error %v, want an OptionError about %s", err, want)
		}
	}
}
