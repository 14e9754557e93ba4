package bench_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rcctl/rcctl/bench"
)

func TestAStormShowsDialsAndFindsTheKnee(t *testing.T) {
	c := startCluster(t)
	for _, engine := range []string{bench.EnginePool, bench.EngineGoRedis} {
		o := bench.StormOptions{Options: options(c), PoolSizes: []int{1, 16}}
		o.Engine, o.Duration, o.Workers = engine, 500*time.Millisecond, 100
		o.Cluster.ReadTimeout = 2 * time.Second // this is no test of the machine's speed
		o.Cluster.DialTimeout = 2 * time.Second
		s, err := bench.RunStorm(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("engine %s: cold %+v, warm %+v, reconnect %+v, knee %d", engine, s.ColdStart, s.Warm, s.Reconnect, s.Knee)
		if s.ColdStart.Errors != 0 || s.Warm.Errors != 0 || s.Reconnect.Errors != 0 {
			t.Errorf("engine %s: errors %v, %v, %v", engine, s.ColdStart.Kinds, s.Warm.Kinds, s.Reconnect.Kinds)
		}
		if s.Reconnect.Dials == 0 || s.ColdStart.Dials == 0 {
			t.Errorf("engine %s: %d and %d dials, want some: there were no connections", engine, s.ColdStart.Dials, s.Reconnect.Dials)
		}
		if len(s.Sweep) != 2 || s.Sweep[0].WaitShare < 0.3 || s.Knee == 0 {
			t.Errorf("engine %s: sweep %+v, knee %d: want waits with one connection", engine, s.Sweep, s.Knee)
		}
	}
}

func TestAStormRefusesPoolSizesOfNothing(t *testing.T) {
	var oe *bench.OptionError
	if _, err := bench.RunStorm(t.Context(), bench.StormOptions{PoolSizes: []int{0}}); !errors.As(err, &oe) {
		t.Errorf("error %v, want an OptionError", err)
	}
}
