package health_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/health"
	"github.com/rcctl/rcctl/pool"
)

// The client of package pool has a dialer and hooks of its own: both checks
// must see through them.
func TestBothChecksWorkWithAClientOfPackagePool(t *testing.T) {
	t.Parallel()
	c := clustertest.Run(t, clustertest.Options{
		Backend: clustertest.Processes{}, Replicas: 1, NodeTimeout: 20 * time.Second,
		Config: map[string]string{"cluster-require-full-coverage": "no"},
	})
	p, err := pool.New(t.Context(), pool.Config{Addrs: c.Addrs()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := health.QuickCheck(t.Context(), p.Client()); err != nil {
		t.Error(err)
	}
	h, err := health.New(health.Config{Client: p.Client()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	healthy(t, h)
	dead := c.Masters()[1]
	slots := ownSlots(t, dead)
	if err := dead.Kill(); err != nil {
		t.Fatal(err)
	}
	r := wantReport(t, h, "master_unreachable", func(r *health.Report) bool { return r.Has(health.CodeMasterUnreachable) })
	if x := reason(r, health.CodeSlotsUnserved); health.FormatRanges(x.Slots) != slots {
		t.Error(dump(r))
	}
	t.Logf("%v", r.Reasons[0])
	err = health.QuickCheck(t.Context(), p.Client())
	var ne *health.NodeError
	if !errors.As(err, &ne) || ne.Addr != dead.Addr() || health.FormatRanges(ne.Slots) != slots {
		t.Errorf("QuickCheck: %v", err)
	}
	if err := dead.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "not Down", func() bool { return report(t, h).Verdict != health.Down })
	eventually(t, 20*time.Second, "QuickCheck is nil", func() bool { return health.QuickCheck(t.Context(), p.Client()) == nil })
}
