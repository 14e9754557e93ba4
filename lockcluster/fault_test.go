package lockcluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
	"github.com/rcctl/rcctl/lockcluster"
	"github.com/redis/go-redis/v9"
)

// Time limits in this file are promises with three-fold slack.

// keyOn is a key that a node serves.
func keyOn(cluster *clustertest.Cluster, node *clustertest.Node) string {
	for {
		if k := uniqueKey("on"); cluster.NodeForKey(k).Addr() == node.Addr() {
			return k
		}
	}
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

func TestWithAMasterDownItsKeysAreAnsweredQuicklyAndTheOthersAsEver(t *testing.T) {
	cluster := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{Proxy: true}, Config: map[string]string{"cluster-require-full-coverage": "no"}})
	policies := []lockcluster.Policy{lockcluster.FailOpenBounded, lockcluster.FailStale, lockcluster.FailClosed}
	var caches []*lockcluster.Cache
	for _, p := range policies {
		caches = append(caches, newCache(t, newClient(t, cluster), lockcluster.Config{WhenSick: p, StepBudget: 100 * time.Millisecond}))
	}
	masters := cluster.Masters()
	known, unknown, other := keyOn(cluster, masters[0]), keyOn(cluster, masters[0]), keyOn(cluster, masters[1])
	l := constant{value: "v"}
	for _, c := range caches {
		for _, k := range []string{known, other} {
			eventually(t, 10*time.Second, "warm", func() bool {
				r, err := c.Get(t.Context(), k, l.load)
				return err == nil && r.Source == lockcluster.Fresh
			})
		}
	}
	for _, down := range []string{"killed", "paused"} {
		if down == "killed" {
			if err := masters[0].Kill(); err != nil {
				t.Fatal(err)
			}
		} else {
			if err := masters[0].Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, c := range caches {
				eventually(t, 20*time.Second, "healed", func() bool {
					r, err := c.Get(t.Context(), known, l.load)
					return err == nil && (r.Source == lockcluster.Fresh || r.Source == lockcluster.Loaded) && c.Stats().ShardsSick == 0
				})
			}
			if err := masters[0].Pause(); err != nil {
				t.Fatal(err)
			}
			defer masters[0].Resume()
		}
		for i, p := range policies {
			c := caches[i]
			var r lockcluster.Result
			var err error
			ask := func(key string) func() {
				return func() { r, err = c.Get(t.Context(), key, l.load) }
			}
			first := timed(ask(known))
			if first > 3*150*time.Millisecond {
				t.Errorf("%s, policy %d: the first call took %s", down, p, first)
			}
			switch {
			case p == lockcluster.FailClosed && errors.Is(err, lockcluster.ErrUnavailable):
			case p != lockcluster.FailClosed && err == nil && r.Source == lockcluster.LastGood && string(r.Value) == "v":
			default:
				t.Errorf("%s, policy %d: %+v, %v", down, p, r, err)
			}
			var slowest time.Duration
			for range 50 {
				slowest = max(slowest, timed(ask(known)))
			}
			next := timed(ask(unknown))
			t.Logf("%s, policy %d: first %s, following at most %s, a key without a copy %s", down, p, first, slowest, next)
			if slowest > 30*time.Millisecond {
				t.Errorf("%s, policy %d: a following call took %s", down, p, slowest)
			}
			if p == lockcluster.FailOpenBounded {
				if err != nil || r.Source != lockcluster.Alone && r.Source != lockcluster.LastGood {
					t.Errorf("%s: a key without a copy: %+v, %v", down, r, err)
				}
			} else if !errors.Is(err, lockcluster.ErrUnavailable) {
				t.Errorf("%s, policy %d: a key without a copy: %+v, %v", down, p, r, err)
			}
			for range 20 {
				if ask(other)(); err != nil || r.Source != lockcluster.Fresh {
					t.Fatalf("%s: a key of another shard: %+v, %v", down, r, err)
				}
			}
		}
		if err := caches[0].Invalidate(t.Context(), known); err == nil {
			t.Errorf("%s: an invalidation that nobody heard was called done", down)
		}
		if r, err := caches[0].Get(t.Context(), known, l.load); err != nil || r.Source != lockcluster.Alone {
			t.Errorf("%s: after a local Invalidate: %+v, %v", down, r, err)
		}
		items := caches[0].GetMany(t.Context(), []string{other, known}, func(_ context.Context, b *lockcluster.Batch) error { return errors.New("no") })
		if items[0].Err != nil || items[0].Source != lockcluster.Fresh || items[1].Source != lockcluster.LastGood {
			t.Errorf("%s: GetMany: %+v", down, items)
		}
	}
}

