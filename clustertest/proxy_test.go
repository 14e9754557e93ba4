package clustertest_test

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
)

// These tests drive go-redis through the proxies of a real cluster with what
// is hard for a proxy: replies that are no replies, and commands that block.

func TestTheProxyLetsPubSubThrough(t *testing.T) {
	c := run(t, clustertest.Processes{Proxy: true}, 0)
	ctx := t.Context()
	for _, protocol := range []int{2, 3} {
		o := c.ClientOptions()
		o.Protocol = protocol
		rdb := redis.NewClusterClient(o)
		defer rdb.Close()
		sub := rdb.Subscribe(ctx, "news")
		defer sub.Close()
		must(t, sub.PSubscribe(ctx, "n*"))
		shard := rdb.SSubscribe(ctx, "shard")
		defer shard.Close()
		for _, s := range []*redis.PubSub{sub, sub, shard} {
			if m, err := s.ReceiveTimeout(ctx, 10*time.Second); err != nil {
				t.Fatalf("RESP%d: %v, %v", protocol, m, err)
			}
		}
		for i := range 200 {
			must(t, rdb.Publish(ctx, "news", i).Err())
			must(t, rdb.SPublish(ctx, "shard", i).Err())
			must(t, sub.Ping(ctx))
		}
		messages := 0
		for messages < 400 {
			m, err := sub.ReceiveTimeout(ctx, 10*time.Second)
			must(t, err)
			if _, ok := m.(*redis.Message); ok {
				messages++
			}
		}
		for i := range 200 {
			m, err := shard.ReceiveTimeout(ctx, 10*time.Second)
			must(t, err)
			if got := m.(*redis.Message).Payload; got != fmt.Sprint(i) {
				t.Fatalf("RESP%d: message %d is %s", protocol, i, got)
			}
		}
	}
}

func TestTheProxyLetsBlockingCommandsAndMonitorThrough(t *testing.T) {
	c := run(t, clustertest.Processes{Proxy: true}, 0)
	ctx := t.Context()
	n := c.NodeForKey("list")
	rdb := oneShot(t, n)
	popped := make(chan error, 1)
	go func() {
		got, err := rdb.BLPop(ctx, 10*time.Second, "list").Result()
		if err == nil && got[1] != "value" {
			err = fmt.Errorf("got %q", got)
		}
		popped <- err
	}()
	eventually(t, func() error { return blocked(ctx, n, 1) })
	must(t, rdb.RPush(ctx, "list", "value").Err())
	must(t, <-popped)

	// A client that goes away while it blocks takes its command with it.
	conn := dial(t, n.Addr())
	fmt.Fprintf(conn, "BLPOP list 0\r\n")
	eventually(t, func() error { return blocked(ctx, n, 1) })
	must(t, conn.Close())
	eventually(t, func() error { return blocked(ctx, n, 0) })

	monitor := dial(t, n.Addr())
	fmt.Fprintf(monitor, "MONITOR\r\n")
	lines := bufio.NewScanner(monitor)
	for i, want := range []string{"+OK", `"set" "{list}2" "1"`, `"set" "{list}2" "2"`} {
		if i > 0 {
			must(t, rdb.Set(ctx, "{list}2", i, 0).Err())
		}
		for {
			if !lines.Scan() {
				t.Fatalf("monitor ended: %v", lines.Err())
			}
			if strings.Contains(lines.Text(), want) {
				break // else it is a command of somebody else
			}
		}
	}
}

// blocked checks how many clients a node holds back.
func blocked(ctx context.Context, n *clustertest.Node, want int) error {
	info, err := n.Client().InfoMap(ctx, "clients").Result()
	if err != nil {
		return err
	}
	if got := info["Clients"]["blocked_clients"]; got != fmt.Sprint(want) {
		return fmt.Errorf("%s clients are blocked, not %d", got, want)
	}
	return nil
}

func TestTheProxyKeepsBigPipelinesInOrder(t *testing.T) {
	c := run(t, clustertest.Processes{Proxy: true}, 0)
	ctx := t.Context()
	rdb := c.Client()
	f := make([]clustertest.Injection, 0, 3)
	for _, n := range c.Nodes() {
		f = append(f, inject(t, n, clustertest.Fault{Command: "GET", Key: "key:77", Error: "ERR seventy-seven"}))
	}
	for _, n := range []int{100, 10_000} {
		pipe := rdb.Pipeline()
		var gets []*redis.StringCmd
		for i := range n {
			pipe.Set(ctx, fmt.Sprint("key:", i), i, 0)
			gets = append(gets, pipe.Get(ctx, fmt.Sprint("key:", i)))
		}
		if _, err := pipe.Exec(ctx); err == nil || err.Error() != "ERR seventy-seven" {
			t.Fatalf("the pipeline says %v", err)
		}
		for i, get := range gets {
			if got, err := get.Int(); i != 77 && (got != i || err != nil) {
				t.Fatalf("key %d is %d, %v", i, got, err)
			}
		}
	}
	hits := 0
	for _, in := range f {
		hits += in.Hits()
	}
	if hits != 2 {
		t.Errorf("%d hits", hits)
	}
}

func TestMaxClientsReachesTheClient(t *testing.T) {
	on(t, allBackends, func(t *testing.T, b clustertest.Backend) {
		c, ctx := run(t, b, 0), t.Context()
		n := c.Nodes()[0]
		must(t, n.Client().ConfigSet(ctx, "maxclients", "1").Err())
		eventually(t, func() error {
			conn := dial(t, n.Addr())
			defer conn.Close()
			fmt.Fprintf(conn, "PING\r\n")
			buf := make([]byte, 64)
			k, err := conn.Read(buf)
			if want := "-ERR max number of clients"; err != nil || !strings.HasPrefix(string(buf[:k]), want) {
				return fmt.Errorf("the client sees %q, %v", buf[:k], err)
			}
			return nil
		})
	})
}
