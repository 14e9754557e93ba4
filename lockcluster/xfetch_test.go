package lockcluster_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rcctl/rcctl/lockcluster"
)

func TestTheChanceOfAnEarlyRefreshIsExponential(t *testing.T) {
	const n = 200_000
	r := rand.New(rand.NewPCG(1, 2))
	for _, tc := range []struct {
		beta      float64
		remaining time.Duration
		want      float64
	}{
		{1, 100 * time.Millisecond, math.Exp(-1)},
		{2, 100 * time.Millisecond, math.Exp(-0.5)},
		{1, 500 * time.Millisecond, math.Exp(-5)},
	} {
		hits := 0
		for range n {
			if lockcluster.XFetch(tc.beta, 100*time.Millisecond, time.Minute, tc.remaining, r.Float64) {
				hits++
			}
		}
		sigma := math.Sqrt(tc.want * (1 - tc.want) / n)
		if got := float64(hits) / n; math.Abs(got-tc.want) > 3*sigma {
			t.Errorf("beta %g, %s left: %g, want %g ± %g", tc.beta, tc.remaining, got, tc.want, 3*sigma)
		}
	}
	never := func() float64 { t.Error("drew"); return 1 }
	for name, early := range map[string]bool{
		"beyond 12 × beta × delta": lockcluster.XFetch(1, 100*time.Millisecond, time.Minute, 1201*time.Millisecond, never),
		"beyond a quarter of life": lockcluster.XFetch(1, time.Second, 4*time.Second, 1001*time.Millisecond, never),
		"a load that took no time": lockcluster.XFetch(1, 0, time.Minute, time.Millisecond, never),
		"beta off":                 lockcluster.XFetch(0, time.Second, time.Minute, time.Millisecond, never),
	} {
		if early {
			t.Errorf("%s: early", name)
		}
	}
}
