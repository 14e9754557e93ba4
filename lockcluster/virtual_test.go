package lockcluster_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/lockcluster"
	"github.com/redis/go-redis/v9"
)

// virtual runs a test with caches of one embedded cluster in virtual time,
// where bounds are exact. What is left running when it ends fails the test.
func virtual(t *testing.T, n int, cfg lockcluster.Config, test func(t *testing.T, cs []*lockcluster.Cache)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster, err := clustertest.Start(t.Context(), clustertest.Options{Backend: clustertest.Embedded{InMemory: true}})
		if err != nil {
			t.Fatal(err)
		}
		var clients []*redis.ClusterClient
		var cs []*lockcluster.Cache
		for range n {
			client := redis.NewClusterClient(clientOptions(cluster))
			c, err := lockcluster.New(client, cfg)
			if err != nil {
				t.Fatal(err)
			}
			clients, cs = append(clients, client), append(cs, c)
		}
		test(t, cs)
		for i := range cs {
			if err := errors.Join(cs[i].Close(context.Background()), clients[i].Close()); err != nil {
				t.Error(err)
			}
		}
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute) // go-redis forgets old nodes a minute after a reload
	})
}

func TestEveryCallerIsAnsweredWithinTheBoundsExactly(t *testing.T) {
	cfg := lockcluster.Config{Cooldown: lockcluster.Off}
	virtual(t, 2, cfg, func(t *testing.T, cs []*lockcluster.Cache) {
		release := make(chan struct{})
		hang := func(context.Context, *lockcluster.Load) ([]byte, error) { <-release; return nil, nil }
		gots := callers(10, cs, t.Context(), "hangs", hang)
		var first time.Duration = time.Hour
		for _, g := range gots {
			var le *lockcluster.LoadError
			if !errors.As(g.err, &le) || le.Reason != lockcluster.LoadTimedOut && le.Reason != lockcluster.WaitedTooLong {
				t.Errorf("got %+v", g)
			}
			if g.took > 5*time.Second {
				t.Errorf("answered after %s, want WaitBudget + LoserTimeout = 5 s at most", g.took)
			}
			first = min(first, g.took)
		}
		if first != 3*time.Second {
			t.Errorf("the leader was answered after %s, want LoadTimeout = 3 s", first)
		}
		close(release)
	})
}

func TestADeadLeaderIsReplacedAtTheEndOfItsLease(t *testing.T) {
	virtual(t, 2, lockcluster.Config{}, func(t *testing.T, cs []*lockcluster.Cache) {
		dead := cs[0].NewToken() // acquired, and nobody renews
		mustState(t, "ACQUIRED")(cs[0].Acquire(t.Context(), "dead", dead, "", "0"))
		l := constant{value: "v"}
		for _, g := range callers(5, cs, t.Context(), "dead", l.load) {
			if g.err != nil || g.took > 1020*time.Millisecond || g.took < 980*time.Millisecond {
				t.Errorf("got %+v, want the lease (1 s) and 10 ms", g)
			}
		}
		if n := l.calls.Load(); n != 1 {
			t.Errorf("%d loads", n)
		}
	})
}

func TestALoaderThatKeepsFailingIsCalledOncePerCooldown(t *testing.T) {
	virtual(t, 2, lockcluster.Config{}, func(t *testing.T, cs []*lockcluster.Cache) {
		var mu sync.Mutex
		var at []time.Duration
		start := time.Now()
		load := func(context.Context, *lockcluster.Load) ([]byte, error) {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(start))
			return nil, errors.New("down")
		}
		for time.Since(start) < 100*time.Second {
			for _, c := range cs {
				_, _ = c.Get(t.Context(), "failing", load)
			}
			time.Sleep(10 * time.Millisecond)
		}
		// Three at once, then 1, 2, 4, 8, 16, 30, 30 s apart.
		want := []time.Duration{0, 0, 0, 1, 3, 7, 15, 31, 61, 91}
		if len(at) != len(want) {
			t.Fatalf("called at %v", at)
		}
		for i, w := range want {
			if d := at[i] - w*time.Second; d < -10*time.Millisecond || d > 250*time.Millisecond {
				t.Errorf("call %d at %s, want about %d s", i+1, at[i], w)
			}
		}
	})
}

func TestEarlyRefreshesLoadOnceAndKeepEveryReaderFromWaiting(t *testing.T) {
	const fresh, delta, readers = 60 * time.Second, 100 * time.Millisecond, 100
	span := 10 * time.Minute
	if testing.Short() {
		span = 3 * time.Minute
	}
	cfg := lockcluster.Config{Fresh: fresh, Jitter: lockcluster.Off}
	virtual(t, 10, cfg, func(t *testing.T, cs []*lockcluster.Cache) {
		var loads, inside, waits, stale atomic.Int64
		load := func(context.Context, *lockcluster.Load) ([]byte, error) {
			loads.Add(1)
			if inside.Add(1) > 1 {
				t.Error("two loads at once")
			}
			time.Sleep(delta)
			inside.Add(-1)
			return []byte("v"), nil
		}
		if _, err := cs[0].Get(t.Context(), "hot", load); err != nil {
			t.Fatal(err)
		}
		end := time.Now().Add(span)
		var wg sync.WaitGroup
		for i := range readers {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 5 * time.Millisecond)
				for time.Now().Before(end) {
					r, err := cs[i%len(cs)].Get(t.Context(), "hot", load)
					if err != nil {
						t.Error(err)
					}
					if !r.Source.Hit() {
						waits.Add(1)
					}
					if r.Source == lockcluster.Stale {
						stale.Add(1)
					}
					time.Sleep(500 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		most := int64(span/(fresh-12*delta)) + 1
		t.Logf("%d loads in %s (at most %d), %d stale answers of %d", loads.Load(), span, most, stale.Load(), readers*int(span/(500*time.Millisecond)))
		if n := loads.Load(); n > most || n < int64(span/(fresh+delta)) || waits.Load() > 0 {
			t.Errorf("%d loads in %s, want at most %d; %d calls waited", n, span, most, waits.Load())
		}
	})
}
