package lockcluster_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/lockcluster"
	"github.com/rcctl/rcctl/pool"
)

func TestOnAClientOfPoolAMasterMayDieAndComeBack(t *testing.T) {
	cluster := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Config: map[string]string{"cluster-require-full-coverage": "no"}})
	p, err := pool.New(t.Context(), pool.Config{Addrs: cluster.Addrs(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := newCache(t, p.Client(), lockcluster.Config{})
	masters := cluster.Masters()
	here, there := keyOn(cluster, masters[0]), keyOn(cluster, masters[1])
	l := constant{value: "v", takes: 20 * time.Millisecond}
	for _, key := range []string{here, there} {
		for _, g := range callers(20, []*lockcluster.Cache{c}, t.Context(), key, l.load) {
			if g.err != nil || string(g.r.Value) != "v" {
				t.Fatalf("got %+v", g)
			}
		}
		if r, err := c.Get(t.Context(), key, l.load); err != nil || r.Source != lockcluster.Fresh {
			t.Fatalf("got %+v, %v", r, err)
		}
	}
	if n := l.calls.Load(); n != 2 {
		t.Errorf("%d loads of two keys", n)
	}
	if err := masters[0].Kill(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if r, err := c.Get(t.Context(), here, l.load); err != nil || r.Source != lockcluster.LastGood {
			t.Errorf("its master is down: %+v, %v", r, err)
		}
		if r, err := c.Get(t.Context(), there, l.load); err != nil || r.Source != lockcluster.Fresh {
			t.Errorf("another master: %+v, %v", r, err)
		}
	}
	if err := masters[0].Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "it is back", func() bool {
		r, err := c.Get(t.Context(), here, l.load)
		return err == nil && r.Source == lockcluster.Fresh
	})
}
