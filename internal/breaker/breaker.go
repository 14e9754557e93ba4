// Package breaker is a circuit breaker for one node: after a run of failures
// it refuses at once what would only wait, until the node answers again.
//
// Why not sony/gobreaker: it takes a lock twice per call, on a path that runs
// for every command of every goroutine; here a closed breaker costs two atomic
// loads. And its half-open state lets callers find out whether the node is
// back, each of which waits for a timeout while it is not; here the owner
// probes (see Probed), and only where nobody probes one caller at a
// time tries.
package breaker

import (
	"sync/atomic"
	"time"
)

// A Breaker is closed as its zero value and must not be copied. Its methods
// may be called concurrently and never block.
type Breaker struct {
	// Threshold is the number of failures in a row that open it. Zero means 5.
	Threshold int32
	// MinOpen and MaxOpen are how long it stays open before one caller may
	// try, doubling from the one to the other. Zero means 100 ms and 500 ms.
	MinOpen, MaxOpen time.Duration
	// Probed tells that the owner probes and calls Success: then no caller
	// tries.
	Probed bool

	failures  atomic.Int32
	openUntil atomic.Int64 // ns since the epoch; 0 is closed
	period    atomic.Int64 // ns
	opened    atomic.Uint64
}

const defaultThreshold = 5

// Allow reports whether a call may go ahead. Each allowed call ends with
// Success or Failure, or with nothing if it says nothing about the node.
func (b *Breaker) Allow() bool {
	until := b.openUntil.Load()
	if until == 0 {
		return true
	}
	if b.Probed {
		return false
	}
	now := time.Now().UnixNano()
	// The one that moves the end of the open time is the one that tries.
	return now >= until && b.openUntil.CompareAndSwap(until, now+b.nextPeriod())
}

// Open reports whether it refuses.
func (b *Breaker) Open() bool { return b.openUntil.Load() != 0 }

// Opened is how often it opened.
func (b *Breaker) Opened() uint64 { return b.opened.Load() }

// Success closes it: the node answered, with whatever.
func (b *Breaker) Success() {
	if b.failures.Load() != 0 {
		b.failures.Store(0)
	}
	if b.openUntil.Load() != 0 {
		b.period.Store(0)
		b.openUntil.Store(0)
	}
}

// Failure counts a call that got no answer. It reports whether this one opened
// the breaker: then the owner starts to probe.
func (b *Breaker) Failure() bool {
	limit := b.Threshold
	if limit == 0 {
		limit = defaultThreshold
	}
	if b.failures.Add(1) < limit {
		return false
	}
	return b.Trip()
}

// Trip opens it without waiting for more failures. It reports whether it was
// closed.
func (b *Breaker) Trip() bool {
	if b.openUntil.Load() != 0 {
		return false
	}
	if !b.openUntil.CompareAndSwap(0, time.Now().UnixNano()+b.nextPeriod()) {
		return false
	}
	b.opened.Add(1)
	return true
}

// nextPeriod is the next open time in nanoseconds.
func (b *Breaker) nextPeriod() int64 {
	shortest, longest := int64(b.MinOpen), int64(b.MaxOpen)
	if shortest == 0 {
		shortest = int64(100 * time.Millisecond)
	}
	if longest == 0 {
		longest = int64(500 * time.Millisecond)
	}
	p := min(max(b.period.Load(), shortest), longest)
	b.period.Store(2 * p)
	return p
}
