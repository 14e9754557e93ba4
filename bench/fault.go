package bench

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A Fault is something done to the cluster in the course of a run: slots moved,
// a node killed. This package has none of its own.
type Fault interface {
	// Name says in a few words what is done.
	Name() string
	// Inflict does it and returns when it is done or ctx is. say adds a line
	// to the timeline of the result.
	Inflict(ctx context.Context, say func(what string)) error
}

// Event is something that happened to the cluster. T is in seconds since the
// end of the warm-up. Changes of the topology are seen up to a second late, or
// 0.1 s in runs with a fault.
type Event struct {
	T    float64 `json:"t"`
	What string  `json:"what"`
}

// FaultTold is what became of the fault. Times are as in Event. FirstError and
// LastError are when operations ended with errors, zero if none did.
type FaultTold struct {
	Name       string  `json:"name"`
	At         float64 `json:"at"`
	Done       float64 `json:"done"`
	Err        string  `json:"error,omitempty"`
	Errors     uint64  `json:"errors"`
	FirstError float64 `json:"first_error"`
	LastError  float64 `json:"last_error"`
}

// A timeline takes events from several goroutines.
type timeline struct {
	mu     sync.Mutex
	events []timedEvent
}

type timedEvent struct {
	at, until time.Time
	what      string
	move      [2]string // from and to; empty if it is no move of slots
	slots     int
}

// maxEvents bounds a timeline: a reshard of all slots makes thousands.
const maxEvents = 1000

func (t *timeline) add(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.events) < maxEvents {
		t.events = append(t.events, timedEvent{at: time.Now(), what: what})
	}
}

// slotsMoved adds to the move of slots between the same two nodes while one is
// under way: a reshard moves them one after the other.
func (t *timeline) slotsMoved(from, to string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for i := len(t.events) - 1; i >= 0; i-- {
		if e := &t.events[i]; e.move == [2]string{from, to} && now.Sub(e.until) < 3*time.Second {
			e.slots += n
			e.until = now
			return
		}
	}
	if len(t.events) < maxEvents {
		t.events = append(t.events, timedEvent{at: now, until: now, move: [2]string{from, to}, slots: n})
	}
}

func (t *timeline) all(zero time.Time) []Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]Event, len(t.events))
	for i, e := range t.events {
		if e.slots > 0 {
			e.what = fmt.Sprintf("%d slots went from %s to %s", e.slots, e.move[0], e.move[1])
			if d := e.until.Sub(e.at); d > 0 {
				e.what += fmt.Sprintf(" within %.1f s", d.Seconds())
			}
		}
		out[i] = Event{e.at.Sub(zero).Round(time.Millisecond).Seconds(), e.what}
	}
	return out
}

// inflict starts the fault at its time. The returned function waits for its
// end, for a moment after the run at most.
func (r *runner) inflict(ctx context.Context) (wait func()) {
	f := r.opts.Fault
	if f == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stop, done := ctx.Done(), make(chan struct{})
	at := r.gen.measure.Add(r.opts.FaultAt)
	go func() {
		defer close(done)
		if !sleepOr(stop, at) {
			return
		}
		told := FaultTold{Name: f.Name(), At: time.Since(r.gen.measure).Seconds()}
		r.events.add("fault: " + f.Name())
		if err := f.Inflict(ctx, r.events.add); err != nil {
			told.Err = err.Error()
			r.events.add(fmt.Sprintf("fault failed: %v", err))
		} else {
			r.events.add("fault done: " + f.Name())
		}
		told.Done = time.Since(r.gen.measure).Seconds()
		r.told = &told
	}()
	return func() {
		cancel()
		t := time.NewTimer(500 * time.Millisecond)
		defer t.Stop()
		select {
		case <-done:
			r.faultEnded = true
		case <-t.C:
		}
	}
}

// faultTold is nil when there was no fault, or none that ended.
func (r *runner) faultTold() *FaultTold {
	if !r.faultEnded || r.told == nil {
		return nil
	}
	f := *r.told
	f.Errors = r.total.errors
	since := func(t time.Time) float64 {
		if t.IsZero() {
			return 0
		}
		return t.Sub(r.gen.measure).Seconds()
	}
	f.FirstError, f.LastError = since(r.total.firstError), since(r.total.lastError)
	return &f
}
