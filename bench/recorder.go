package bench

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histograms cover 1 µs to one hour with three significant digits.
const maxLatencyUsec = int64(time.Hour / time.Microsecond)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, maxLatencyUsec, 3) }

// A histogram is an HDR histogram that also knows its exact maximum.
type histogram struct {
	h   *hdrhistogram.Histogram
	max int64 // µs
}

func makeHistogram() histogram { return histogram{h: newHistogram()} }

func (h *histogram) record(d time.Duration, n int) {
	us := min(max(d.Microseconds(), 1), maxLatencyUsec)
	h.max = max(h.max, us)
	_ = h.h.RecordValues(us, int64(n)) // in range, so it cannot fail
}

// moveTo adds all values to another histogram and empties this one.
func (h *histogram) moveTo(to *histogram) {
	if h.max == 0 {
		return
	}
	to.h.Merge(h.h)
	to.max = max(to.max, h.max)
	h.h.Reset()
	h.max = 0
}

func (h *histogram) at(percentile float64) int64 {
	return min(h.h.ValueAtPercentile(percentile), h.max)
}

// A tally is what was measured over some time.
type tally struct {
	service, intended, wait, failed histogram
	lag                             histogram // wait of requests that found a free worker
	operations, errors              uint64    // errors are among the operations
	hits, misses                    uint64
	kinds                           map[string]uint64 // errors by kind
	owners                          map[int]*ownerTally
	firstError, lastError           time.Time // when a request ended with one
}

// An ownerTally counts operations by the node that owns their slot.
type ownerTally struct {
	operations, errors uint64
	slowest            time.Duration // service
}

func newTally() *tally {
	return &tally{
		service: makeHistogram(), intended: makeHistogram(), wait: makeHistogram(), failed: makeHistogram(), lag: makeHistogram(),
		kinds: map[string]uint64{}, owners: map[int]*ownerTally{},
	}
}

// moveTo adds everything to another tally and empties this one.
func (t *tally) moveTo(to *tally) {
	t.service.moveTo(&to.service)
	t.intended.moveTo(&to.intended)
	t.wait.moveTo(&to.wait)
	t.failed.moveTo(&to.failed)
	t.lag.moveTo(&to.lag)
	to.operations += t.operations
	to.errors += t.errors
	to.hits += t.hits
	to.misses += t.misses
	t.operations, t.errors, t.hits, t.misses = 0, 0, 0, 0
	for k, n := range t.kinds {
		to.kinds[k] += n
	}
	clear(t.kinds)
	to.noteErrors(t.firstError, t.lastError)
	t.firstError, t.lastError = time.Time{}, time.Time{}
	for k, o := range t.owners {
		to.owner(k).add(*o)
		*o = ownerTally{}
	}
}

// noteErrors widens the time in which errors were seen. Zero times are none.
func (t *tally) noteErrors(first, last time.Time) {
	if !first.IsZero() && (t.firstError.IsZero() || first.Before(t.firstError)) {
		t.firstError = first
	}
	if last.After(t.lastError) {
		t.lastError = last
	}
}

func (t *tally) owner(node int) *ownerTally {
	o := t.owners[node]
	if o == nil {
		o = &ownerTally{}
		t.owners[node] = o
	}
	return o
}

func (o *ownerTally) add(b ownerTally) {
	o.operations += b.operations
	o.errors += b.errors
	o.slowest = max(o.slowest, b.slowest)
}

// A sample is one finished request.
type sample struct {
	due, sent, done time.Time
	free            bool      // a worker was free when the request was due
	outcomes        []outcome // of each command
}

// An outcome is how one command ended.
type outcome struct {
	owner int // number of the node that owns the slot, -1 if not known
	get   bool
	miss  bool
	kind  string // of the error, empty if there was none
}

// A recorder takes samples from many goroutines. Its shards are drained while
// they are written to, so that memory does not grow with the run.
type recorder struct {
	shards []recorderShard
}

type recorderShard struct {
	mu     sync.Mutex
	t      *tally
	closed bool
	last   time.Time // when the last request was done
	_      [64]byte  // keeps neighbours out of each other's cache line
}

func newRecorder(shards int) *recorder {
	r := &recorder{shards: make([]recorderShard, shards)}
	for i := range r.shards {
		r.shards[i].t = newTally()
	}
	return r
}

// add records a sample; worker chooses the shard. It reports false after
// close.
func (r *recorder) add(worker int, s *sample) bool {
	sh := &r.shards[worker%len(r.shards)]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed {
		return false
	}
	service, intended := s.done.Sub(s.sent), s.done.Sub(s.due)
	good := 0
	for i := range s.outcomes {
		o := &s.outcomes[i]
		own := sh.t.owner(o.owner)
		own.operations++
		own.slowest = max(own.slowest, service)
		switch {
		case o.kind != "":
			own.errors++
			sh.t.errors++
			sh.t.kinds[o.kind]++
			continue
		case o.miss:
			sh.t.misses++
		case o.get:
			sh.t.hits++
		}
		good++
	}
	sh.t.operations += uint64(len(s.outcomes))
	sh.t.wait.record(s.sent.Sub(s.due), len(s.outcomes))
	if s.free {
		sh.t.lag.record(s.sent.Sub(s.due), 1)
	}
	if good > 0 {
		sh.t.service.record(service, good)
		sh.t.intended.record(intended, good)
	}
	if bad := len(s.outcomes) - good; bad > 0 {
		sh.t.failed.record(intended, bad)
		sh.t.noteErrors(s.done, s.done)
	}
	if s.done.After(sh.last) {
		sh.last = s.done
	}
	return true
}

// drain moves what was recorded since the last drain into t.
func (r *recorder) drain(t *tally) {
	for i := range r.shards {
		sh := &r.shards[i]
		sh.mu.Lock()
		sh.t.moveTo(t)
		sh.mu.Unlock()
	}
}

// close refuses further samples, so that requests given up on are not counted
// twice, and returns when the last one was done.
func (r *recorder) close() (last time.Time) {
	for i := range r.shards {
		sh := &r.shards[i]
		sh.mu.Lock()
		sh.closed = true
		if sh.last.After(last) {
			last = sh.last
		}
		sh.mu.Unlock()
	}
	return last
}
