//go:build unix

package lockcluster_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/rcctl/rcctl/lockcluster"
)

func TestALeaderStoppedBeyondItsLeaseIsRefused(t *testing.T) {
	cluster := sharedCluster(t)
	j := job{Key: uniqueKey("stopped"), Callers: 1, Load: 500 * time.Millisecond, Value: "old",
		Config: settings{Lease: 300 * time.Millisecond}}
	leader := startHerd(t, cluster, 1, j)[0]
	leader.start(t)
	leader.expect(t, "loading")
	if err := leader.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	j.Value, j.Load = "new", 10*time.Millisecond
	other := startHerd(t, cluster, 1, j)
	if r := runHerd(t, other); r.Loads != 1 || r.Values["new"] != 1 {
		t.Fatalf("the other got %+v", r)
	}
	if err := leader.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if r := leader.report(t); r.Values["new"] != 1 {
		t.Errorf("the late leader got %+v, want what the other filled", r)
	}
	c := newCache(t, newClient(t, cluster), lockcluster.Config{})
	if _, v, err := c.Peek(t.Context(), j.Key); err != nil || string(v) != "new" {
		t.Errorf("stored %q, %v", v, err)
	}
}
