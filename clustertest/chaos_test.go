package clustertest_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
)

var (
	chaosFor  = flag.Duration("chaos", 2*time.Second, "how long the chaos test runs")
	chaosSeed = flag.Uint64("chaos.seed", 0, "seed of the chaos test; 0 chooses one")
)

// TestNoAcknowledgedWriteIsLostInChaos kills, fails over, moves slots, pauses
// and resets at random while clients count. The embedded backend loses no
// write unless it is asked to, so every counter must be at least what its
// client was told.
func TestNoAcknowledgedWriteIsLostInChaos(t *testing.T) {
	before := runtime.NumGoroutine()
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d (-chaos.seed=%d)", seed, seed)
	c, err := clustertest.Start(t.Context(), clustertest.Options{Replicas: 1, NodeTimeout: 150 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	o := c.ClientOptions()
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond
	o.ContextTimeoutEnabled = true
	o.DialerRetries = 1
	o.ClusterStateReloadInterval = 100 * time.Millisecond
	redis.SetLogger(silent{}) // refused connections are what the test is about
	rdb := redis.NewClusterClient(o)

	ctx, stop := context.WithTimeout(t.Context(), *chaosFor)
	var acked [24]atomic.Int64
	var failed atomic.Int64
	var clients sync.WaitGroup
	for i := range acked {
		clients.Go(func() {
			key := counterKey(i)
			for ctx.Err() == nil {
				one, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
				if err := rdb.Incr(one, key).Err(); err == nil {
					acked[i].Add(1)
				} else {
					failed.Add(1)
				}
				cancel()
			}
		})
	}
	clients.Go(func() { subscribeAndBlock(ctx, rdb) })

	m := &mischief{c: c, rnd: rand.New(rand.NewPCG(seed, 1)), done: map[string]int{}}
	for ctx.Err() == nil {
		m.something(ctx)
	}
	clients.Wait()
	stop()
	m.repair(t)

	total := int64(0)
	for i := range acked {
		got := readCounter(t, c, counterKey(i))
		total += got
		if want := acked[i].Load(); got < want {
			t.Errorf("counter %d is %d, but %d increments were acknowledged", i, got, want)
		}
	}
	if total == 0 {
		t.Error("nothing was counted at all")
	}
	t.Logf("%d increments counted, %d calls failed, mischief %v", total, failed.Load(), m.done)
	rdb.Close()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	awaitGoroutines(t, before)
}

func counterKey(i int) string { return fmt.Sprintf("counter:%d", i) }

// subscribeAndBlock keeps a subscription and a blocking command going.
func subscribeAndBlock(ctx context.Context, rdb *redis.ClusterClient) {
	sub := rdb.Subscribe(ctx, "chaos")
	defer sub.Close()
	for ctx.Err() == nil {
		one, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		rdb.Publish(one, "chaos", "x")
		rdb.BLPop(one, 50*time.Millisecond, "queue")
		_, _ = sub.ReceiveTimeout(one, 10*time.Millisecond)
		cancel()
	}
}

// mischief does random harm, and leaves a shard always one node that runs.
type mischief struct {
	c    *clustertest.Cluster
	rnd  *rand.Rand
	dead []*clustertest.Node
	done map[string]int
}

func (m *mischief) something(ctx context.Context) {
	nodes := m.c.Nodes()
	n := nodes[m.rnd.IntN(len(nodes))]
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	did := func(what string, err error) {
		if err == nil {
			m.done[what]++
		}
	}
	switch m.rnd.IntN(6) {
	case 0:
		if len(m.dead) < 1 && n.Kill() == nil {
			m.dead = append(m.dead, n)
			did("kill", nil)
		}
	case 1:
		if len(m.dead) > 0 {
			if err := m.dead[0].Start(short); err == nil {
				m.dead = m.dead[1:]
				did("start", nil)
			}
		}
	case 2:
		if n.Alive() && !n.IsMaster() {
			did("failover", m.c.Failover(short, n))
		}
	case 3:
		slot := m.rnd.IntN(hashtag.Slots)
		if m.rnd.IntN(2) == 0 { // a slot with a counter in it
			slot = hashtag.Slot(counterKey(m.rnd.IntN(24)))
		}
		if masters := m.c.Masters(); len(masters) > 0 {
			did("move", m.c.MoveSlots(short, masters[m.rnd.IntN(len(masters))], slot))
		}
	case 4:
		if n.Alive() && n.Pause() == nil {
			pause(short, time.Duration(m.rnd.IntN(300))*time.Millisecond)
			did("pause", n.Resume())
		}
	case 5:
		did("reset", n.ResetConns())
	}
	pause(short, time.Duration(m.rnd.IntN(30))*time.Millisecond)
}

// pause is part of the scenario, not a wait for something.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (m *mischief) repair(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, n := range m.c.Nodes() {
		if !n.Alive() {
			if err := n.Start(ctx); err != nil {
				t.Error(err)
			}
		}
	}
	if err := m.c.WaitReady(ctx); err != nil {
		t.Error(err)
	}
}

// readCounter asks every node: a move that was cut short can have left the
// key where the slot is not.
func readCounter(t *testing.T, c *clustertest.Cluster, key string) int64 {
	slot := hashtag.Slot(key)
	for _, n := range c.Masters() {
		rdb := n.Client()
		keys := rdb.ClusterGetKeysInSlot(t.Context(), slot, 100).Val()
		for _, k := range keys {
			if k == key {
				pipe := rdb.Pipeline()
				pipe.Do(t.Context(), "ASKING")
				v := pipe.Get(t.Context(), key)
				_, _ = pipe.Exec(t.Context())
				if got, err := v.Int64(); err == nil {
					return got
				}
			}
		}
	}
	return 0
}

func awaitGoroutines(t *testing.T, want int) {
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > want {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), want, buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
