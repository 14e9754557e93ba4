package pool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
	"github.com/rcctl/rcctl/pool"
)

// serverErrors sums the errorstats of all nodes for an error prefix.
func serverErrors(t testing.TB, c *clustertest.Cluster, prefix string) (sum uint64) {
	t.Helper()
	for _, n := range c.Nodes() {
		info, err := n.Client().Info(context.Background(), "errorstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(info) {
			var count uint64
			if _, err := fmt.Sscanf(line, "errorstat_"+prefix+":count=%d", &count); err == nil {
				sum += count
			}
		}
	}
	return sum
}

func clientRedirects(o *pool.Observer) (moved, ask uint64) {
	for _, n := range o.Nodes() {
		moved += n.Moved
		ask += n.Ask
	}
	return moved, ask
}

// checkBooks compares what the client counted with what the servers did.
func checkBooks(t testing.TB, c *clustertest.Cluster, o *pool.Observer, moved0, ask0 uint64) (moved, ask uint64) {
	t.Helper()
	moved, ask = clientRedirects(o)
	sm, sa := serverErrors(t, c, "MOVED")-moved0, serverErrors(t, c, "ASK")-ask0
	if moved != sm || ask != sa {
		t.Errorf("client MOVED %d ASK %d, servers MOVED %d ASK %d", moved, ask, sm, sa)
	}
	return moved, ask
}

