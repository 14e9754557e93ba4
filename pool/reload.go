package pool

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	reloadEvery    = 10 * time.Second // jittered by a fifth
	reloadGap      = 200 * time.Millisecond
	reloadGapYoung = time.Second     // the most in the first minute of trouble
	reloadGapOld   = 5 * time.Second // the most later on
	troubleIsOld   = time.Minute

	// Rounds of CLUSTER SLOTS: a burst and a rate that together never make
	// more than five in any second.
	roundBurst = 2
	roundRate  = 3 // a second
)

// reloader has the topology read anew: by a timer, and when a node's answers
// say that it changed. go-redis itself reloads on MOVED and READONLY, never on
// a network error.
type reloader struct {
	c     chan struct{}
	gap   time.Duration
	since time.Time // of the trouble that is under way
	last  time.Time
}

func newReloader() *reloader { return &reloader{c: make(chan struct{}, 1), gap: reloadGap} }

// kick asks for a reload soon. It never blocks.
func (r *reloader) kick() {
	select {
	case r.c <- struct{}{}:
	default:
	}
}

// run reloads until the context ends.
func (r *reloader) run(ctx context.Context, reload func(context.Context)) {
	for {
		regular := time.NewTimer(jitter(reloadEvery, 5))
		select {
		case <-ctx.Done():
			regular.Stop()
			return
		case <-regular.C:
		case <-r.c:
			regular.Stop()
			if !r.wait(ctx) {
				return
			}
		}
		r.last = time.Now()
		reload(ctx)
	}
}

// wait spaces reloads out: the first one goes at once, and as long as more are
// asked for the gap doubles, with full jitter.
func (r *reloader) wait(ctx context.Context) bool {
	now := time.Now()
	if now.Sub(r.last) > 2*r.gap {
		r.gap, r.since = reloadGap, now
		if now.Sub(r.last) >= reloadGap {
			return true
		}
	}
	limit := reloadGapYoung
	if now.Sub(r.since) > troubleIsOld {
		limit = reloadGapOld
	}
	pause := reloadGap
	if extra := r.gap - reloadGap; extra > 0 {
		pause += rand.N(extra)
	}
	r.gap = min(2*r.gap, limit)
	t := time.NewTimer(time.Until(r.last.Add(pause)))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// jitter is d, up to a part more or less.
func jitter(d time.Duration, part int64) time.Duration {
	spread := d / time.Duration(part)
	return d - spread + rand.N(2*spread)
}

// rounds limits how often go-redis' own reloads ask the nodes: after a failed
// reload it starts the next one with the next command, however many there are.
type rounds struct {
	mu     sync.Mutex
	tried  map[string]bool // in the round under way
	over   bool            // a node answered
	tokens float64
	at     time.Time
	count  uint64
}

// admit waits until a node may be asked. The nodes of one round go through at
// once; a background context marks the reloads that go-redis starts by itself,
// calls with a context of their own are the caller's to pace.
func (r *rounds) admit(ctx context.Context, addr string) error {
	r.mu.Lock()
	var pause time.Duration
	if r.over || r.tried == nil || r.tried[addr] {
		r.tried, r.over = make(map[string]bool), false
		r.count++
		pause = r.take()
	}
	r.tried[addr] = true
	r.mu.Unlock()
	if pause <= 0 || ctx.Done() != nil {
		return nil
	}
	time.Sleep(pause)
	return nil
}

// take takes a token and returns how long to wait until it is there.
func (r *rounds) take() time.Duration {
	now := time.Now()
	if r.at.IsZero() {
		r.tokens = roundBurst
	} else {
		r.tokens = min(roundBurst, r.tokens+now.Sub(r.at).Seconds()*roundRate)
	}
	r.at = now
	r.tokens--
	if r.tokens >= 0 {
		return 0
	}
	return time.Duration(-r.tokens / roundRate * float64(time.Second))
}

// answered ends the round: a node told the topology.
func (r *rounds) answered() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
}
