//go:build !unix

package lockcluster_test

import "time"

var started = time.Now()

func monotonic() time.Duration { return time.Since(started) }
