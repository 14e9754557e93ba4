package bench

import (
	"math"
)

// The distributions of keys.
const (
	DistUniform    = "uniform"    // every key as often as any other
	DistZipf       = "zipf"       // key n about as often as 1/(n+1)^theta
	DistHotSet     = "hotset"     // a few keys take most of the operations
	DistSequential = "sequential" // one key after the other, round and round
)

// Dist says how keys are chosen.
type Dist struct {
	// Name is one of the Dist constants. Empty means DistUniform.
	Name string `json:"name"`
	// Theta is the skew of zipf, above 0 and below 1. Zero means 0.99, where
	// of 10,000 keys the hottest takes one operation in ten.
	Theta float64 `json:"theta,omitempty"`
	// HotKeys is the share of keys that are hot and HotShare the share of
	// operations that go to them, both above 0 and below 1, for hotset. Zero
	// means 0.01 and 0.9.
	HotKeys  float64 `json:"hot_keys,omitempty"`
	HotShare float64 `json:"hot_share,omitempty"`
}

func (d Dist) validate() error {
	within := func(v float64) bool { return v == 0 || v > 0 && v < 1 }
	switch d.Name {
	case "", DistUniform, DistZipf, DistHotSet, DistSequential:
	default:
		return &OptionError{"Dist", d.Name, "want uniform, zipf, hotset or sequential"}
	}
	if !within(d.Theta) {
		return &OptionError{"Theta", formatFloat(d.Theta), "want a skew above 0 and below 1, such as 0.99"}
	}
	if !within(d.HotKeys) {
		return &OptionError{"HotKeys", formatFloat(d.HotKeys), "want a share of the keys above 0 and below 1, such as 0.01"}
	}
	if !within(d.HotShare) {
		return &OptionError{"HotShare", formatFloat(d.HotShare), "want a share of the operations above 0 and below 1, such as 0.9"}
	}
	return nil
}

func (d Dist) withDefaults() Dist {
	out := Dist{Name: d.Name}
	or := func(v, def float64) float64 {
		if v == 0 {
			return def
		}
		return v
	}
	switch d.Name {
	case "":
		out.Name = DistUniform
	case DistZipf:
		out.Theta = or(d.Theta, 0.99)
	case DistHotSet:
		out.HotKeys, out.HotShare = or(d.HotKeys, 0.01), or(d.HotShare, 0.9)
	}
	return out
}

// picker makes a function from a random number and the number of the
// operation to a key in [0, n).
func (d Dist) picker(n int) func(u uint64, i int64) int {
	switch d.Name {
	case DistZipf:
		return zipf(n, d.Theta)
	case DistHotSet:
		hot := min(max(int(d.HotKeys*float64(n)), 1), n)
		return func(u uint64, _ int64) int {
			v := mix64(u)
			if hot == n || unit(u) < d.HotShare {
				return int(v % uint64(hot))
			}
			return hot + int(v%uint64(n-hot))
		}
	case DistSequential:
		return func(_ uint64, i int64) int { return int(i % int64(n)) }
	default:
		return func(u uint64, _ int64) int { return int(u % uint64(n)) }
	}
}

// zipf is the generator of Gray et al., "Quickly generating billion-record
// synthetic databases" (1994), which YCSB uses too. The standard library's
// needs a skew above 1.
func zipf(n int, theta float64) func(u uint64, i int64) int {
	zetaN := zeta(n, theta)
	alpha := 1 / (1 - theta)
	eta := (1 - math.Pow(2/float64(n), 1-theta)) / (1 - zeta(2, theta)/zetaN)
	second := 1 + math.Pow(0.5, theta)
	return func(u uint64, _ int64) int {
		x := unit(u)
		switch z := x * zetaN; {
		case n == 1 || z < 1:
			return 0
		case n == 2 || z < second:
			return 1
		}
		return min(int(float64(n)*math.Pow(eta*x-eta+1, alpha)), n-1)
	}
}

// zeta is the sum of 1/i^theta for i from 1 to n; past the first million terms
// an integral is close enough.
func zeta(n int, theta float64) float64 {
	const exact = 1_000_000
	sum := 0.0
	for i := 1; i <= min(n, exact); i++ {
		sum += math.Pow(float64(i), -theta)
	}
	if n > exact {
		sum += (math.Pow(float64(n), 1-theta) - math.Pow(exact, 1-theta)) / (1 - theta)
	}
	return sum
}
