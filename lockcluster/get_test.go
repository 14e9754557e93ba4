package lockcluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rcctl/rcctl/lockcluster"
	"github.com/redis/go-redis/v9"
)

type got struct {
	r    lockcluster.Result
	err  error
	took time.Duration
}

// callers runs n Gets at once on each cache and waits for all.
func callers(n int, caches []*lockcluster.Cache, ctx context.Context, key string, load lockcluster.Loader) []got {
	out := make([]got, n*len(caches))
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range out {
		wg.Go(func() {
			<-start
			began := time.Now()
			r, err := caches[i%len(caches)].Get(ctx, key, load)
			out[i] = got{r, err, time.Since(began)}
		})
	}
	close(start)
	wg.Wait()
	return out
}

// instances are caches with clients of their own, as in several processes.
func instances(t *testing.T, n int, cfg lockcluster.Config) ([]*lockcluster.Cache, *redis.ClusterClient) {
	t.Helper()
	cluster := sharedCluster(t)
	cs := make([]*lockcluster.Cache, n)
	var client *redis.ClusterClient
	for i := range cs {
		client = newClient(t, cluster)
		cs[i] = newCache(t, client, cfg)
	}
	return cs, client
}

func TestOneLoadServesAllCallersOfAllInstances(t *testing.T) {
	for _, plain := range []bool{false, true} {
		cs, client := instances(t, 4, lockcluster.Config{PlainValues: plain})
		forEachOddKey(t, client, func(t *testing.T, key string) {
			l := constant{value: "v\x00\xff", takes: 60 * time.Millisecond}
			shared := 0
			for _, g := range callers(10, cs, t.Context(), key, l.load) {
				if g.err != nil || string(g.r.Value) != l.value {
					t.Fatalf("got %+v", g)
				}
				if g.r.Shared {
					shared++
				}
			}
			if n := l.calls.Load(); n != 1 {
				t.Errorf("%d loads", n)
			}
			if shared < 20 {
				t.Errorf("%d of 40 answers were shared", shared)
			}
			r, err := cs[0].Get(t.Context(), key, l.load)
			if err != nil || r.Source != lockcluster.Fresh || string(r.Value) != l.value {
				t.Errorf("afterwards: %+v, %v", r, err)
			}
		})
	}
}

func TestReturnedSlicesBelongToTheirCallers(t *testing.T) {
	cs, _ := instances(t, 1, lockcluster.Config{})
	l := constant{value: "value", takes: 20 * time.Millisecond}
	key := uniqueKey("owned")
	for range 2 { // loaded, then from Redis
		for _, g := range callers(20, cs, t.Context(), key, l.load) {
			if string(g.r.Value) != "value" {
				t.Fatalf("somebody else wrote to it: %q", g.r.Value)
			}
			copy(g.r.Value, "XXXXX")
		}
	}
	buffer := []byte("mine")
	_, _ = cs[0].Get(t.Context(), uniqueKey("owned"), func(context.Context, *lockcluster.Load) ([]byte, error) { return buffer, nil })
	copy(buffer, "XXXX")
}

func TestALoaderThatFailsAnswersEverybodyAndFreesTheKeyAtOnce(t *testing.T) {
	boom := errors.New("boom")
	for name, bad := range map[string]struct {
		load   lockcluster.Loader
		reason lockcluster.Reason
	}{
		"error":  {func(context.Context, *lockcluster.Load) ([]byte, error) { return nil, boom }, lockcluster.LoaderFailed},
		"panic":  {func(context.Context, *lockcluster.Load) ([]byte, error) { panic(boom) }, lockcluster.LoaderPanicked},
		"goexit": {func(context.Context, *lockcluster.Load) ([]byte, error) { runtime.Goexit(); return nil, nil }, lockcluster.LoaderExited},
	} {
		t.Run(name, func(t *testing.T) {
			cs, _ := instances(t, 2, lockcluster.Config{})
			key := uniqueKey("fails")
			var calls atomic.Int64
			slow := func(ctx context.Context, l *lockcluster.Load) ([]byte, error) {
				calls.Add(1)
				<-time.After(50 * time.Millisecond)
				return bad.load(ctx, l)
			}
			for _, g := range callers(20, cs[:1], t.Context(), key, slow) {
				var le *lockcluster.LoadError
				if !errors.As(g.err, &le) || le.Reason != bad.reason || le.Key != key {
					t.Fatalf("got %+v", g)
				}
				if bad.reason != lockcluster.LoaderExited && !errors.Is(g.err, boom) {
					t.Errorf("%v does not wrap the loader's error", g.err)
				}
				if g.took > time.Second {
					t.Errorf("answered after %s", g.took)
				}
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("%d loads", n)
			}
			good := constant{value: "v"}
			began := time.Now()
			r, err := cs[1].Get(t.Context(), key, good.load)
			if err != nil || string(r.Value) != "v" || good.calls.Load() != 1 || r.Source != lockcluster.Loaded {
				t.Fatalf("the next call: %+v, %v", r, err)
			}
			if d := time.Since(began); d > 150*time.Millisecond { // 50 ms, with slack
				t.Errorf("the next load was possible after %s", d)
			}
		})
	}
}

