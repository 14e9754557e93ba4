package health_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/health"
	"github.com/rcctl/rcctl/internal/redisinfo"
	"github.com/redis/go-redis/v9"
)

// processes starts a cluster of real servers that serves what it has when some
// slots are lost.
func processes(t *testing.T, replicas int) *clustertest.Cluster {
	t.Helper()
	return clustertest.Run(t, clustertest.Options{
		Backend:     clustertest.Processes{},
		Replicas:    replicas,
		NodeTimeout: 2 * time.Second,
		Config:      map[string]string{"cluster-require-full-coverage": "no"},
	})
}

// eventually polls until ok, at most for d.
func eventually(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(d); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", d, what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// ownSlots are the slots that a node calls its own.
func ownSlots(t *testing.T, n *clustertest.Node) string {
	t.Helper()
	nodes, err := redisinfo.ParseNodes(n.Client().ClusterNodes(t.Context()).Val())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range nodes {
		if line.Has("myself") {
			return redisinfo.FormatRanges(line.Slots)
		}
	}
	t.Fatal("no line for itself")
	return ""
}

func TestQuickCheckOfAHealthyClusterIsNil(t *testing.T) {
	t.Parallel()
	c := processes(t, 1)
	if err := health.QuickCheck(t.Context(), c.Client()); err != nil {
		t.Fatal(err)
	}
}

func TestQuickCheckNamesAMasterThatIsDeadAndItsSlots(t *testing.T) {
	t.Parallel()
	c := processes(t, 0)
	dead := c.Masters()[1]
	slots := ownSlots(t, dead)
	_ = c.Client().Ping(t.Context()).Err()
	if err := dead.Kill(); err != nil {
		t.Fatal(err)
	}
	err := health.QuickCheck(t.Context(), c.Client())
	var ne *health.NodeError
	if !errors.As(err, &ne) || ne.Addr != dead.Addr() || health.FormatRanges(ne.Slots) != slots {
		t.Fatalf("got %v (%+v)", err, ne)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
}

func TestQuickCheckAnswersInTimeWhenAMasterHangsAndTheClientWouldWait(t *testing.T) {
	t.Parallel()
	c := processes(t, 0)
	o := c.ClientOptions()
	o.ReadTimeout, o.ContextTimeoutEnabled, o.MaxRedirects = 20*time.Second, false, -1
	rdb := redis.NewClusterClient(o)
	defer rdb.Close()
	if err := health.QuickCheck(t.Context(), rdb); err != nil {
		t.Fatal(err)
	}
	hung := c.Masters()[2]
	if err := hung.Pause(); err != nil {
		t.Fatal(err)
	}
	defer hung.Resume()
	for _, limit := range []time.Duration{300 * time.Millisecond, time.Minute} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		start := time.Now()
		err := health.QuickCheck(ctx, rdb)
		took := time.Since(start)
		cancel()
		// Where the hanging node is asked for the topology no master is known.
		if err == nil || !errors.Is(err, context.DeadlineExceeded) || took > min(limit, 3*time.Second)+time.Second {
			t.Errorf("limit %s: after %s: %v", limit, took, err)
		}
	}
}

func TestQuickCheckNamesSlotsThatNobodyServes(t *testing.T) {
	t.Parallel()
	c := processes(t, 0)
	if err := c.Masters()[0].Client().Do(t.Context(), "cluster", "delslotsrange", 100, 199).Err(); err != nil {
		t.Fatal(err)
	}
	rdb := c.Client()
	if err := rdb.ForEachMaster(t.Context(), func(ctx context.Context, m *redis.Client) error { return m.Ping(ctx).Err() }); err != nil {
		t.Fatalf("ForEachMaster with PING alone was to see nothing, got %v", err)
	}
	err := health.QuickCheck(t.Context(), rdb)
	var se *health.SlotError
	if !errors.As(err, &se) || health.FormatRanges(se.Unserved) != "100-199" || se.Addr != "" {
		t.Fatalf("got %v", err)
	}
	for _, m := range c.Masters() {
		m.Client().ConfigSet(t.Context(), "cluster-require-full-coverage", "yes")
	}
	if err := c.Masters()[0].Client().Do(t.Context(), "cluster", "delslots", 200).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "an error that says that a master refuses", func() bool {
		err := health.QuickCheck(t.Context(), rdb)
		return errors.As(err, &se) && se.Addr != "" && strings.Contains(err.Error(), "cluster_state:fail")
	})
}

func TestQuickCheckOfAClusterWithoutAnySlotNamesAllOfThem(t *testing.T) {
	t.Parallel()
	c := processes(t, 0)
	for _, m := range c.Masters() {
		if err := m.Client().Do(t.Context(), "cluster", "flushslots").Err(); err != nil {
			t.Fatal(err)
		}
		for _, other := range c.Masters() {
			_ = m.Client().ClusterForget(t.Context(), other.ID()).Err()
		}
	}
	o := c.ClientOptions()
	rdb := redis.NewClusterClient(o)
	defer rdb.Close()
	err := health.QuickCheck(t.Context(), rdb)
	var se *health.SlotError
	if !errors.As(err, &se) || health.FormatRanges(se.Unserved) != "0-16383" {
		t.Fatalf("got %v", err)
	}
}

func TestQuickCheckOfWhatIsNoCluster(t *testing.T) {
	t.Parallel()
	addr := plainServer(t, "-ERR This instance has cluster support disabled\r\n")
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}})
	defer rdb.Close()
	if err := health.QuickCheck(t.Context(), rdb); !errors.Is(err, health.ErrNotCluster) {
		t.Errorf("single server: %v", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{ln.Addr().String()}})
	defer silent.Close()
	defer ln.Close()
	start := time.Now()
	if err := health.QuickCheck(t.Context(), silent); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 4*time.Second {
		t.Errorf("a port that never answers: after %s: %v", time.Since(start), err)
	}
}

// plainServer answers every command with the same bytes.
func plainServer(t *testing.T, reply string) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go answerAll(conn, reply)
		}
	}()
	return ln.Addr().String()
}

// answerAll counts commands by their first line, "*<n>".
func answerAll(conn net.Conn, reply string) {
	defer conn.Close()
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		for range strings.Count(string(buf[:n]), "*") {
			if _, err := conn.Write([]byte(reply)); err != nil {
				return
			}
		}
	}
}
