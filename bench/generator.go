package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A sender sends the commands of one request and says how each ended.
type sender func(ctx context.Context, ops []operation, out []outcome)

// A generator makes the load. Requests have numbers; a request is a batch of
// commands (one, without pipelines).
type generator struct {
	opts     Options
	work     *workload
	send     sender
	owner    func(slot int) int // number of the node that owns a slot
	rec      *recorder
	total    int64 // requests of an open loop, warm-up included
	first    int64 // number of the first request that is measured
	pace     pace
	measure  time.Time // the measured time starts
	end      time.Time // and ends
	drainFor time.Duration
	sleeper  func() (nap func(time.Duration), release func())

	next     atomic.Int64 // requests handed to a worker (open loop) or begun
	started  atomic.Int64
	finished atomic.Int64
	busyHits atomic.Int64 // requests that found every worker busy
	dropped  atomic.Int64 // measured requests that were never sent
	peak     atomic.Int64 // longest queue
	inFlight sync.Map     // worker number to *flight
	stop     chan struct{}
	stopOnce sync.Once
	gaps     histogram // error of the time between two hand-overs; the dispatcher's own
}

// A flight is the request that a worker waits for.
type flight struct {
	mu       sync.Mutex
	measured bool
	due      time.Time
	ops      []operation // nil: none
}

// drainTime is how long after its end a run waits for the requests that are
// queued or in flight. Together with the clean-up it stays below the five
// seconds promised.
const drainTime = 2 * time.Second

func newGenerator(o Options, send sender, owner func(slot int) int, rec *recorder, start time.Time) *generator {
	g := &generator{
		opts: o, work: newWorkload(o), send: send, owner: owner, rec: rec,
		measure: start.Add(o.Warmup), end: start.Add(o.Warmup + o.Duration),
		drainFor: drainTime, sleeper: preciseSleep, stop: make(chan struct{}),
	}
	g.gaps = makeHistogram()
	if o.Rate > 0 {
		perSecond := o.Rate / float64(o.Pipeline)
		g.pace = pace{start: start, every: 1e9 / perSecond}
		g.first = int64(o.Warmup.Seconds()*perSecond + 0.5)
		g.total = g.first + max(int64(o.Duration.Seconds()*perSecond+0.5), 1)
	}
	return g
}

// run returns when all requests have ended or were given up. unfinished are
// the operations still in flight then: their goroutines end when the client is
// closed.
func (g *generator) run(ctx context.Context) (unfinished int) {
	sendCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var workers sync.WaitGroup
	if g.opts.Rate > 0 {
		g.openLoop(ctx, sendCtx, &workers)
	} else {
		g.closedLoop(ctx, sendCtx, &workers)
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	limit := time.NewTimer(g.patience(ctx))
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
		cancel()
		g.stopNow()
		brief := time.NewTimer(300 * time.Millisecond)
		defer brief.Stop()
		select {
		case <-done:
		case <-brief.C:
		}
	}
	return g.giveUp()
}

// patience is how much longer requests in flight may take.
func (g *generator) patience(ctx context.Context) time.Duration {
	d := time.Until(g.end.Add(g.drainFor))
	if ctx.Err() != nil {
		d = min(d, time.Second)
	}
	return max(d, 300*time.Millisecond)
}

func (g *generator) stopNow() { g.stopOnce.Do(func() { close(g.stop) }) }

// giveUp counts what is still in flight as failed.
func (g *generator) giveUp() (unfinished int) {
	now := time.Now()
	g.inFlight.Range(func(k, v any) bool {
		f := v.(*flight)
		f.mu.Lock()
		defer f.mu.Unlock()
		unfinished += len(f.ops)
		if f.measured && f.ops != nil {
			s := sample{due: f.due, sent: f.due, done: now, outcomes: make([]outcome, len(f.ops))}
			for i := range s.outcomes {
				s.outcomes[i] = outcome{owner: g.owner(f.ops[i].slot), kind: "no answer by the end"}
			}
			g.rec.add(k.(int), &s)
		}
		f.ops = nil
		return true
	})
	return unfinished
}

// openLoop hands every request to a worker when it is due. When all workers
// are busy the hand-over waits and the schedule goes on: due times come from
// arithmetic alone, so the queue is the difference of two numbers.
func (g *generator) openLoop(ctx, sendCtx context.Context, workers *sync.WaitGroup) {
	ch := make(chan request)
	defer close(ch)
	spawned := 0
	spawn := func(first *request) {
		w := spawned
		spawned++
		workers.Go(func() { g.openWorker(sendCtx, w, first, ch) })
	}
	for spawned < g.opts.Workers {
		spawn(nil)
	}
	nap, release := g.sleeper()
	defer release()
	giveUpAt := g.end.Add(g.drainFor)
	behind := false // a hand-over had to wait and the queue is not empty yet
	var last time.Time
	for i := int64(0); i < g.total; i++ {
		due := g.pace.due(i)
		behind = behind && time.Until(due) <= 0
		if !sleepUntil(ctx, nap, due) {
			return // interrupted: what is not due yet is no part of the run
		}
		now := time.Now()
		if !behind {
			g.noteGap(i, last, now)
		}
		last = now
		r := request{i, !behind}
		select {
		case ch <- r:
		default:
			switch {
			case g.opts.Workers != Unlimited:
				g.busyHits.Add(1)
				behind, r.free = true, false
				last = time.Time{} // the next gap is no work of the dispatcher
				if !g.handOver(ctx, ch, r, now, giveUpAt) {
					return
				}
			case spawned < maxInFlight:
				spawn(&r)
			default:
				g.drop(i)
			}
		}
		g.next.Store(i + 1)
	}
}