func TestAHangingLoaderIsAnsweredForAtLoadTimeout(t *testing.T) {
	cs, _ := instances(t, 2, lockcluster.Config{LoadTimeout: 300 * time.Millisecond, LoserTimeout: 200 * time.Millisecond, Cooldown: lockcluster.Off})
	key := uniqueKey("hangs")
	release := make(chan struct{})
	defer close(release)
	hang := func(context.Context, *lockcluster.Load) ([]byte, error) { <-release; return nil, nil }
	for _, g := range callers(10, cs, t.Context(), key, hang) {
		var le *lockcluster.LoadError
		if !errors.As(g.err, &le) || errors.Is(g.err, context.DeadlineExceeded) {
			t.Fatalf("got %+v", g)
		}
		if g.took > 500*time.Millisecond*2 {
			t.Errorf("answered after %s, want WaitBudget + LoserTimeout at most", g.took)
		}
	}
	good := constant{value: "v"}
	if r, err := cs[1].Get(t.Context(), key, good.load); err != nil || string(r.Value) != "v" {
		t.Fatalf("the next call: %+v, %v", r, err)
	}
}

func TestACallerThatGoesAwayHarmsNobody(t *testing.T) {
	cs, _ := instances(t, 2, lockcluster.Config{})
	key := uniqueKey("canceled")
	l := constant{value: "v", takes: 300 * time.Millisecond}
	first, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	gone := make(chan error, 1)
	go func() {
		_, err := cs[0].Get(first, key, l.load)
		gone <- err
	}()
	eventually(t, time.Second, "the load runs", func() bool { return l.calls.Load() == 1 })
	for _, g := range callers(10, cs, t.Context(), key, l.load) {
		if g.err != nil || string(g.r.Value) != "v" || g.took > 900*time.Millisecond {
			t.Errorf("got %+v", g)
		}
	}
	if err := <-gone; err != context.DeadlineExceeded {
		t.Errorf("the first caller got %v", err)
	}
	if n := l.calls.Load(); n != 1 {
		t.Errorf("%d loads", n)
	}
}

func TestNobodySeesTheOldValueAfterAnInvalidation(t *testing.T) {
	remove := map[string]func(ctx context.Context, c *lockcluster.Cache, client *redis.ClusterClient, key string) error{
		"Invalidate": func(ctx context.Context, c *lockcluster.Cache, _ *redis.ClusterClient, key string) error {
			return c.Invalidate(ctx, key)
		},
		"DEL": func(ctx context.Context, _ *lockcluster.Cache, client *redis.ClusterClient, key string) error {
			return client.Del(ctx, key).Err()
		},
	}
	for name, remove := range remove {
		t.Run(name, func(t *testing.T) {
			cs, client := instances(t, 3, lockcluster.Config{Lease: 200 * time.Millisecond})
			forEachOddKey(t, client, func(t *testing.T, key string) {
				ctx := t.Context()
				var version, loads atomic.Int64
				load := func(context.Context, *lockcluster.Load) ([]byte, error) {
					loads.Add(1)
					v := version.Load() // read the source, then be slow
					<-time.After(60 * time.Millisecond)
					return fmt.Appendf(nil, "%d", v), nil
				}
				var wg sync.WaitGroup
				for _, c := range cs {
					for range 4 {
						wg.Go(func() { _, _ = c.Get(ctx, key, load) })
					}
				}
				eventually(t, 5*time.Second, "a load runs", func() bool { return loads.Load() > 0 })
				for round := range 4 {
					version.Add(1)
					if err := remove(ctx, cs[round%3], client, key); err != nil {
						t.Fatal(err)
					}
					for _, g := range callers(3, cs, ctx, key, load) {
						if g.err != nil || string(g.r.Value) != fmt.Sprint(version.Load()) {
							t.Fatalf("version %d: got %q, %v from %s", version.Load(), g.r.Value, g.err, g.r.Source)
						}
					}
				}
				wg.Wait()
			})
		})
	}
}

