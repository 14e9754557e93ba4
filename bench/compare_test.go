package bench

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// simulated are runs whose metrics vary by 2 % around a level.
func simulated(rnd *rand.Rand, n int, level float64) RunSet {
	s := RunSet{Label: "x"}
	for range n {
		v := func(f float64) float64 { return f * level * (1 + 0.02*rnd.NormFloat64()) }
		s.Runs = append(s.Runs, &Result{
			Operations: 1000,
			Rate:       Rate{Achieved: 50_000 / (v(1))},
			Latency: Latencies{
				Intended: Percentiles{P50: int64(v(10_000)), P99: int64(v(50_000))},
				Service:  Percentiles{P99: int64(v(40_000))},
			},
		})
	}
	return s
}

func alarms(c *Comparison) (n int) {
	for _, m := range c.Metrics {
		if m.Verdict != "~" {
			n++
		}
	}
	return n
}

func TestEqualRunsRarelyRaiseAFalseAlarm(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	const pairs = 2000
	wrong := 0
	for range pairs {
		a, b := simulated(rnd, 10, 1).Runs, simulated(rnd, 10, 1).Runs
		for _, m := range compared {
			if _, verdict := m.verdict(m.values(a), m.values(b)); verdict != "~" {
				wrong++
				break
			}
		}
	}
	t.Logf("%d of %d pairs raised an alarm", wrong, pairs)
	if wrong > pairs/20 {
		t.Errorf("%d false alarms in %d pairs, want at most 5 %%", wrong, pairs)
	}
}

func TestARegressionOfFivePercentIsFound(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	pairs := 200
	if testing.Short() {
		pairs = 40
	}
	found := 0
	for range pairs {
		c, err := Compare(simulated(rnd, 10, 1), simulated(rnd, 10, 1.05))
		if err != nil {
			t.Fatal(err)
		}
		if c.Metrics[2].Verdict == "worse" {
			found++
		}
		if c.Metrics[0].Verdict == "better" {
			t.Errorf("less throughput is called better: %+v", c.Metrics[0])
		}
	}
	t.Logf("found in %d of %d pairs", found, pairs)
	if found < pairs*95/100 {
		t.Errorf("found in %d of %d pairs, want nearly all", found, pairs)
	}
}

func TestUnlikeWorkloadsAreRefused(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 9))
	a, b := simulated(rnd, 5, 1), simulated(rnd, 5, 1)
	b.Runs[3].Options.ValueSize = 4096
	if _, err := Compare(a, b); err == nil || !strings.Contains(err.Error(), "value size 0 and 4096") {
		t.Errorf("error %v", err)
	}
	b = simulated(rnd, 5, 1)
	b.Runs[0].Interrupted = true
	if _, err := Compare(a, b); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("error %v", err)
	}
	if _, err := Compare(a, RunSet{Label: "empty"}); err == nil {
		t.Error("an empty set is compared")
	}
}

func TestFewRunsAreNoiseAndSaySo(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 9))
	c, err := Compare(simulated(rnd, 1, 1), simulated(rnd, 1, 3))
	if err != nil {
		t.Fatal(err)
	}
	if alarms(c) != 0 || !strings.Contains(c.Metrics[0].Note, "5 runs") {
		t.Errorf("%+v", c.Metrics[0])
	}
	var b strings.Builder
	if err := c.WriteText(&b); err != nil || !strings.Contains(b.String(), "~") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestBenchstatReadsTheExport(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 9))
	var b strings.Builder
	s := simulated(rnd, 2, 1)
	s.Label = "a b"
	if err := WriteBenchstat(&b, s); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "BenchmarkCluster/set=a_b 1000 ") || len(strings.Fields(lines[1])) != 10 {
		t.Errorf("%q", lines)
	}
}
