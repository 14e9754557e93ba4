package health

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
)

// A Checker makes reports. Its methods may be called concurrently; callers at
// the same time share one round of probes.
type Checker struct {
	cfg    Config
	prober *prober
	flight singleflight.Group

	mu     sync.Mutex
	last   *Report
	known  []string // announced addresses of the round before
	pools  uint64   // timeouts of the client's pools, as of the round before
	asking atomic.Bool
	damper damper

	life   context.Context
	closed context.CancelFunc
}

// probesAtOnce bounds the probes that are out at the same time.
const probesAtOnce = 64

// New makes a checker. It asks nobody yet: the first report does. Its errors
// name every bad field.
func New(cfg Config) (*Checker, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	c := &Checker{cfg: cfg, prober: newProber(cfg.Options, cfg.Timeout)}
	c.life, c.closed = context.WithCancel(context.Background())
	return c, nil
}

// Close ends rounds under way and closes the checker's connections. It may be
// called twice.
func (c *Checker) Close() error {
	c.closed()
	c.prober.close()
	return nil
}

// Report asks every node and says how the cluster is, or hands out a report
// that is not older than MaxAge. A sick cluster is a report, not an error: the
// error is ctx's when it ends first, or [ErrClosed].
//
// A round takes as long as the slowest node, at most Timeout; up to three times
// that when addresses have to be found out first. It goes on for other callers
// when ctx ends.
func (c *Checker) Report(ctx context.Context) (*Report, error) {
	if c.life.Err() != nil {
		return nil, ErrClosed
	}
	if r := c.fresh(); r != nil {
		return r, nil
	}
	ch := c.flight.DoChan("", func() (any, error) {
		if r := c.fresh(); r != nil {
			return r, nil
		}
		return c.ask(), nil
	})
	select {
	case res := <-ch:
		if c.life.Err() != nil {
			return nil, ErrClosed
		}
		return res.Val.(*Report), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.life.Done():
		return nil, ErrClosed
	}
}

// fresh is the last report while it is young enough.
func (c *Checker) fresh() *Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && time.Since(c.last.Time) < c.cfg.MaxAge {
		return c.last
	}
	return nil
}

// ask makes one round and its report.
func (c *Checker) ask() *Report {
	r := round{
		time:             time.Now(),
		seeds:            c.cfg.Options.Addrs,
		maxLag:           c.cfg.MaxLag,
		maxLagBytes:      c.cfg.MaxLagBytes,
		replicasOptional: c.cfg.ReplicasOptional,
		tls:              c.cfg.Options.TLSConfig != nil,
	}
	c.mu.Lock()
	known := c.known
	c.mu.Unlock()
	r.answers = c.askAll(known)
	if c.cfg.Breakers != nil {
		r.breakers = c.cfg.Breakers()
	}
	r.poolTimeouts = c.poolTimeouts()
	r.took = time.Since(r.time)
	t := buildTopology(r.answers)
	rep := judge(r, t)

	keep := map[string]bool{}
	for _, m := range t.members {
		keep[m.addr] = true
	}
	addrs := slices.Sorted(maps.Keys(keep))
	for _, seed := range r.seeds {
		keep[seed] = true
	}
	c.prober.keep(keep)
	c.mu.Lock()
	defer c.mu.Unlock()
	if rep.Known {
		c.known = addrs
	}
	c.last = rep
	c.damper.observe(rep.Verdict != Down)
	return rep
}

// askAll asks the known nodes, the seeds if none of them answers, and then
// whom the answers name, two steps deep.
func (c *Checker) askAll(known []string) map[string]*answer {
	answers := map[string]*answer{}
	wave := known
	if len(wave) == 0 {
		wave = c.cfg.Options.Addrs
	}
	for range 4 {
		c.askWave(wave, answers)
		t := findMembers(answers)
		wave = nil
		if len(t.views) == 0 {
			wave = missing(c.cfg.Options.Addrs, answers)
		}
		for _, m := range t.members {
			if answers[m.addr] == nil {
				wave = append(wave, m.addr)
			}
		}
		if len(wave) == 0 {
			break
		}
	}
	return answers
}

func missing(addrs []string, answers map[string]*answer) (out []string) {
	for _, a := range addrs {
		if answers[a] == nil {
			out = append(out, a)
		}
	}
	return out
}

func (c *Checker) askWave(addrs []string, answers map[string]*answer) {
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(probesAtOnce)
	for _, addr := range slices.Compact(slices.Sorted(slices.Values(addrs))) {
		g.Go(func() error {
			a := c.prober.probe(c.life, addr)
			mu.Lock()
			defer mu.Unlock()
			answers[addr] = a
			return nil
		})
	}
	_ = g.Wait()
}

// poolTimeouts is how many waits for a connection ended without one since the
// round before. The counters of go-redis go backwards when nodes are replaced.
// A client that does not know its cluster yet would ask for it here: it is not
// waited for.
func (c *Checker) poolTimeouts() uint64 {
	if c.cfg.Client == nil || !c.asking.CompareAndSwap(false, true) {
		return 0
	}
	got := make(chan uint64, 1)
	go func() {
		defer c.asking.Store(false)
		got <- uint64(c.cfg.Client.PoolStats().Timeouts)
	}()
	select {
	case n := <-got:
		c.mu.Lock()
		defer c.mu.Unlock()
		before := c.pools
		c.pools = n
		if n > before && c.last != nil {
			return n - before
		}
	case <-time.After(c.cfg.Timeout / 4):
	}
	return 0
}
