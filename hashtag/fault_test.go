package hashtag_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
)

// calls is how often all masters executed a command.
func calls(tb testing.TB, c *clustertest.Cluster, name string) int {
	tb.Helper()
	n := 0
	for _, node := range c.Masters() {
		info, err := node.Client().Info(tb.Context(), "commandstats").Result()
		if err != nil {
			tb.Fatal(err)
		}
		_, rest, ok := strings.Cut(info, "cmdstat_"+name+":calls=")
		if !ok {
			continue
		}
		digits, _, _ := strings.Cut(rest, ",")
		v, err := strconv.Atoi(digits)
		if err != nil {
			tb.Fatal(err)
		}
		n += v
	}
	return n
}

// ownedBy splits keys by whether the node owns them.
func ownedBy(c *clustertest.Cluster, node *clustertest.Node, keys []string) (its, others []string) {
	for _, k := range keys {
		if c.NodeForKey(k) == node {
			its = append(its, k)
		} else {
			others = append(others, k)
		}
	}
	return its, others
}

func TestMGetFindsEveryKeyWhile2000SlotsMove(t *testing.T) {
	c := startCluster(t)
	m := hashtag.Multi{Client: c.Client(), ShardTimeout: 5 * time.Second}
	keys := numbered(900)
	for i := range 100 { // some slots hold several keys
		keys = append(keys, "{tag:"+strconv.Itoa(i/4)+"}"+strconv.Itoa(i))
	}
	fill(t, m, keys)
	masters := c.Masters()
	moved := make(chan error, 1)
	go func() {
		slots := make([]int, 0, 2000)
		for s := range hashtag.Slots {
			if len(slots) < cap(slots) && c.NodeForSlot(s) == masters[0] {
				slots = append(slots, s)
			}
		}
		moved <- c.MoveSlots(context.WithoutCancel(t.Context()), masters[1], slots...)
	}()
	rounds := 0
	for {
		values, err := m.MGet(t.Context(), keys...)
		if err == nil {
			err = wrong(keys, values)
		}
		if err != nil {
			t.Fatalf("round %d: %v", rounds, err)
		}
		rounds++
		select {
		case err := <-moved:
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d calls of 1000 keys while 2000 slots moved, all of them right", rounds)
			return
		case <-time.After(time.Millisecond): // the mover wants the processor too
		}
	}
}

func TestEveryOperationWorksOnAHalfMovedSlot(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	m := hashtag.Multi{Client: c.Client()}
	var keys []string
	for i := range 20 {
		keys = append(keys, "{half}"+strconv.Itoa(i))
	}
	fill(t, m, keys)
	from := c.NodeForKey("{half}")
	to := c.Masters()[0]
	if to == from {
		to = c.Masters()[1]
	}
	move, err := c.BeginMove(ctx, hashtag.Slot("{half}"), to)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := move.Step(ctx, 10); n == 0 || err != nil {
		t.Fatalf("moved %d keys: %v", n, err)
	}
	if err := m.Client.MGet(ctx, keys...).Err(); !redis.IsTryAgainError(err) {
		t.Fatalf("a plain MGET answers %v, want TRYAGAIN: the slot is not half moved", err)
	}

	values, err := m.MGet(ctx, keys...)
	if err == nil {
		err = wrong(keys, values)
	}
	if err != nil {
		t.Errorf("MGet: %v", err)
	}
	with := append([]string{"{half}none", "other"}, keys...)
	if n, err := m.Exists(ctx, with...); n != 20 || err != nil {
		t.Errorf("Exists = %d, %v, want 20", n, err)
	}
	if n, err := m.Touch(ctx, with...); n != 20 || err != nil {
		t.Errorf("Touch = %d, %v, want 20", n, err)
	}
	if n, err := m.Expire(ctx, time.Minute, with...); n != 20 || err != nil {
		t.Errorf("Expire = %d, %v, want 20", n, err)
	}
	fill(t, m, append(keys, "{half}new1", "{half}new2"))
	if n, err := m.Exists(ctx, "{half}new1", "{half}new2"); n != 2 || err != nil {
		t.Errorf("Exists = %d, %v, want the 2 new keys", n, err)
	}
	if n, err := m.Del(ctx, append(with[:12:12], keys[0])...); n != 10 || err != nil {
		t.Errorf("Del = %d, %v, want 10", n, err)
	}
	if n, err := m.Unlink(ctx, keys...); n != 10 || err != nil {
		t.Errorf("Unlink = %d, %v, want 10", n, err)
	}
	if err := move.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	if values, err := m.MGet(ctx, "{half}new1", "{half}1"); err != nil || !values[0].Found || values[1].Found {
		t.Errorf("after the move: %+v, %v", values, err)
	}
}

