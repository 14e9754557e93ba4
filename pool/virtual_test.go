package pool_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/pool"
)

// virtual runs a test with a cluster and a pool in virtual time. What is left
// running when it ends fails the test.
func virtual(t *testing.T, o clustertest.Options, change func(*pool.Config), test func(t *testing.T, c *clustertest.Cluster, p *pool.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		o.Backend = clustertest.Embedded{InMemory: true}
		c, err := clustertest.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		opt := c.ClientOptions()
		cfg := pool.Config{Addrs: opt.Addrs, Dialer: opt.Dialer, Logger: quiet}
		if change != nil {
			change(&cfg)
		}
		p, err := pool.New(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		test(t, c, p)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute) // go-redis forgets old nodes a minute after a reload
	})
}

func connsPerMaster(p *pool.Cluster) (conns []int) {
	for _, n := range p.Stats().Nodes {
		if n.Role == "master" {
			conns = append(conns, n.Conns)
		}
	}
	return conns
}

func TestNewOpensTheWarmConnectionsOfEveryMasterAndNoOthers(t *testing.T) {
	virtual(t, clustertest.Options{Replicas: 1}, nil, func(t *testing.T, c *clustertest.Cluster, p *pool.Cluster) {
		for _, n := range p.Stats().Nodes {
			if n.Role == "master" && (n.Idle != 20 || n.Conns != 20) || n.Role == "replica" && n.Conns > 1 { // one that asked for the topology
				t.Errorf("%s %s: %d connections, %d idle", n.Addr, n.Role, n.Conns, n.Idle)
			}
		}
		dials := masterDials(p)
		burst(t, p, 20)
		if d := masterDials(p) - dials; d != 0 {
			t.Errorf("a burst of 20 dialed %d connections", d)
		}
	})
}