// handOver waits for a free worker. It reports false when the run is over:
// the requests that were due by then are counted as dropped.
func (g *generator) handOver(ctx context.Context, ch chan<- request, r request, now, giveUpAt time.Time) bool {
	g.notePeak(now, r.number)
	limit := time.NewTimer(time.Until(giveUpAt))
	defer limit.Stop()
	select {
	case ch <- r:
		return true
	case <-ctx.Done():
	case <-limit.C:
	}
	for i, last := r.number, min(g.pace.dueCount(time.Now()), g.total); i < last; i++ {
		g.drop(i)
	}
	return false
}

func (g *generator) notePeak(now time.Time, i int64) {
	if q := min(g.pace.dueCount(now), g.total) - i; q > g.peak.Load() {
		g.peak.Store(q)
	}
}

func (g *generator) drop(i int64) {
	if i >= g.first {
		g.dropped.Add(int64(g.opts.Pipeline))
	}
}

// queue is the number of operations that are due and were not sent.
func (g *generator) queue(now time.Time) int64 {
	if g.opts.Rate == 0 {
		return 0
	}
	return max(min(g.pace.dueCount(now), g.total)-g.next.Load(), 0) * int64(g.opts.Pipeline)
}

// noteGap records how far the time between two hand-overs is from the plan.
func (g *generator) noteGap(i int64, last, now time.Time) {
	if i > g.first && !last.IsZero() {
		g.gaps.record((now.Sub(last) - time.Duration(g.pace.every)).Abs(), 1)
	}
}

// A request is what the dispatcher hands to a worker.
type request struct {
	number int64
	free   bool // a worker was waiting for it
}

func (g *generator) openWorker(ctx context.Context, w int, first *request, ch <-chan request) {
	b := g.newBatch(w)
	if first != nil {
		b.do(ctx, *first, g.pace.due(first.number), first.number >= g.first)
	}
	for r := range ch {
		b.do(ctx, r, g.pace.due(r.number), r.number >= g.first)
	}
}

// closedLoop starts the workers, each of which sends as soon as its last
// request has ended, and returns at the end of the run.
func (g *generator) closedLoop(ctx, sendCtx context.Context, workers *sync.WaitGroup) {
	for w := range g.opts.Workers {
		workers.Go(func() {
			b := g.newBatch(w)
			for {
				select {
				case <-g.stop:
					return
				default:
				}
				now := time.Now()
				if !now.Before(g.end) {
					return
				}
				b.do(sendCtx, request{number: g.next.Add(1) - 1}, now, !now.Before(g.measure))
			}
		})
	}
	over := time.NewTimer(time.Until(g.end))
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	}
	g.stopNow()
}

// A batch is what one worker needs to send requests; it is reused.
type batch struct {
	g      *generator
	worker int
	ops    []operation
	out    []outcome
	flight *flight
}

func (g *generator) newBatch(w int) *batch {
	b := &batch{g: g, worker: w, ops: make([]operation, g.opts.Pipeline), out: make([]outcome, g.opts.Pipeline), flight: &flight{}}
	g.inFlight.Store(w, b.flight)
	return b
}

func (b *batch) do(ctx context.Context, r request, due time.Time, measured bool) {
	n := int64(len(b.ops))
	for k := range b.ops {
		b.ops[k] = b.g.work.at(r.number*n + int64(k))
		b.out[k] = outcome{owner: b.g.owner(b.ops[k].slot), get: b.ops[k].op == OpGet}
	}
	b.flight.mu.Lock()
	b.flight.measured, b.flight.due, b.flight.ops = measured, due, b.ops
	b.flight.mu.Unlock()
	b.g.started.Add(1)
	sent := time.Now()
	if b.g.opts.Rate == 0 {
		due = sent // a closed loop has no schedule: both histograms are the same
	}
	b.g.send(ctx, b.ops, b.out)
	done := time.Now()
	b.g.finished.Add(1)
	b.flight.mu.Lock()
	defer b.flight.mu.Unlock()
	if b.flight.ops == nil {
		return // given up on and counted
	}
	b.flight.ops = nil
	if measured {
		b.g.rec.add(b.worker, &sample{due: due, sent: sent, done: done, free: r.free, outcomes: b.out})
	}
}
