package bench

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestMixesAreReadAndBadOnesAreNamed(t *testing.T) {
	for _, tc := range []struct{ in, want, err string }{
		{"get=90,set=10", "get=90,set=10", ""},
		{" GET=1 , set=2", "get=1,set=2", ""},
		{"get=1", "get=1", ""},
		{"get=x", "", "whole number"},
		{"get", "", "operation=weight"},
		{"", "", "operation=weight"},
		{"get=0", "", "leave an operation out"},
		{"get=-5", "", "leave an operation out"},
		{"flushall=1", "", "unknown operation"},
		{"get=1,get=2", "", "twice"},
	} {
		m, err := ParseMix(tc.in)
		if tc.err == "" {
			if err != nil || m.String() != tc.want {
				t.Errorf("ParseMix(%q) = %q, %v; want %q", tc.in, m, err, tc.want)
			}
			continue
		}
		var oe *OptionError
		if !errors.As(err, &oe) || oe.Option != "Mix" || !strings.Contains(err.Error(), tc.err) {
			t.Errorf("ParseMix(%q): error %v, want an OptionError with %q", tc.in, err, tc.err)
		}
	}
}

func TestTheMixKeepsItsShares(t *testing.T) {
	w := newWorkload(Options{Mix: Mix{{OpGet, 7}, {OpSet, 3}}, Seed: 5}.withDefaults())
	n := map[Op]int{}
	for i := range int64(100_000) {
		n[w.at(i).op]++
	}
	if s := n[OpSet]; s < 29_000 || s > 31_000 {
		t.Errorf("%d of 100000 operations are sets, want about 30000", s)
	}
}

func TestTheSameSeedMakesTheSameOperations(t *testing.T) {
	make := func(seed uint64) *workload {
		return newWorkload(Options{Seed: seed, Dist: Dist{Name: DistZipf}}.withDefaults())
	}
	a, b, other := make(7), make(7), make(8)
	same := 0
	for i := range int64(1000) {
		x, y := a.at(i), b.at(i)
		if x.key != y.key || x.op != y.op || string(x.value) != string(y.value) {
			t.Fatalf("operation %d differs", i)
		}
		if other.at(i).key == x.key {
			same++
		}
	}
	if same > 0 {
		t.Errorf("another seed made %d of the same keys", same)
	}
}

func TestDistributionsFavourTheKeysTheyPromise(t *testing.T) {
	const n, draws = 10_000, 200_000
	count := func(d Dist) []int {
		pick := d.withDefaults().picker(n)
		c := make([]int, n)
		for i := range int64(draws) {
			c[pick(mix64(uint64(i)), i)]++
		}
		return c
	}
	sum := func(c []int) (s int) {
		for _, v := range c {
			s += v
		}
		return s
	}
	within := func(what string, got, want int) {
		t.Helper()
		if diff := got - want; diff > want/10 || -diff > want/10 {
			t.Errorf("%s: %d of %d draws, want about %d", what, got, draws, want)
		}
	}
	within("uniform, first half", sum(count(Dist{})[:n/2]), draws/2)
	within("hotset, hot keys", sum(count(Dist{Name: DistHotSet})[:n/100]), draws*9/10)
	z := count(Dist{Name: DistZipf})
	zetaN := zeta(n, 0.99)
	within("zipf, first key", z[0], int(draws/zetaN))
	within("zipf, first hundred keys", sum(z[:100]), int(draws*zeta(100, 0.99)/zetaN))
	seq := count(Dist{Name: DistSequential})
	for k, v := range seq {
		if v != draws/n {
			t.Fatalf("sequential: key %d was drawn %d times, want %d", k, v, draws/n)
		}
	}
	for _, small := range []int{1, 2, 3} {
		for _, d := range []string{DistUniform, DistZipf, DistHotSet, DistSequential} {
			pick := Dist{Name: d}.withDefaults().picker(small)
			for i := range int64(1000) {
				if k := pick(mix64(uint64(i)), i); k < 0 || k >= small {
					t.Fatalf("%s over %d keys drew key %d", d, small, k)
				}
			}
		}
	}
}

func TestZetaOfManyKeysIsCloseToTheSum(t *testing.T) {
	n := 3_000_000
	if testing.Short() {
		n = 1_200_000
	}
	exact := zeta(1_000_000, 0.9)
	for i := 1_000_001; i <= n; i++ {
		exact += math.Pow(float64(i), -0.9)
	}
	if got := zeta(n, 0.9); got < exact*0.99999 || got > exact*1.00001 {
		t.Errorf("zeta %v, want %v", got, exact)
	}
}