func TestAStaleValueIsAnsweredWhileOneLoadRefreshesIt(t *testing.T) {
	cs, _ := instances(t, 3, lockcluster.Config{Fresh: 200 * time.Millisecond, Stale: 10 * time.Second, Jitter: lockcluster.Off, Beta: lockcluster.Off})
	key := uniqueKey("stale")
	var calls atomic.Int64
	load := func(ctx context.Context, l *lockcluster.Load) ([]byte, error) {
		n := calls.Add(1)
		if v, ok := l.Previous(); n > 1 && (!ok || string(v) != fmt.Sprint(n-1)) {
			t.Errorf("load %d was told that the previous value is %q, %v", n, v, ok)
		}
		<-time.After(100 * time.Millisecond)
		return fmt.Appendf(nil, "%d", n), nil
	}
	if r, err := cs[0].Get(t.Context(), key, load); err != nil || r.Source != lockcluster.Loaded {
		t.Fatal(r, err)
	}
	for want := int64(2); want <= 3; want++ {
		eventually(t, 5*time.Second, "the value becomes stale", func() bool {
			rec, _, _ := cs[0].Peek(t.Context(), key)
			return rec.FreshFor == 0
		})
		for _, g := range callers(10, cs, t.Context(), key, load) {
			if g.err != nil || g.r.Source != lockcluster.Stale || string(g.r.Value) != fmt.Sprint(want-1) {
				t.Fatalf("got %+v, want the stale value at once", g)
			}
		}
		eventually(t, 5*time.Second, "the refresh is done", func() bool {
			_, v, _ := cs[1].Peek(t.Context(), key)
			return string(v) == fmt.Sprint(want)
		})
		if n := calls.Load(); n != want {
			t.Errorf("%d loads, want %d", n, want)
		}
	}
}