func TestADeadMasterCostsItsOwnKeysOnly(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	m := hashtag.Multi{Client: c.Client()}
	keys := numbered(1000)
	fill(t, m, keys)
	dead := c.Masters()[1]
	lost, alive := ownedBy(c, dead, keys)
	if err := dead.Kill(); err != nil {
		t.Fatal(err)
	}
	isLost := map[string]bool{}
	for _, k := range lost {
		isLost[k] = true
	}
	for range 3 {
		start := time.Now()
		values, err := m.MGet(ctx, keys...)
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("MGet took %v with a shard timeout of 1s", took)
		}
		var pe *hashtag.PartialError
		if !errors.Is(err, hashtag.ErrPartial) || !errors.As(err, &pe) || len(pe.Keys) != len(lost) || pe.Of != len(keys) {
			t.Fatalf("%v, want errors for %d keys", err, len(lost))
		}
		for _, k := range pe.Keys {
			if !isLost[k.Key] || keys[k.Index] != k.Key || !strings.Contains(k.Err.Error(), dead.Addr()) {
				t.Fatalf("unexpected error, or one without the node %s: %v", dead.Addr(), k)
			}
		}
		for i, v := range values {
			if isLost[keys[i]] != (v.Err != nil) || !isLost[keys[i]] && v.Val != "value of "+keys[i] {
				t.Fatalf("%s: %+v", keys[i], v)
			}
		}
	}
	if n, err := m.Exists(ctx, append(keys, alive...)...); n != int64(2*len(alive)) || !errors.Is(err, hashtag.ErrPartial) {
		t.Errorf("Exists = %d, %v, want %d", n, err, 2*len(alive))
	}
	// With time to be refused on every attempt nothing is unknown.
	m.ShardTimeout = 30 * time.Second
	n, err := m.Del(ctx, append(keys, keys...)...)
	var pe *hashtag.PartialError
	if n != int64(len(alive)) || !errors.As(err, &pe) || len(pe.Keys) != 2*len(lost) {
		t.Errorf("Del = %d, %v, want %d and errors for %d", n, err, len(alive), 2*len(lost))
	}
	if errors.Is(err, hashtag.ErrUnknown) {
		t.Errorf("nobody listens there, so nothing was deleted: %v", err)
	}
}

func TestAPausedMasterCostsItsKeysAndItsTimeout(t *testing.T) {
	for _, looks := range []bool{false, true} {
		t.Run("ContextTimeoutEnabled="+strconv.FormatBool(looks), func(t *testing.T) {
			c := startCluster(t)
			o := c.ClientOptions()
			o.ContextTimeoutEnabled = looks
			client := redis.NewClusterClient(o)
			defer client.Close()
			m := hashtag.Multi{Client: client}
			keys := numbered(300)
			fill(t, m, keys)
			sick := c.Masters()[2]
			lost, alive := ownedBy(c, sick, keys)
			if err := sick.Pause(); err != nil {
				t.Fatal(err)
			}
			defer sick.Resume()

			check := func(what string, limit time.Duration, call func() (answers int, err error)) {
				t.Helper()
				start := time.Now()
				answers, err := call()
				if took := time.Since(start); took < limit/2 || took > 3*limit {
					t.Errorf("%s took %v, want about %v", what, took, limit)
				}
				var pe *hashtag.PartialError
				if answers != len(alive) || !errors.As(err, &pe) || len(pe.Keys) != len(lost) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %d answers, want %d: %v", what, answers, len(alive), err)
				}
			}
			found := func(ctx context.Context, m hashtag.Multi) (n int, err error) {
				values, err := m.MGet(ctx, keys...)
				for _, v := range values {
					if v.Found {
						n++
					}
				}
				return n, err
			}
			const limit = 400 * time.Millisecond
			short := m
			short.ShardTimeout = limit
			check("MGet with a shard timeout", limit, func() (int, error) { return found(t.Context(), short) })
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			m.ShardTimeout = time.Minute
			check("MGet with a context", limit, func() (int, error) { return found(ctx, m) })
			var deleted *hashtag.PartialError
			check("Del", limit, func() (int, error) {
				n, err := short.Del(t.Context(), keys...)
				errors.As(err, &deleted)
				return int(n), err
			})
			if err := sick.Resume(); err != nil {
				t.Fatal(err)
			}
			for _, k := range deleted.Keys {
				if errors.Is(k.Err, hashtag.ErrUnknown) {
					continue // in the node's socket, or waiting for a connection
				}
				if n, err := sick.Client().Exists(t.Context(), k.Key).Result(); n != 1 || err != nil {
					t.Fatalf("a key that was not deleted is gone: %v, %v", k, err)
				}
			}
		})
	}
}