func TestLoadsWithoutRedisAreBounded(t *testing.T) {
	cluster := ownCluster(t, 0)
	c := newCache(t, newClient(t, cluster), lockcluster.Config{MaxSickLoads: 3, StepBudget: 100 * time.Millisecond})
	for _, n := range cluster.Nodes() {
		if err := n.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	var inside, most atomic.Int64
	load := func(context.Context, *lockcluster.Load) ([]byte, error) {
		n := inside.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-time.After(30 * time.Millisecond)
		inside.Add(-1)
		return []byte("v"), nil
	}
	done := make(chan error, 40)
	for i := range 40 {
		go func() {
			r, err := c.Get(t.Context(), fmt.Sprint("k", i%20), load)
			if err == nil && string(r.Value) != "v" {
				err = errors.New("wrong value")
			}
			done <- err
		}()
	}
	for range 40 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := most.Load(); n > 3 {
		t.Errorf("%d loads at once", n)
	}
}

func TestAGetWhoseRepliesAreLostLoadsOnce(t *testing.T) {
	cluster := ownCluster(t, 0)
	client := newClient(t, cluster)
	cs := []*lockcluster.Cache{newCache(t, client, lockcluster.Config{}), newCache(t, newClient(t, cluster), lockcluster.Config{})}
	for i := range 12 { // nodes know the scripts
		_, _ = cs[0].Get(t.Context(), fmt.Sprint("warm", i), (&constant{}).load)
	}
	for _, after := range []bool{false, true} {
		for nth := range 2 { // the acquire, the fill
			key := uniqueKey("lost")
			node := cluster.NodeForKey(key)
			fault := clustertest.Fault{Command: "EVALSHA", Key: key, Times: 1, DropBefore: !after, DropAfter: after}
			l := constant{value: "v"}
			load := func(ctx context.Context, h *lockcluster.Load) ([]byte, error) {
				if nth == 1 {
					if _, err := node.Inject(fault); err != nil {
						t.Error(err)
					}
				}
				return l.load(ctx, h)
			}
			if nth == 0 {
				if _, err := node.Inject(fault); err != nil {
					t.Fatal(err)
				}
			}
			r, err := cs[0].Get(t.Context(), key, load)
			if err != nil || string(r.Value) != "v" || r.Source != lockcluster.Loaded {
				t.Fatalf("after %v, script %d: %+v, %v", after, nth, r, err)
			}
			r, err = cs[1].Get(t.Context(), key, load)
			if err != nil || r.Source != lockcluster.Fresh || l.calls.Load() != 1 {
				t.Errorf("after %v, script %d: then %+v, %v and %d loads", after, nth, r, err, l.calls.Load())
			}
			if rec, _, _ := cs[1].Peek(t.Context(), key); rec.Lease != "" {
				t.Errorf("an orphaned lease: %+v", rec)
			}
		}
	}
}

func TestAFillThatRedisRefusesIsAnsweredAndCounted(t *testing.T) {
	cluster := ownCluster(t, 0)
	c := newCache(t, newClient(t, cluster), lockcluster.Config{})
	key := uniqueKey("oom")
	node := cluster.NodeForKey(key)
	load := func(ctx context.Context, _ *lockcluster.Load) ([]byte, error) {
		return []byte("v"), node.Client().ConfigSet(ctx, "maxmemory", "1").Err()
	}
	r, err := c.Get(t.Context(), key, load)
	if err != nil || string(r.Value) != "v" || c.Stats().Fills["refused"] != 1 {
		t.Fatalf("got %+v, %v, fills %v", r, err, c.Stats().Fills)
	}
	l := constant{value: "w"}
	for range 3 { // no lease can be had either
		if r, err := c.Get(t.Context(), keyOn(cluster, node), l.load); err != nil || string(r.Value) != "w" {
			t.Fatalf("got %+v, %v", r, err)
		}
	}
	if err := node.Client().ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "stored again", func() bool {
		r, err := c.Get(t.Context(), key, l.load)
		return err == nil && r.Source == lockcluster.Fresh
	})
}