func TestWhatALoaderMaySay(t *testing.T) {
	cs, _ := instances(t, 2, lockcluster.Config{Jitter: lockcluster.Off, MaxValueBytes: 10})
	c, ctx := cs[0], t.Context()
	t.Run("NotFound is remembered", func(t *testing.T) {
		key := uniqueKey("notfound")
		var calls atomic.Int64
		load := func(_ context.Context, l *lockcluster.Load) ([]byte, error) { calls.Add(1); return l.NotFound() }
		for range 3 {
			for _, c := range cs {
				if r, err := c.Get(ctx, key, load); err != lockcluster.ErrNotFound || r.Value != nil {
					t.Errorf("got %+v, %v", r, err)
				}
			}
		}
		wrapped := func(context.Context, *lockcluster.Load) ([]byte, error) {
			return nil, fmt.Errorf("no rows: %w", lockcluster.ErrNotFound)
		}
		if _, err := c.Get(ctx, uniqueKey("notfound"), wrapped); err != lockcluster.ErrNotFound {
			t.Errorf("a wrapped ErrNotFound gave %v", err)
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("%d loads", n)
		}
	})
	t.Run("NoStore answers and stores nothing", func(t *testing.T) {
		key := uniqueKey("nostore")
		load := func(_ context.Context, l *lockcluster.Load) ([]byte, error) { l.NoStore(); return []byte("v"), nil }
		for range 2 {
			if r, err := c.Get(ctx, key, load); err != nil || string(r.Value) != "v" || r.Source != lockcluster.Loaded {
				t.Errorf("got %+v, %v", r, err)
			}
		}
	})
	t.Run("a value that is too large is answered and not stored", func(t *testing.T) {
		key := uniqueKey("large")
		l := constant{value: "eleven bytes"}
		for range 2 {
			if r, err := c.Get(ctx, key, l.load); err != nil || string(r.Value) != l.value {
				t.Errorf("got %+v, %v", r, err)
			}
		}
		if _, _, err := c.Peek(ctx, key); err != lockcluster.ErrNotFound || c.Stats().Fills["too_large"] != 2 {
			t.Errorf("stored: %v, %v", err, c.Stats().Fills)
		}
	})
	t.Run("TTL is the loader's choice", func(t *testing.T) {
		key := uniqueKey("ttl")
		load := func(_ context.Context, l *lockcluster.Load) ([]byte, error) {
			l.TTL(40*time.Second, 7*time.Second)
			return []byte("v"), nil
		}
		_, _ = c.Get(ctx, key, load)
		rec, _, err := c.Peek(ctx, key)
		if err != nil || rec.FreshFor > 40*time.Second || rec.FreshFor < 35*time.Second || rec.StaleFor-rec.FreshFor != 7*time.Second {
			t.Errorf("got %+v, %v", rec, err)
		}
	})
	t.Run("NotModified keeps the value", func(t *testing.T) {
		key := uniqueKey("same")
		load := func(_ context.Context, l *lockcluster.Load) ([]byte, error) {
			if _, ok := l.Previous(); ok {
				return l.NotModified()
			}
			return []byte("v"), nil
		}
		_, _ = c.Get(ctx, key, load)
		if err := c.MarkStale(ctx, key); err != nil {
			t.Fatal(err)
		}
		if r, err := c.Get(ctx, key, load); err != nil || r.Source != lockcluster.Stale {
			t.Fatalf("got %+v, %v", r, err)
		}
		eventually(t, 5*time.Second, "fresh again", func() bool {
			rec, v, _ := c.Peek(ctx, key)
			return rec.Generation == 2 && rec.FreshFor > time.Minute && string(v) == "v"
		})
		_, err := c.Get(ctx, uniqueKey("same"), func(_ context.Context, l *lockcluster.Load) ([]byte, error) { return l.NotModified() })
		if err == nil {
			t.Error("NotModified without a previous value passed")
		}
	})
	t.Run("an empty value is a value", func(t *testing.T) {
		key := uniqueKey("empty")
		l := constant{}
		for range 2 {
			if r, err := c.Get(ctx, key, l.load); err != nil || r.Value == nil || len(r.Value) != 0 {
				t.Errorf("got %+v, %v", r, err)
			}
		}
		if n := l.calls.Load(); n != 1 {
			t.Errorf("%d loads", n)
		}
	})
	t.Run("its own key is an error", func(t *testing.T) {
		key := uniqueKey("reentrant")
		_, err := c.Get(ctx, key, func(ctx context.Context, _ *lockcluster.Load) ([]byte, error) {
			r, err := c.Get(ctx, uniqueKey("other"), func(ctx context.Context, _ *lockcluster.Load) ([]byte, error) {
				r, err := c.Get(ctx, key, nil)
				return r.Value, err
			})
			return r.Value, err
		})
		var le *lockcluster.LoadError
		for e := err; errors.As(e, &le); e = le.Err {
		}
		if le == nil || le.Reason != lockcluster.Reentrant {
			t.Errorf("got %v", err)
		}
	})
}

func TestALoaderThatKeepsFailingRestsAfterTheThirdFailure(t *testing.T) {
	cs, _ := instances(t, 3, lockcluster.Config{Cooldown: 300 * time.Millisecond})
	key := uniqueKey("keeps failing")
	var calls atomic.Int64
	load := func(context.Context, *lockcluster.Load) ([]byte, error) { calls.Add(1); return nil, errors.New("down") }
	for i := range 3 {
		if _, err := cs[i].Get(t.Context(), key, load); err == nil {
			t.Fatal("no error")
		}
	}
	for _, g := range callers(10, cs, t.Context(), key, load) {
		var le *lockcluster.LoadError
		if !errors.As(g.err, &le) || le.Reason != lockcluster.CoolingDown || le.RetryAfter <= 0 {
			t.Fatalf("got %+v", g)
		}
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("%d loads", n)
	}
	eventually(t, 5*time.Second, "the loader is tried again", func() bool {
		_, _ = cs[0].Get(t.Context(), key, load)
		return calls.Load() == 4
	})
	canceled := func(context.Context, *lockcluster.Load) ([]byte, error) { return nil, context.Canceled }
	other := uniqueKey("canceled")
	for range 5 {
		_, err := cs[0].Get(t.Context(), other, canceled)
		var le *lockcluster.LoadError
		if !errors.As(err, &le) || le.Reason != lockcluster.LoaderFailed {
			t.Fatalf("a cancellation counted: %v", err)
		}
	}
}