// burst holds n connections of every master at once.
func burst(t *testing.T, p *pool.Cluster, n int) {
	t.Helper()
	err := p.Client().ForEachMaster(context.Background(), func(ctx context.Context, node *redis.Client) error {
		var conns []*redis.Conn
		for range n {
			cn := node.Conn()
			if err := cn.Ping(ctx).Err(); err != nil {
				return err
			}
			conns = append(conns, cn)
		}
		for _, cn := range conns {
			_ = cn.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAfterABurstTheIdleConnectionsAreClosedDownToTheWarmOnes(t *testing.T) {
	virtual(t, clustertest.Options{}, nil, func(t *testing.T, c *clustertest.Cluster, p *pool.Cluster) {
		burst(t, p, 100)
		time.Sleep(4*time.Minute + 50*time.Second)
		for _, n := range connsPerMaster(p) {
			if n != 100 {
				t.Errorf("%d connections before five idle minutes", n)
			}
		}
		time.Sleep(12 * time.Second)
		for _, n := range connsPerMaster(p) {
			if n >= 100 || n < 20 {
				t.Errorf("%d connections when five minutes are over: want some closed, not all at once", n)
			}
		}
		time.Sleep(15 * time.Second)
		for _, n := range connsPerMaster(p) {
			if n != 20 {
				t.Errorf("%d connections left, want 20", n)
			}
		}
		// And they stay, ready, for as long as nothing happens: past their
		// lifetime too.
		dials := masterDials(p)
		time.Sleep(time.Hour)
		before := masterDials(p)
		burst(t, p, 20)
		if d := masterDials(p) - before; d > 3 { // one that grew too old in the last half minute
			t.Errorf("a burst of 20 after an idle hour dialed %d connections", d)
		}
		if before == dials {
			t.Error("connections older than their lifetime were not replaced")
		}
	})
}

func masterDials(p *pool.Cluster) (n uint64) {
	for _, s := range p.Stats().Nodes {
		if s.Role == "master" {
			n += s.Dials
		}
	}
	return n
}

func TestConnectionsThatAreCutAreReplacedBeforeTheyAreNeeded(t *testing.T) {
	virtual(t, clustertest.Options{}, nil, func(t *testing.T, c *clustertest.Cluster, p *pool.Cluster) {
		for _, n := range c.Nodes() {
			if err := n.ResetConns(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		before := masterDials(p)
		burst(t, p, 20)
		if d := masterDials(p) - before; d != 0 {
			t.Errorf("a burst dialed %d connections", d)
		}
	})
}

func TestACommandWhoseDeadlineIsTooNearIsNotSent(t *testing.T) {
	virtual(t, clustertest.Options{}, nil, func(t *testing.T, c *clustertest.Cluster, p *pool.Cluster) {
		before := masterDials(p)
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Microsecond)
			err := p.Client().Incr(ctx, "n").Err()
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || pool.Applied(err) != pool.NotApplied {
				t.Fatal(err, pool.Applied(err))
			}
		}
		if n, err := p.Client().Exists(t.Context(), "n").Result(); n != 0 || err != nil {
			t.Error(n, err)
		}
		if d := masterDials(p) - before; d != 0 {
			t.Errorf("%d connections were lost", d)
		}
	})
}

func TestOnceRunsACommandOnceAndAppliedTellsWhetherItRan(t *testing.T) {
	virtual(t, clustertest.Options{}, nil, func(t *testing.T, c *clustertest.Cluster, p *pool.Cluster) {
		ctx := t.Context()
		node := c.NodeForKey("n")
		value := func() int {
			v, err := p.Client().Get(ctx, "n").Int()
			if err != nil && !errors.Is(err, redis.Nil) {
				t.Fatal(err)
			}
			return v
		}
		if n, err := p.Once(ctx, "incr", "n").Int(); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		// The reply is lost: go-redis would send INCR again.
		inj, err := node.Inject(clustertest.Fault{Command: "INCR", DropAfter: true})
		if err != nil {
			t.Fatal(err)
		}
		err = p.Once(ctx, "incr", "n").Err()
		if pool.Applied(err) != pool.Unknown || inj.Hits() != 1 {
			t.Errorf("%v: %s after %d executions", err, pool.Applied(err), inj.Hits())
		}
		inj.Remove()
		if v := value(); v != 2 {
			t.Errorf("n is %d, want 2", v)
		}
		// It follows a slot that moved.
		to := c.Masters()[0]
		if to == node {
			to = c.Masters()[1]
		}
		if err := c.MoveSlots(ctx, to, slotOf("n")); err != nil {
			t.Fatal(err)
		}
		if n, err := p.Once(ctx, "incr", "n").Int(); n != 3 || err != nil {
			t.Error(n, err)
		}
		// A server that refuses has not run it.
		inj, err = to.Inject(clustertest.Fault{Command: "INCR", Error: "OOM command not allowed"})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Once(ctx, "incr", "n").Err(); pool.Applied(err) != pool.NotApplied {
			t.Errorf("%v: %s", err, pool.Applied(err))
		}
		inj.Remove()
		if pool.Applied(nil) != pool.Done {
			t.Error("nil is not Done")
		}
	})
}

func TestFallbackAnswersForANodeThatIsUnavailable(t *testing.T) {
	asked := 0
	var mu sync.Mutex
	virtual(t, clustertest.Options{}, func(cfg *pool.Config) {
		cfg.Fallback = func(ctx context.Context, cmd redis.Cmder, err error) error {
			mu.Lock()
			asked++
			mu.Unlock()
			if s, ok := cmd.(*redis.StringCmd); ok {
				s.SetVal("from elsewhere")
				return nil
			}
			return err
		}
	}, func(t *testing.T, c *clustertest.Cluster, p *pool.Cluster) {
		ctx := t.Context()
		events, end := p.Subscribe()
		defer end()
		node := c.NodeForKey("k")
		if err := node.Pause(); err != nil {
			t.Fatal(err)
		}
		for range 5 { // open the breaker
			_ = p.Client().Get(ctx, "k").Err()
		}
		if v, err := p.Client().Get(ctx, "k").Result(); v != "from elsewhere" || err != nil {
			t.Errorf("%q %v", v, err)
		}
		cmds, err := p.Client().Pipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Get(ctx, "k")
			pipe.Incr(ctx, "{k}n")
			return nil
		})
		if !errors.Is(err, pool.ErrUnavailable) || cmds[0].(*redis.StringCmd).Val() != "from elsewhere" || !errors.Is(cmds[1].Err(), pool.ErrUnavailable) {
			t.Errorf("%v %v %v", err, cmds[0], cmds[1])
		}
		e := <-events
		if e.Kind != pool.BreakerOpen || e.Addr != node.Addr() || e.Err == nil {
			t.Errorf("%+v", e)
		}
		if err := node.Resume(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		if err := p.Client().Get(ctx, "k").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("after the node went on: %v", err)
		}
		if e := <-events; e.Kind != pool.BreakerClosed {
			t.Errorf("%+v", e)
		}
	})
}

func TestEventsTellOfMovedSlotsAndPromotedReplicas(t *testing.T) {
	virtual(t, clustertest.Options{Replicas: 1}, nil, func(t *testing.T, c *clustertest.Cluster, p *pool.Cluster) {
		events, end := p.Subscribe()
		defer end()
		if err := c.MoveSlots(t.Context(), c.Masters()[1], 0, 1, 2); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		if e := <-events; e.Kind != pool.SlotsMoved || e.Slots != 3 || e.Addr != c.Masters()[1].Addr() {
			t.Errorf("%+v", e)
		}
		victim := c.Masters()[2]
		if err := victim.Kill(); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			_ = p.Client().Set(t.Context(), tagFor(16000), 1, 0)
		}
		time.Sleep(20 * time.Second)
		seen := make(map[pool.EventKind]bool)
		for len(events) > 0 {
			seen[(<-events).Kind] = true
		}
		for _, k := range []pool.EventKind{pool.BreakerOpen, pool.RoleChanged, pool.SlotsMoved} {
			if !seen[k] {
				t.Errorf("no event %q: %v", k, seen)
			}
		}
		end()
		if _, open := <-events; open {
			t.Error("the channel is open after its end")
		}
	})
}

func TestReloadsStayRareUnderAnyStorm(t *testing.T) {
	virtual(t, clustertest.Options{}, nil, func(t *testing.T, c *clustertest.Cluster, p *pool.Cluster) {
		ctx := t.Context()
		stop := make(chan struct{})
		key := tagFor(42)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(5 * time.Millisecond):
						if err := p.Client().Set(ctx, key, 1, 0).Err(); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		start := p.Stats().Discoveries
		for i := range 200 { // 20 a second for 10 s
			if err := c.MoveSlots(ctx, c.Masters()[i%2], 42); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		n := p.Stats().Discoveries - start
		close(stop)
		wg.Wait()
		if n > 50 || n < 5 {
			t.Errorf("%d rounds in 10 s, want 5 to 50", n)
		}
		// All nodes gone: every command asks for a reload, and each fails.
		for _, n := range c.Nodes() {
			if err := n.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		start = p.Stats().Discoveries
		for range 2000 {
			_ = p.Client().Set(ctx, "k", 1, 0)
			time.Sleep(5 * time.Millisecond)
		}
		if n := p.Stats().Discoveries - start; n > 60 {
			t.Errorf("%d rounds in 10 s with all nodes gone, want at most 60", n)
		}
	})
}

func TestBlockingCommandsDoNotTakeTheConnectionsOfOthers(t *testing.T) {
	virtual(t, clustertest.Options{}, func(cfg *pool.Config) { cfg.PoolSize, cfg.MinIdleConns = 10, 2 },
		func(t *testing.T, c *clustertest.Cluster, p *pool.Cluster) {
			ctx := t.Context()
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					if _, err := p.Blocking().BLPop(ctx, 20*time.Second, "list").Result(); err != nil && !errors.Is(err, redis.Nil) {
						t.Error(err)
					}
				})
			}
			time.Sleep(5 * time.Second) // a node that only blocks is not taken for one that stalls
			for range 10 {
				if err := p.Client().Set(ctx, "{list}", 1, 0).Err(); err != nil {
					t.Error(err)
				}
			}
			if err := p.Client().RPush(ctx, "list", 1).Err(); err != nil {
				t.Error(err)
			}
			wg.Wait()
			for _, n := range p.Stats().Nodes {
				if n.Opened > 0 {
					t.Errorf("the breaker of %s opened", n.Addr)
				}
			}
		})
}
