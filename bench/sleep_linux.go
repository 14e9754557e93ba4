package bench

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// preciseSleep ties the goroutine to a thread and returns a sleep on that
// thread. The runtime's timers wake about 1 ms late on an idle program;
// nanosleep with the timer slack turned off wakes within 0.2 ms. release
// unties the goroutine.
func preciseSleep() (nap func(time.Duration), release func()) {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	nap = func(d time.Duration) {
		ts := unix.NsecToTimespec(int64(d))
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil) // woken early by a signal: the caller looks at the clock
	}
	return nap, func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // 0 is the thread's default
		runtime.UnlockOSThread()
	}
}
