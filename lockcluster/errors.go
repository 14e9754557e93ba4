package lockcluster

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotFound is returned by Get when the loader said that there is no
	// such thing, now or not long ago ([Config.NotFoundFor]). A loader may
	// return it, plain or wrapped, instead of calling [Load.NotFound].
	ErrNotFound = errors.New("not found")

	// ErrUnavailable matches errors of calls that could be answered neither
	// from Redis nor, under the policy in force ([Config.WhenSick]), without
	// it. Serve a fallback or an error; the next call may succeed.
	ErrUnavailable = errors.New("cache unavailable")

	// ErrNotObtained is returned by [Locker.TryAcquire] when somebody else
	// holds the lock, and by [Locker.Acquire] when that stayed so until its
	// context ended. Try again later or give up.
	ErrNotObtained = errors.New("lock not obtained")

	// ErrLost is returned by [Lock.Extend] when the lease ended or was taken
	// away while the holder still relied on it. Stop what the lock guards.
	ErrLost = errors.New("lock lost")

	// ErrNotHeld is returned by [Lock.Release] and [Lock.Extend] when the
	// lock was released before, and by [Unlock] when the token holds nothing.
	ErrNotHeld = errors.New("lock not held")
)

// A Reason says why a load gave no value.
type Reason int

const (
	// LoaderFailed: the loader returned an error; Unwrap gives it.
	LoaderFailed Reason = iota + 1
	// LoaderPanicked: the loader panicked; Unwrap gives the panic's value if
	// it was an error, and Error includes the stack.
	LoaderPanicked
	// LoaderExited: the loader called runtime.Goexit (in tests: t.FailNow).
	LoaderExited
	// LoadTimedOut: the loader did not return within LoadTimeout or
	// LoserTimeout. It may still be running.
	LoadTimedOut
	// CoolingDown: the last loads of this key failed, in whatever process;
	// the loader was not called. RetryAfter says when it will be.
	CoolingDown
	// WaitedTooLong: somebody else's load took longer than WaitBudget, and
	// WaitThen is Error.
	WaitedTooLong
	// Superseded: the key was invalidated again and again while it was being
	// loaded, until LoadTimeout.
	Superseded
	// Reentrant: a loader asked, through its own context, for the key that it
	// is loading.
	Reentrant
	// Unavailable: Redis did not answer and the policy allows no load, or all
	// places for loads without Redis are taken. Matches ErrUnavailable.
	Unavailable
	// Closed: the cache was closed. Matches ErrUnavailable.
	Closed
)

var reasons = [...]string{"unknown", "loader failed", "loader panicked", "loader called runtime.Goexit",
	"loader timed out", "cooling down after failures", "waited too long for another load",
	"invalidated again and again while loading", "loader asked for its own key", "redis unavailable", "cache closed"}

// String is the reason in words.
func (r Reason) String() string {
	if r < 1 || int(r) >= len(reasons) {
		return reasons[0]
	}
	return reasons[r]
}

// A LoadError says why Get has no value. Errors of the caller's own context
// are returned as they are and never wrapped in a LoadError: a loader that
// ran into a deadline of its own can wrap context.DeadlineExceeded too, so ask
// the request's context, not the error, whether the client is gone.
type LoadError struct {
	// Key is the key asked for.
	Key string
	// Reason says what happened.
	Reason Reason
	// RetryAfter is how long the key still cools down, else 0.
	RetryAfter time.Duration
	// Err is the error behind it, or nil.
	Err error
}

// Error names the key, the reason and the error behind it.
func (e *LoadError) Error() string {
	s := fmt.Sprintf("lockcluster: get %q: %s", e.Key, e.Reason)
	if e.RetryAfter > 0 {
		s += fmt.Sprintf(" (next try in %s)", e.RetryAfter.Round(time.Millisecond))
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap is the error behind it.
func (e *LoadError) Unwrap() error { return e.Err }

// Is makes errors of a sick Redis and of a closed cache match ErrUnavailable.
func (e *LoadError) Is(target error) bool {
	return target == ErrUnavailable && (e.Reason == Unavailable || e.Reason == Closed)
}

// panicError carries what a loader panicked with.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("%v\n%s", p.value, p.stack) }

func (p *panicError) Unwrap() error {
	err, _ := p.value.(error)
	return err
}