func TestWhoWaitedLongEnoughLoadsItself(t *testing.T) {
	cfg := lockcluster.Config{LoadTimeout: 5 * time.Second, WaitBudget: 200 * time.Millisecond, LoserTimeout: time.Second}
	cs, _ := instances(t, 2, cfg)
	key := uniqueKey("loser")
	slow := constant{value: "slow", takes: 2 * time.Second}
	first := make(chan got, 1)
	go func() {
		r, err := cs[0].Get(t.Context(), key, slow.load)
		first <- got{r: r, err: err}
	}()
	eventually(t, 5*time.Second, "the slow load runs", func() bool { return slow.calls.Load() == 1 })
	quick := constant{value: "quick", takes: 20 * time.Millisecond}
	for _, g := range callers(10, cs[1:], t.Context(), key, quick.load) {
		// Elsewhere: a second flight of the process took what the first stored.
		if g.err != nil || g.r.Source != lockcluster.Fallback && g.r.Source != lockcluster.Elsewhere || string(g.r.Value) != "quick" {
			t.Errorf("got %+v", g)
		}
	}
	if n := quick.calls.Load(); n != 1 {
		t.Errorf("%d loads of the losers", n)
	}
	if g := <-first; g.err != nil || string(g.r.Value) != "quick" {
		t.Errorf("the late fill gave %+v, want what stands there by now", g)
	}
	if s := cs[1].Stats(); s.Patterns[""].Fallback == 0 || s.Loads["fallback"]["ok"] != 1 {
		t.Errorf("counted %+v", s.Patterns[""])
	}

	cfg.WaitThen = lockcluster.Error
	strict, _ := instances(t, 2, cfg)
	key = uniqueKey("loser")
	slow.calls.Store(0)
	go func() { _, _ = strict[0].Get(context.WithoutCancel(t.Context()), key, slow.load) }()
	eventually(t, 5*time.Second, "the slow load runs", func() bool { return slow.calls.Load() == 1 })
	_, err := strict[1].Get(t.Context(), key, quick.load)
	var le *lockcluster.LoadError
	if !errors.As(err, &le) || le.Reason != lockcluster.WaitedTooLong {
		t.Errorf("got %v", err)
	}
}

func TestSetSupersedesALoadUnderWay(t *testing.T) {
	cs, _ := instances(t, 2, lockcluster.Config{})
	key := uniqueKey("set")
	slow := constant{value: "loaded", takes: 200 * time.Millisecond}
	first := make(chan got, 1)
	go func() {
		r, err := cs[0].Get(t.Context(), key, slow.load)
		first <- got{r: r, err: err}
	}()
	eventually(t, 5*time.Second, "the load runs", func() bool { return slow.calls.Load() == 1 })
	if err := cs[1].Set(t.Context(), key, []byte("set")); err != nil {
		t.Fatal(err)
	}
	if g := <-first; g.err != nil || string(g.r.Value) != "set" {
		t.Errorf("got %+v", g)
	}
	if err := cs[1].Set(t.Context(), key, bytes.Repeat([]byte("x"), 17<<20)); err == nil {
		t.Error("a value beyond MaxValueBytes passed")
	}
}

func TestCloseDrainsAndThenRefuses(t *testing.T) {
	client := newClient(t, sharedCluster(t))
	c, err := lockcluster.New(client, lockcluster.Config{})
	if err != nil {
		t.Fatal(err)
	}
	key := uniqueKey("close")
	l := constant{value: "v", takes: 200 * time.Millisecond}
	first := make(chan got, 1)
	go func() {
		r, err := c.Get(t.Context(), key, l.load)
		first <- got{r: r, err: err}
	}()
	eventually(t, 5*time.Second, "the load runs", func() bool { return l.calls.Load() == 1 })
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := <-first; g.err != nil || string(g.r.Value) != "v" {
		t.Errorf("got %+v", g)
	}
	if _, err := c.Get(t.Context(), key, l.load); !errors.Is(err, lockcluster.ErrUnavailable) {
		t.Errorf("after close: %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Errorf("a second close: %v", err)
	}
}
