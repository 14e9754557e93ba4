//go:build unix

package lockcluster_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is the machine's monotonic clock: the same in all processes.
func monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}
