package lockcluster

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Stats are the counts of a cache since it was made. They never go backwards,
// but for the last three fields, which are states.
type Stats struct {
	// Patterns counts calls by the label that Config.Pattern gave their key.
	Patterns map[string]PatternStats
	// Loads counts loader calls by reason (miss, stale, early, fallback, sick,
	// refused, foreign, moving, batch) and outcome (ok, not_found, error, panic,
	// goexit, timeout).
	Loads map[string]map[string]uint64
	// LoadSeconds are the durations of loader calls.
	LoadSeconds Histogram
	// WaitSeconds are the waits for somebody else's load, by what ended them:
	// message, timer, none (the wait ran out).
	WaitSeconds map[string]Histogram
	// Leases counts answers to the question for a lease (acquired, held,
	// fresh, cooling, foreign), and leases lost while a load ran (lost).
	Leases map[string]uint64
	// Fills counts stored values: stored, lost (superseded meanwhile), refused
	// (by Redis: OOM, NOPERM ...), unanswered, too_large.
	Fills map[string]uint64
	// RefreshesSkipped counts refreshes for which all RefreshWorkers were busy.
	RefreshesSkipped uint64
	// Undecodable counts values that a Typed could not decode and loaded anew.
	Undecodable uint64
	// ShardsOpened is how often a shard was found not to answer.
	ShardsOpened uint64

	// ShardsSick is the number of shards left alone now.
	ShardsSick int
	// Subscribed tells whether the wake-up subscription is alive.
	Subscribed bool
	// Copies is the number of last good copies kept.
	Copies int
}

// PatternStats counts the Get calls of the keys of one pattern by result.
type PatternStats struct {
	Fresh, Early, Stale uint64 // answered from Redis
	Miss                uint64 // answered by a load that the call waited for
	Negative            uint64 // ErrNotFound
	Fallback            uint64 // answered by a load after WaitBudget
	Copy                uint64 // answered by a last good copy
	Error               uint64
	Canceled            uint64 // the caller's context ended first
	// Elsewhere are those of Miss whose value another process loaded.
	Elsewhere uint64
	// Shared are the calls whose answer went to more than one caller of this
	// process, leaders included.
	Shared uint64
}

// A Histogram counts observations by upper bound.
type Histogram struct {
	Bounds []float64 // seconds, ascending
	Counts []uint64  // one per bound, not cumulative, and one for what is above
	Sum    float64   // seconds
}

var bounds = [...]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

type histogram struct {
	counts [len(bounds) + 1]atomic.Uint64
	sum    atomic.Int64
}

