package lockcluster

import (
	"sync/atomic"
	"time"
)

// The clocks of the hosts that run this code never matter: instants are
// monotonic, and whether a value is fresh is judged by the clock of the server
// that keeps it. No other file may ask for the time.

// timeNow is a seam for the test that shifts a process's wall clock.
var timeNow = time.Now

// clock gives monotonic instants since it was started.
type clock struct{ start time.Time }

func newClock() clock { return clock{timeNow()} }

func (c clock) now() time.Duration { return timeNow().Sub(c.start) }

// at is the deadline that lies d ahead, for contexts and sockets.
func (c clock) in(d time.Duration) time.Time { return time.Now().Add(d) }

const (
	sampleFor   = 10 * time.Second // then the next reader renews it in the background
	microsecond = int64(time.Microsecond)
)

// serverClock estimates a server's clock from the times in script replies.
type serverClock struct {
	last     atomic.Pointer[sample]
	renewing atomic.Bool
}

type sample struct {
	offset int64         // server µs minus monotonic µs
	at     time.Duration // when it was taken
	trip   time.Duration // round trip: twice the largest error
}

// add takes a server time that came in a reply to a request.
func (s *serverClock) add(serverUS int64, sent, received time.Duration) {
	n := &sample{offset: serverUS - int64(sent+received)/2/microsecond, at: received, trip: received - sent}
	old := s.last.Load()
	if old != nil && n.trip > 2*old.trip && n.at-old.at < sampleFor/2 {
		return // a slow answer says less than a recent quick one
	}
	s.last.Store(n)
}

// nowMS is the server's time in ms; ok is false before the first sample.
func (s *serverClock) nowMS(now time.Duration) (ms int64, ok bool) {
	l := s.last.Load()
	if l == nil {
		return 0, false
	}
	return (l.offset + int64(now)/microsecond) / 1000, true
}

// stale reports whether the sample should be renewed, to one caller only.
func (s *serverClock) stale(now time.Duration) bool {
	l := s.last.Load()
	return l != nil && now-l.at > sampleFor && s.renewing.CompareAndSwap(false, true)
}