func TestRedirectCountsEqualTheServersDuringALiveReshard(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
	moved0, ask0 := serverErrors(t, c, "MOVED"), serverErrors(t, c, "ASK")
	p, err := pool.New(t.Context(), patient(pool.Config{Addrs: c.Addrs()[:3], MaxRetries: 10}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx := t.Context()

	// Many keys in the slots that move, so that they are on the move for long.
	slots := []int{7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	var keys []string
	for _, s := range slots {
		tag := tagFor(s)
		for i := range 200 {
			keys = append(keys, fmt.Sprintf("{%s}:%d", tag, i))
		}
	}
	for _, k := range keys {
		if err := p.Client().Set(ctx, k, "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}

	stop := make(chan struct{})
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	worker := func(f func(i int) error) {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := f(i); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	worker(func(i int) error { return p.Client().Set(ctx, keys[i*7%len(keys)], i, 0).Err() })
	worker(func(i int) error { return p.Client().Get(ctx, keys[i*11%len(keys)]).Err() })
	for range 2 {
		worker(func(i int) error {
			pipe := p.Client().Pipeline()
			for j := range 20 {
				pipe.Incr(ctx, fmt.Sprintf("{%s}:n%d", tagFor(slots[(i+j)%len(slots)]), j))
			}
			_, err := pipe.Exec(ctx)
			return err
		})
	}
	masters := c.Masters()
	for _, to := range []*clustertest.Node{masters[1], masters[0], masters[2], masters[0]} {
		if err := c.MoveSlots(ctx, to, slots...); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	if err := failed.Load(); err != nil {
		t.Errorf("an error reached the workload: %v", *err)
	}
	moved, ask := checkBooks(t, c, p.Observer(), moved0, ask0)
	t.Logf("MOVED %d, ASK %d", moved, ask)
	if moved == 0 || ask == 0 {
		t.Errorf("MOVED %d ASK %d: the reshard was not seen", moved, ask)
	}
}

func TestRedirectCountsEqualTheServersForEveryWayToSendACommand(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
	ctx := t.Context()
	tag := tagFor(100)
	for name, send := range map[string]func(cl *redis.ClusterClient) error{
		"single commands": func(cl *redis.ClusterClient) error {
			return cl.Incr(ctx, "{"+tag+"}:a").Err()
		},
		"pipelines": func(cl *redis.ClusterClient) error {
			_, err := cl.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i := range 10 {
					p.Incr(ctx, fmt.Sprintf("{%s}:%d", tag, i))
				}
				return nil
			})
			return err
		},
		"Watch": func(cl *redis.ClusterClient) error {
			return cl.Watch(ctx, func(tx *redis.Tx) error {
				return tx.Get(ctx, "{"+tag+"}:a").Err()
			}, "{"+tag+"}:a")
		},
		"an auto-pipeline": func(cl *redis.ClusterClient) error {
			ap, err := cl.AutoPipeline()
			if err != nil {
				return err
			}
			var wg sync.WaitGroup
			for i := range 10 {
				wg.Go(func() { ap.Incr(ctx, fmt.Sprintf("{%s}:%d", tag, i)) })
			}
			wg.Wait()
			return ap.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			if err := c.Client().Set(ctx, "{"+tag+"}:a", 1, 0).Err(); err != nil {
				t.Fatal(err)
			}
			moved0, ask0 := serverErrors(t, c, "MOVED"), serverErrors(t, c, "ASK")
			cl := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), DisableRoutingPolicies: true, ReadTimeout: 10 * time.Second})
			defer cl.Close()
			o := pool.Observe(cl)
			if err := send(cl); err != nil { // learns the topology
				t.Fatal(err)
			}
			from, to := c.NodeForSlot(100), c.Masters()[2]
			if from == to {
				to = c.Masters()[1]
			}
			mv, err := c.BeginMove(ctx, 100, to)
			if err != nil {
				t.Fatal(err)
			}
			// The key of Watch stays: WATCH of a key that is gone answers ASK,
			// which go-redis does not follow with ASKING.
			if name != "Watch" {
				if _, err := mv.Step(ctx, 100); err != nil {
					t.Fatal(err)
				}
			}
			if err := send(cl); err != nil {
				t.Fatal(err)
			}
			_, ask := checkBooks(t, c, o, moved0, ask0)
			if ask == 0 && name != "Watch" {
				t.Error("no ASK was seen")
			}
			if err := mv.Finish(ctx); err != nil {
				t.Fatal(err)
			}
			if err := send(cl); err != nil {
				t.Fatal(err)
			}
			moved, _ := checkBooks(t, c, o, moved0, ask0)
			if moved == 0 {
				t.Error("no MOVED was seen")
			}
		})
	}
}

func TestErrorsAreCountedByKindAndNode(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Masters: 3, Replicas: 1})
	ctx := t.Context()
	p, err := pool.New(ctx, pool.Config{Addrs: c.Addrs(), MaxRetries: -1, ReadTimeout: 500 * time.Millisecond, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.Client().Set(ctx, "k", "text", 0)
	owner := c.NodeForKey("k")
	before := statsOf(p.Observer(), owner.Addr())
	p.Client().Incr(ctx, "k")       // ERR value is not an integer
	p.Client().LPush(ctx, "k", "x") // WRONGTYPE
	p.Client().Get(ctx, "k").Err()
	if err := p.Client().Do(ctx, "get", "{k}none").Err(); !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	if err := owner.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := p.Client().Get(ctx, "k").Err(); err == nil {
		t.Error("a paused node answered")
	}
	if err := owner.Resume(); err != nil {
		t.Fatal(err)
	}
	after := statsOf(p.Observer(), owner.Addr())
	if d := after.Attempts - before.Attempts; d != 5 {
		t.Errorf("%d attempts, want 5", d)
	}
	if d := after.OtherErrors - before.OtherErrors; d != 2 {
		t.Errorf("%d other errors, want 2", d)
	}
	if d := after.Timeouts - before.Timeouts; d != 1 {
		t.Errorf("%d timeouts, want 1", d)
	}
	if after.Dials == 0 {
		t.Error("no dial was counted")
	}
}

func statsOf(o *pool.Observer, addr string) pool.NodeStats {
	for _, n := range o.Nodes() {
		if n.Addr == addr {
			return n
		}
	}
	return pool.NodeStats{}
}

// tagFor finds a hash tag for a slot.
func tagFor(slot int) string {
	for i := 0; ; i++ {
		if tag := fmt.Sprint(i); hashtag.Slot(tag) == slot {
			return tag
		}
	}
}

func slotOf(key string) int { return hashtag.Slot(key) }

func TestRedirectsOfTransactionsAreCountedApart(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
	ctx := t.Context()
	p, err := pool.New(ctx, patient(pool.Config{Addrs: c.Addrs()}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	tag := tagFor(200)
	send := func() {
		t.Helper()
		cmds, err := p.Client().TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := range 5 {
				pipe.Incr(ctx, fmt.Sprintf("{%s}:%d", tag, i))
			}
			return nil
		})
		if err != nil || len(cmds) != 5 {
			t.Fatal(cmds, err)
		}
	}
	tx := func() (moved, ask, plain uint64) {
		for _, n := range p.Observer().Nodes() {
			moved, ask, plain = moved+n.TxMoved, ask+n.TxAsk, plain+n.Moved+n.Ask
		}
		return
	}
	send()
	to := c.Masters()[2]
	mv, err := c.BeginMove(ctx, 200, to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mv.Step(ctx, 100); err != nil {
		t.Fatal(err)
	}
	send()
	if moved, ask, plain := tx(); moved != 0 || ask != 1 || plain != 0 {
		t.Errorf("on the move: moved %d ask %d others %d, want 0 1 0", moved, ask, plain)
	}
	if err := mv.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	send()
	if moved, ask, plain := tx(); moved != 1 || ask != 1 || plain != 0 {
		t.Errorf("after the move: moved %d ask %d others %d, want 1 1 0", moved, ask, plain)
	}
}