// A cutter is a way to a cluster that can lose the answers to a command.
type cutter struct {
	command atomic.Pointer[string] // lose the answers to this one
	lost    atomic.Int32
}

func (c *cutter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, c: c}, nil
}

type cutConn struct {
	net.Conn
	c   *cutter
	cut atomic.Bool
}

func (c *cutConn) Write(b []byte) (int, error) {
	if name := c.c.command.Load(); name != nil && bytes.Contains(b, []byte("\r\n"+*name+"\r\n")) && c.c.command.CompareAndSwap(name, nil) {
		c.cut.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *cutConn) Read(b []byte) (int, error) {
	if !c.cut.Load() {
		return c.Conn.Read(b)
	}
	if n, err := c.Conn.Read(b); n == 0 { // the server has executed it
		return n, err
	}
	c.c.lost.Add(1)
	c.Conn.Close()
	return 0, io.ErrUnexpectedEOF
}

func TestALostAnswerIsUnknownForDelAndRepeatedForReads(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	cut := &cutter{}
	o := c.ClientOptions()
	o.Dialer = cut.dial
	client := redis.NewClusterClient(o)
	defer client.Close()
	m := hashtag.Multi{Client: client}
	keys := numbered(300)
	fill(t, m, keys)

	for _, op := range []struct {
		command string
		run     func() error
	}{
		{"get", func() error {
			values, err := m.MGet(ctx, keys...)
			return errors.Join(err, wrong(keys, values))
		}},
		{"exists", func() error { return wantCount(300)(m.Exists(ctx, keys...)) }},
		{"touch", func() error { return wantCount(300)(m.Touch(ctx, keys...)) }},
		{"set", func() error { fill(t, m, keys); return nil }},
		{"pexpire", func() error { return wantCount(300)(m.Expire(ctx, time.Hour, keys...)) }},
	} {
		cut.lost.Store(0)
		cut.command.Store(&op.command)
		if err := op.run(); err != nil || cut.lost.Load() != 1 {
			t.Errorf("%s: %v, %d answers lost, want 1", op.command, err, cut.lost.Load())
		}
	}

	for _, op := range []struct {
		command string
		run     func() (int64, error)
	}{
		{"del", func() (int64, error) { return m.Del(ctx, keys...) }},
		{"unlink", func() (int64, error) { return m.Unlink(ctx, keys...) }},
		{"pexpire", func() (int64, error) { return m.Expire(ctx, 500*time.Millisecond, keys...) }},
	} {
		fill(t, m, keys)
		cut.lost.Store(0)
		before := calls(t, c, op.command)
		cut.command.Store(&op.command)
		n, err := op.run()
		var pe *hashtag.PartialError
		if !errors.As(err, &pe) || int(n)+len(pe.Keys) != len(keys) || cut.lost.Load() != 1 {
			t.Fatalf("%s = %d, %v, %d answers lost", op.command, n, err, cut.lost.Load())
		}
		for _, k := range pe.Keys {
			if !errors.Is(k.Err, hashtag.ErrUnknown) {
				t.Errorf("%s: %v, want an unknown outcome", op.command, k)
				break
			}
		}
		// A few keys share a slot, and with it a command.
		if sent := calls(t, c, op.command) - before; sent > len(keys) {
			t.Errorf("%s was executed %d times for %d keys", op.command, sent, len(keys))
		}
	}
}

func wantCount(want int64) func(int64, error) error {
	return func(n int64, err error) error {
		if n != want && err == nil {
			return errors.New("counted " + strconv.FormatInt(n, 10))
		}
		return err
	}
}