func TestAnACLWithoutPubSubAndOneWithoutScriptsStillAnswer(t *testing.T) {
	cluster := ownCluster(t, 0)
	for _, n := range cluster.Nodes() {
		for _, rule := range []string{"nopubsub on >pw ~* resetchannels +@all -publish -subscribe -psubscribe -ssubscribe",
			"noscript on >pw ~* &* +@all -eval -evalsha"} {
			args := []any{"acl", "setuser"}
			for _, f := range strings.Fields(rule) {
				args = append(args, f)
			}
			if err := n.Client().Do(t.Context(), args...).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	as := func(user string) *lockcluster.Cache {
		o := clientOptions(cluster)
		o.Username, o.Password = user, "pw"
		client := redis.NewClusterClient(o)
		t.Cleanup(func() { _ = client.Close() })
		return newCache(t, client, lockcluster.Config{})
	}
	cs := []*lockcluster.Cache{as("nopubsub"), as("nopubsub"), as("nopubsub")}
	key := uniqueKey("acl")
	l := constant{value: "v", takes: 300 * time.Millisecond}
	for _, g := range callers(4, cs, t.Context(), key, l.load) {
		if g.err != nil || string(g.r.Value) != "v" || g.took > 3*(300+250)*time.Millisecond {
			t.Errorf("without pub/sub: %+v", g)
		}
	}
	if n := l.calls.Load(); n != 1 {
		t.Errorf("without pub/sub: %d loads", n)
	}
	mute := as("noscript")
	for _, g := range callers(10, []*lockcluster.Cache{mute}, t.Context(), uniqueKey("acl"), l.load) {
		if g.err != nil || string(g.r.Value) != "v" {
			t.Errorf("without scripts: %+v", g)
		}
	}
	if n := l.calls.Load(); n != 2 {
		t.Errorf("without scripts: %d loads", n-1)
	}
}

func TestWaitersAreAnsweredWhileThePubSubConnectionIsKilledAgainAndAgain(t *testing.T) {
	cluster := ownCluster(t, 0)
	cs := []*lockcluster.Cache{newCache(t, newClient(t, cluster), lockcluster.Config{}), newCache(t, newClient(t, cluster), lockcluster.Config{})}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			for _, n := range cluster.Nodes() {
				n.Client().Do(context.Background(), "client", "kill", "type", "pubsub")
			}
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	defer func() { close(stop); <-done }()
	for range 4 {
		l := constant{value: "v", takes: 300 * time.Millisecond}
		for _, g := range callers(5, cs, t.Context(), uniqueKey("kill"), l.load) {
			if g.err != nil || string(g.r.Value) != "v" || g.took > 3*(300+250)*time.Millisecond {
				t.Errorf("got %+v", g)
			}
		}
		if n := l.calls.Load(); n != 1 {
			t.Errorf("%d loads", n)
		}
	}
}

func TestCallersAreAnsweredWhileAllNormalConnectionsAreKilled(t *testing.T) {
	cluster := ownCluster(t, 0)
	cs := []*lockcluster.Cache{newCache(t, newClient(t, cluster), lockcluster.Config{}), newCache(t, newClient(t, cluster), lockcluster.Config{})}
	key := uniqueKey("client kill")
	l := constant{value: "v", takes: 300 * time.Millisecond}
	done := make(chan []got, 1)
	go func() { done <- callers(5, cs, t.Context(), key, l.load) }()
	eventually(t, 5*time.Second, "the load runs", func() bool { return l.calls.Load() > 0 })
	for _, n := range cluster.Nodes() {
		if err := n.ResetConns(); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range <-done {
		if g.err != nil || string(g.r.Value) != "v" {
			t.Errorf("got %+v", g)
		}
	}
	if n := l.calls.Load(); n != 1 {
		t.Errorf("%d loads", n)
	}
}

func TestASlotOnTheMoveChangesNothing(t *testing.T) {
	cluster := ownCluster(t, 0)
	for _, plain := range []bool{false, true} {
		cs := []*lockcluster.Cache{newCache(t, newClient(t, cluster), lockcluster.Config{PlainValues: plain}), newCache(t, newClient(t, cluster), lockcluster.Config{PlainValues: plain})}
		here := uniqueKey("move")
		slot := hashtag.Slot(here)
		l := constant{value: "v"}
		if _, err := cs[0].Get(t.Context(), here, l.load); err != nil {
			t.Fatal(err)
		}
		from := cluster.NodeForSlot(slot)
		to := cluster.Masters()[0]
		if to.Addr() == from.Addr() {
			to = cluster.Masters()[1]
		}
		move, err := cluster.BeginMove(t.Context(), slot, to)
		if err != nil {
			t.Fatal(err)
		}
		missing := hashtag.Companion(here, "x") // in the slot, and not there: ASK
		slow := constant{value: "w", takes: 100 * time.Millisecond}
		for _, g := range callers(5, cs, t.Context(), missing, slow.load) {
			if g.err != nil || string(g.r.Value) != "w" {
				t.Errorf("plain %v, half moved: %+v", plain, g)
			}
		}
		if n := slow.calls.Load(); n != 1 && !plain || n > 2 {
			t.Errorf("plain %v, half moved: %d loads", plain, n)
		}
		for _, c := range cs { // stored, however
			if r, err := c.Get(t.Context(), missing, slow.load); err != nil || r.Source != lockcluster.Fresh {
				t.Errorf("plain %v, half moved: then %+v, %v", plain, r, err)
			}
		}
		if err := cs[0].Invalidate(t.Context(), missing); err != nil {
			t.Errorf("plain %v, half moved: %v", plain, err)
		}
		slow.value = "x"
		if r, err := cs[1].Get(t.Context(), missing, slow.load); err != nil || string(r.Value) != "x" {
			t.Errorf("plain %v, half moved, invalidated: %+v, %v", plain, r, err)
		}
		if r, err := cs[1].Get(t.Context(), here, l.load); err != nil || string(r.Value) != "v" {
			t.Errorf("plain %v: a key that is there: %+v, %v", plain, r, err)
		}
		if err := move.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, c := range cs {
			if r, err := c.Get(t.Context(), here, l.load); err != nil || string(r.Value) != "v" || r.Source != lockcluster.Fresh {
				t.Errorf("plain %v, moved: %+v, %v", plain, r, err)
			}
		}
		if n := l.calls.Load(); n != 1 {
			t.Errorf("plain %v: %d loads", plain, n)
		}
	}
}

func TestAFailoverCostsAtMostOneMoreLoad(t *testing.T) {
	cluster := ownCluster(t, 1)
	o := clientOptions(cluster)
	o.MaxRedirects = 8
	client := redis.NewClusterClient(o)
	defer client.Close()
	cs := []*lockcluster.Cache{newCache(t, client, lockcluster.Config{}), newCache(t, newClient(t, cluster), lockcluster.Config{})}
	key := uniqueKey("failover")
	l := constant{value: "v", takes: 500 * time.Millisecond}
	done := make(chan []got, 1)
	go func() { done <- callers(5, cs, t.Context(), key, l.load) }()
	eventually(t, 5*time.Second, "the load runs", func() bool { return l.calls.Load() > 0 })
	if err := cluster.Failover(t.Context(), cluster.NodeForKey(key).Replicas()[0]); err != nil {
		t.Fatal(err)
	}
	for _, g := range <-done {
		if g.err != nil || string(g.r.Value) != "v" {
			t.Errorf("got %+v", g)
		}
	}
	eventually(t, 10*time.Second, "all is well", func() bool {
		r, err := cs[1].Get(t.Context(), key, l.load)
		return err == nil && r.Source == lockcluster.Fresh
	})
	if n := l.calls.Load(); n > 2 {
		t.Errorf("%d loads", n)
	}
}

func TestACallerWithAShortDeadlineDoesNotMakeTheShardSick(t *testing.T) {
	cluster := ownCluster(t, 0)
	c := newCache(t, newClient(t, cluster), lockcluster.Config{})
	key := uniqueKey("short")
	l := constant{value: "v"}
	for range 2 {
		if _, err := c.Get(t.Context(), key, l.load); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cluster.NodeForKey(key).Inject(clustertest.Fault{Command: "GET", Times: 10, Delay: 200 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err := c.Get(ctx, key, l.load); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
		cancel()
	}
	if s := c.Stats(); s.ShardsOpened != 0 {
		t.Error("the shard was called sick")
	}
}

func TestAClusterThatNeverAnsweredCostsOneStep(t *testing.T) {
	dialers := map[string]func(ctx context.Context, network, addr string) (net.Conn, error){
		"refuses": nil,
		"a black hole": func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
	for name, dialer := range dialers {
		for kind, client := range map[string]redis.UniversalClient{
			"cluster": redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1", "127.0.0.1:2"}, ContextTimeoutEnabled: true, Dialer: dialer}),
			"server":  redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: true, Dialer: dialer}),
		} {
			c := newCache(t, client, lockcluster.Config{StepBudget: 100 * time.Millisecond})
			l := constant{value: "v"}
			var slowest, first time.Duration
			for i := range 30 {
				d := timed(func() {
					if r, err := c.Get(t.Context(), fmt.Sprint(i), l.load); err != nil || r.Source != lockcluster.Alone {
						t.Errorf("%s, %s: %+v, %v", kind, name, r, err)
					}
				})
				if i == 0 {
					first = d
				} else {
					slowest = max(slowest, d)
				}
			}
			t.Logf("%s, %s: first %s, following at most %s", kind, name, first, slowest)
			if first > 3*150*time.Millisecond || slowest > 30*time.Millisecond {
				t.Errorf("%s, %s: the first call took %s, a following one %s", kind, name, first, slowest)
			}
			_ = client.Close()
		}
	}
}
