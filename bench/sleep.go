package bench

import (
	"context"
	"time"
)

// A pace says when request i is due. It computes each time from the start, so
// that no rounding and no lateness adds up.
type pace struct {
	start time.Time
	every float64 // ns between requests
}

func (p pace) due(i int64) time.Time {
	return p.start.Add(time.Duration(float64(i) * p.every))
}

// dueCount is the number of requests due before t.
func (p pace) dueCount(t time.Time) int64 {
	d := t.Sub(p.start)
	if d <= 0 {
		return 0
	}
	return int64(float64(d)/p.every) + 1
}

// maxNap bounds one sleep, so that a cancelled run does not wait for the next
// request of a slow schedule.
const maxNap = 20 * time.Millisecond

// sleepUntil sleeps until t or until ctx is done, in which case it returns
// false.
func sleepUntil(ctx context.Context, nap func(time.Duration), t time.Time) bool {
	for {
		d := time.Until(t)
		if d <= 0 {
			return ctx.Err() == nil
		}
		if ctx.Err() != nil {
			return false
		}
		nap(min(d, maxNap))
	}
}
