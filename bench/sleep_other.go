//go:build !linux

package bench

import "time"

// preciseSleep is time.Sleep where there is nothing better.
func preciseSleep() (nap func(time.Duration), release func()) {
	return time.Sleep, func() {}
}
