package clustertest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// runTimeout bounds the start of a cluster in [Run].
const runTimeout = 60 * time.Second

// Run starts a cluster for a test or a benchmark and closes it when that
// ends. When the backend needs a server binary that is not installed the test
// is skipped, or fails if RCCTL_REQUIRE_REDIS=1. When the test fails, the
// log files of the nodes are kept and their folder is printed.
func Run(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), runTimeout)
	defer cancel()
	c, err := Start(ctx, o)
	if errors.Is(err, ErrNoServer) && os.Getenv("RCCTL_REQUIRE_REDIS") != "1" {
		tb.Skipf("%v", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if keeper, ok := c.inst.(logKeeper); ok && tb.Failed() {
			tb.Logf("logs of the nodes: %s", keeper.keepLogs())
		}
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// A logKeeper is an [Instance] with log files. keepLogs makes Close leave them
// in place and returns their folder.
type logKeeper interface{ keepLogs() string }