func (h *histogram) observe(d time.Duration) {
	i := 0
	for i < len(bounds) && d.Seconds() > bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

func (h *histogram) snapshot() Histogram {
	s := Histogram{Bounds: bounds[:], Counts: make([]uint64, len(h.counts)), Sum: time.Duration(h.sum.Load()).Seconds()}
	for i := range h.counts {
		s.Counts[i] = h.counts[i].Load()
	}
	return s
}

type loadReason int

const (
	loadMiss loadReason = iota
	loadStale
	loadEarly
	loadFallback
	loadSick
	loadRefused
	loadForeign
	loadMoving
	loadBatch
)

var loadReasons = [...]string{"miss", "stale", "early", "fallback", "sick", "refused", "foreign", "moving", "batch"}

type wakeCause int

const (
	wokenByNothing wakeCause = iota
	wokenByMessage
	wokenByTimer
)

var wakeCauses = [...]string{"none", "message", "timer"}

var loadOutcomes = [...]string{"ok", "not_found", "error", "panic", "goexit", "timeout"}

var leaseStates = [...]string{"ACQUIRED", "HELD", "FRESH", "COOLING", "FOREIGN", "LOST"}
var leaseNames = [...]string{"acquired", "held", "fresh", "cooling", "foreign", "lost"}

type counters struct {
	patternOf func(string) string
	only      *patternCounters // when there is no patternOf
	patterns  sync.Map         // string → *patternCounters
	nPatterns atomic.Int64

	loads       [len(loadReasons)][len(loadOutcomes)]atomic.Uint64
	loadSeconds histogram
	waits       [len(wakeCauses)]histogram
	leases      [len(leaseStates)]atomic.Uint64
	fills       struct{ stored, lost, refused, unanswered, tooLarge atomic.Uint64 }

	refreshesSkipped, undecodable atomic.Uint64
}

const maxPatterns = 100

func newCounters(patternOf func(string) string) *counters {
	return &counters{patternOf: patternOf, only: &patternCounters{}}
}

func (c *counters) pattern(key string) *patternCounters {
	if c.patternOf == nil {
		return c.only
	}
	return c.named(c.patternOf(key))
}

func (c *counters) named(name string) *patternCounters {
	if p, ok := c.patterns.Load(name); ok {
		return p.(*patternCounters)
	}
	if name != "other" && c.nPatterns.Add(1) > maxPatterns {
		c.nPatterns.Add(-1)
		return c.named("other")
	}
	p, _ := c.patterns.LoadOrStore(strings.Clone(name), &patternCounters{})
	return p.(*patternCounters)
}

func (c *counters) load(reason loadReason, o outcome) {
	i := 0
	switch {
	case o.missing:
		i = 1
	case o.reason != 0:
		i = 1 + int(o.reason) // LoaderFailed … LoadTimedOut
	}
	c.loads[reason][i].Add(1)
	c.loadSeconds.observe(o.took)
}

func (c *counters) waited(by wakeCause, d time.Duration) { c.waits[by].observe(d) }

func (c *counters) lease(state string) {
	for i, s := range leaseStates {
		if s == state {
			c.leases[i].Add(1)
		}
	}
}

type patternCounters struct {
	source                            [len(sources)]atomic.Uint64
	negative, failed, canceled, share atomic.Uint64
}

func (p *patternCounters) count(r Result, err error) {
	if r.Shared {
		p.share.Add(1)
	}
	switch {
	case err == nil:
		p.source[r.Source].Add(1)
	case errors.Is(err, ErrNotFound):
		p.negative.Add(1)
	case err == context.Canceled || err == context.DeadlineExceeded:
		p.canceled.Add(1)
	default:
		p.failed.Add(1)
	}
}

func (p *patternCounters) snapshot() PatternStats {
	s := func(s Source) uint64 { return p.source[s].Load() }
	return PatternStats{
		Fresh: s(Fresh), Early: s(Early), Stale: s(Stale),
		Miss:     s(Loaded) + s(Elsewhere) + s(Alone),
		Negative: p.negative.Load(), Fallback: s(Fallback), Copy: s(LastGood),
		Error: p.failed.Load(), Canceled: p.canceled.Load(),
		Elsewhere: s(Elsewhere), Shared: p.share.Load(),
	}
}

// Stats are the counts so far. It does not block.
func (c *Cache) Stats() Stats {
	k := c.stats
	s := Stats{
		Patterns:    map[string]PatternStats{},
		Loads:       map[string]map[string]uint64{},
		LoadSeconds: k.loadSeconds.snapshot(),
		WaitSeconds: map[string]Histogram{},
		Leases:      map[string]uint64{},
		Fills: map[string]uint64{"stored": k.fills.stored.Load(), "lost": k.fills.lost.Load(), "refused": k.fills.refused.Load(),
			"unanswered": k.fills.unanswered.Load(), "too_large": k.fills.tooLarge.Load()},
		RefreshesSkipped: k.refreshesSkipped.Load(),
		Undecodable:      k.undecodable.Load(),
		Subscribed:       c.wake.healthy.Load(),
		Copies:           c.copies.len(),
	}
	if k.patternOf == nil {
		s.Patterns[""] = k.only.snapshot()
	}
	k.patterns.Range(func(name, p any) bool {
		s.Patterns[name.(string)] = p.(*patternCounters).snapshot()
		return true
	})
	for i, reason := range loadReasons {
		s.Loads[reason] = map[string]uint64{}
		for j, outcome := range loadOutcomes {
			s.Loads[reason][outcome] = k.loads[i][j].Load()
		}
	}
	for i, cause := range wakeCauses {
		s.WaitSeconds[cause] = k.waits[i].snapshot()
	}
	for i, name := range leaseNames {
		s.Leases[name] = k.leases[i].Load()
	}
	s.ShardsSick, s.ShardsOpened = c.shards.sick()
	return s
}
