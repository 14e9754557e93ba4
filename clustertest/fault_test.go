package clustertest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
)

// withFaults are the backends that can inject faults.
var withFaults = []clustertest.Backend{clustertest.Processes{Proxy: true}, clustertest.Embedded{}}

// oneShot is a client that sends every command once, to one node.
func oneShot(t testing.TB, n *clustertest.Node) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: n.Addr(), MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { c.Close() })
	return c
}

// inject adds a fault or fails the test.
func inject(t testing.TB, n *clustertest.Node, f clustertest.Fault) clustertest.Injection {
	t.Helper()
	injection, err := n.Inject(f)
	if err != nil {
		t.Fatal(err)
	}
	return injection
}

func TestAFaultDoesWhatItSays(t *testing.T) {
	on(t, withFaults, testAFaultDoesWhatItSays)
}

func testAFaultDoesWhatItSays(t *testing.T, b clustertest.Backend) {
	ctx := context.Background()
	c := run(t, b, 0)
	n := c.NodeForKey("counter")
	rdb := oneShot(t, n)
	count := func() int { // past all faults
		v, err := n.Client().Get(ctx, "counter").Int()
		if err != nil && err != redis.Nil {
			t.Fatal(err)
		}
		return v
	}
	dropped := func(err error) bool {
		return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || err != nil && strings.Contains(err.Error(), "reset")
	}

	t.Run("an error in place of the command", func(t *testing.T) {
		before := count()
		f := inject(t, n, clustertest.Fault{Command: "incr", Error: "LOADING later", Times: 2})
		for range 2 {
			if err := rdb.Incr(ctx, "counter").Err(); err == nil || err.Error() != "LOADING later" {
				t.Fatalf("INCR says %v", err)
			}
		}
		if err := rdb.Incr(ctx, "counter").Err(); err != nil {
			t.Fatalf("after the last time INCR says %v", err)
		}
		if f.Hits() != 2 || count() != before+1 {
			t.Errorf("%d hits, counter went from %d to %d", f.Hits(), before, count())
		}
	})
	t.Run("a lost command", func(t *testing.T) {
		before := count()
		inject(t, n, clustertest.Fault{Command: "INCR", DropBefore: true, Times: 1})
		if err := rdb.Incr(ctx, "counter").Err(); !dropped(err) || count() != before {
			t.Errorf("INCR says %v, counter went from %d to %d", err, before, count())
		}
	})
	t.Run("a lost reply", func(t *testing.T) {
		before := count()
		inject(t, n, clustertest.Fault{Command: "INCR", DropAfter: true, Times: 1})
		if err := rdb.Incr(ctx, "counter").Err(); !dropped(err) || count() != before+1 {
			t.Errorf("INCR says %v, counter went from %d to %d", err, before, count())
		}
	})
	t.Run("half a reply", func(t *testing.T) {
		inject(t, n, clustertest.Fault{Command: "ECHO", Truncate: 7, Times: 1})
		conn := dial(t, n.Addr())
		fmt.Fprintf(conn, "*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n")
		got, err := io.ReadAll(conn)
		if string(got) != "$5\r\nhel" || err == nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("a delay", func(t *testing.T) {
		f := inject(t, n, clustertest.Fault{Command: "GET", Delay: 60 * time.Millisecond})
		begin := time.Now()
		if err := rdb.Get(ctx, "counter").Err(); err != nil || time.Since(begin) < 60*time.Millisecond {
			t.Errorf("GET took %v, %v", time.Since(begin), err)
		}
		f.Remove()
		f.Remove()
		if err := rdb.Get(ctx, "counter").Err(); err != nil || f.Hits() != 1 {
			t.Errorf("after the removal GET says %v, %d hits", err, f.Hits())
		}
	})
	t.Run("only for one key", func(t *testing.T) {
		f := inject(t, n, clustertest.Fault{Key: "counter", Error: "ERR hit"})
		defer f.Remove()
		if err := rdb.Set(ctx, "{counter}2", "counter", 0).Err(); err != nil {
			t.Errorf("a value like the key: %v", err)
		}
		if err := rdb.Get(ctx, "counter").Err(); err == nil || err.Error() != "ERR hit" {
			t.Errorf("the key: %v", err)
		}
	})
	t.Run("within a transaction", func(t *testing.T) {
		before := count()
		f := inject(t, n, clustertest.Fault{Command: "INCR", Error: "ERR hit", Times: 1})
		_, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Incr(ctx, "counter")
			p.Incr(ctx, "counter")
			return nil
		})
		if err == nil || f.Hits() != 1 || count() != before {
			t.Errorf("the transaction says %v, counter went from %d to %d", err, before, count())
		}
	})
	t.Run("bad fields", func(t *testing.T) {
		for field, f := range map[string]clustertest.Fault{
			"Times": {Times: -1}, "Delay": {Delay: -1}, "Truncate": {Truncate: -1},
		} {
			if _, err := n.Inject(f); err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("%s: %v", field, err)
			}
		}
	})
}

// dial opens a plain connection that ends with the test.
func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestFaultsMeetTheSameCommandsOnBothBackends(t *testing.T) {
	on(t, withFaults, testFaultsMeetTheSameCommands)
}

func testFaultsMeetTheSameCommands(t *testing.T, b clustertest.Backend) {
	c, ctx := run(t, b, 0), t.Context()
	n := c.NodeForKey("key")
	rdb := oneShot(t, n)

	t.Run("several add up", func(t *testing.T) {
		const delay = 30 * time.Millisecond
		faults := []clustertest.Injection{
			inject(t, n, clustertest.Fault{}),
			inject(t, n, clustertest.Fault{Command: "GET", Delay: delay}),
			inject(t, n, clustertest.Fault{Key: "key", Delay: delay}),
			inject(t, n, clustertest.Fault{Command: "GET", Error: "ERR first", Times: 1}),
			inject(t, n, clustertest.Fault{Command: "GET", Error: "ERR second", Times: 1}),
		}
		begin := time.Now()
		err := rdb.Get(ctx, "key").Err()
		if took := time.Since(begin); err == nil || err.Error() != "ERR first" || took < 2*delay {
			t.Errorf("GET says %v after %v", err, took)
		}
		for i, f := range faults {
			if f.Hits() == 0 {
				t.Errorf("fault %d was not counted", i)
			}
			f.Remove()
		}
	})
	t.Run("a client's MIGRATE is spared unless it is named", func(t *testing.T) {
		migrate := func() (string, error) {
			return rdb.Do(ctx, "migrate", "127.0.0.1", 1, "", 0, 1000, "keys", "key").Text()
		}
		all := inject(t, n, clustertest.Fault{Error: "ERR hit"})
		if reply, err := migrate(); reply != "NOKEY" || all.Hits() != 0 {
			t.Errorf("MIGRATE says %q, %v, %d hits", reply, err, all.Hits())
		}
		all.Remove()
		named := inject(t, n, clustertest.Fault{Command: "migrate", Error: "ERR hit"})
		if _, err := migrate(); err == nil || err.Error() != "ERR hit" {
			t.Errorf("MIGRATE says %v", err)
		}
		named.Remove()
	})
	t.Run("a key is found where the command has it", func(t *testing.T) {
		for _, test := range []struct {
			args []any
			hit  bool
		}{
			{[]any{"set", "{key}1", "key"}, false},
			{[]any{"eval", "return 1", 1, "key"}, true},
			{[]any{"eval", "return 1", 1, "{key}1", "key"}, false},
			{[]any{"object", "encoding", "key"}, true},
			{[]any{"xgroup", "create", "key", "{key}", "$", "mkstream"}, true},
			{[]any{"xread", "streams", "key", "0"}, true},
			{[]any{"zunionstore", "{key}1", 1, "key"}, true},
			{[]any{"zadd", "{key}2", 1, "key"}, false},
			{[]any{"publish", "key", "key"}, false},
			{[]any{"echo", "key"}, false},
		} {
			f := inject(t, n, clustertest.Fault{Key: "key", Error: "ERR hit"})
			err := rdb.Do(ctx, test.args...).Err()
			if hit := err != nil && err.Error() == "ERR hit"; hit != test.hit || (f.Hits() > 0) != test.hit {
				t.Errorf("%v: hit: %v, %d hits", test.args, hit, f.Hits())
			}
			f.Remove()
		}
	})
	t.Run("an EXEC that is refused ends the transaction", func(t *testing.T) {
		inject(t, n, clustertest.Fault{Command: "EXEC", Error: "LOADING later", Times: 1})
		conn := dial(t, n.Addr())
		fmt.Fprintf(conn, "MULTI\r\nINCR {key}count\r\nEXEC\r\nEXISTS {key}count\r\nQUIT\r\n")
		got, err := io.ReadAll(conn)
		if want := "+OK\r\n+QUEUED\r\n-LOADING later\r\n:0\r\n+OK\r\n"; string(got) != want {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestAnOldViewIsShownUntilItIsThawed(t *testing.T) {
	on(t, withFaults, testAnOldViewIsShownUntilItIsThawed)
}

func testAnOldViewIsShownUntilItIsThawed(t *testing.T, b clustertest.Backend) {
	ctx := context.Background()
	c := run(t, b, 1)
	master := c.Masters()[0]
	replica := master.Replicas()[0]
	other := c.Masters()[1]
	for _, protocol := range []int{2, 3} {
		rdb := redis.NewClient(&redis.Options{Addr: other.Addr(), Protocol: protocol})
		defer rdb.Close()
		owner := func() string { return ownerOf(t, rdb, 0) }
		before := owner()
		if err := other.FreezeView(true); err != nil {
			t.Fatal(err)
		}
		if replica.IsMaster() {
			master, replica = replica, master
		}
		if err := c.Failover(ctx, replica); err != nil {
			t.Fatal(err)
		}
		if got := owner(); got != before {
			t.Errorf("protocol %d: frozen, it says %s owns slot 0, not %s", protocol, got, before)
		}
		if err := other.FreezeView(false); err != nil {
			t.Fatal(err)
		}
		if got := owner(); got != replica.ID() {
			t.Errorf("protocol %d: thawed, it says %s owns slot 0, not %s", protocol, got, replica.ID())
		}
	}
}

// ownerOf is the id of the master of a slot in the view of one node.
func ownerOf(t testing.TB, rdb *redis.Client, slot int64) string {
	t.Helper()
	slots, err := rdb.Do(t.Context(), "cluster", "slots").Slice()
	must(t, err)
	for _, s := range slots {
		if entry := s.([]any); entry[0].(int64) <= slot && slot <= entry[1].(int64) {
			return entry[2].([]any)[2].(string)
		}
	}
	return ""
}

func TestAFailoverLosesWhatAPausedReplicaDidNotReceive(t *testing.T) {
	on(t, withFaults, testAFailoverLosesWhatAPausedReplicaDidNotReceive)
}

func testAFailoverLosesWhatAPausedReplicaDidNotReceive(t *testing.T, b clustertest.Backend) {
	ctx := context.Background()
	c := run(t, b, 1)
	key := "key"
	master := c.NodeForKey(key)
	replica := master.Replicas()[0]
	set := func(value string, replicas int) {
		t.Helper()
		conn := master.Client()
		if err := conn.Set(ctx, key, value, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Wait(ctx, replicas, 5*time.Second).Result(); err != nil || int(n) < replicas {
			t.Fatalf("%d replicas received it, %v", n, err)
		}
	}
	set("first", 1)
	if err := replica.PauseReplication(true); err != nil {
		t.Fatal(err)
	}
	set("second", 0)
	if err := master.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Failover(ctx, replica); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Client().Get(ctx, key).Result(); got != "first" || err != nil {
		t.Errorf("after the failover the key is %q, %v", got, err)
	}
	if err := replica.PauseReplication(false); err != nil {
		t.Fatal(err)
	}
	if err := master.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	set2 := replica.Client()
	if err := set2.Set(ctx, key, "third", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := set2.Wait(ctx, 1, 5*time.Second).Result(); err != nil || n != 1 {
		t.Errorf("%d replicas received the third write, %v", n, err)
	}
}

func TestReplicationGoesOnAfterAPause(t *testing.T) {
	on(t, withFaults, testReplicationGoesOnAfterAPause)
}

func testReplicationGoesOnAfterAPause(t *testing.T, b clustertest.Backend) {
	ctx := context.Background()
	c := run(t, b, 1)
	master := c.NodeForKey("key")
	replica := master.Replicas()[0]
	if err := replica.PauseReplication(true); err != nil {
		t.Fatal(err)
	}
	if err := master.Client().Set(ctx, "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := master.Client().Wait(ctx, 1, 50*time.Millisecond).Result(); n != 0 || err != nil {
		t.Errorf("%d replicas received it, %v", n, err)
	}
	if err := replica.PauseReplication(false); err != nil {
		t.Fatal(err)
	}
	if n, err := master.Client().Wait(ctx, 1, 5*time.Second).Result(); n != 1 || err != nil {
		t.Errorf("%d replicas received it, %v", n, err)
	}
}

func TestFaultsForAllCommandsSpareReplicationAndMoves(t *testing.T) {
	on(t, withFaults, testFaultsForAllCommandsSpareReplicationAndMoves)
}

func testFaultsForAllCommandsSpareReplicationAndMoves(t *testing.T, b clustertest.Backend) {
	ctx := context.Background()
	c := run(t, b, 1)
	for _, n := range c.Nodes() {
		inject(t, n, clustertest.Fault{Error: "ERR everything is broken"})
	}
	from, to := c.Masters()[0], c.Masters()[1]
	if err := c.MoveSlots(ctx, to, 0, 1, 2); err != nil {
		t.Fatal(err)
	}
	replica := from.Replicas()[0]
	if err := replica.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := replica.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Failover(ctx, replica); err != nil {
		t.Fatal(err)
	}
}

func TestWithoutAProxyFaultsSayThatTheyAreNotSupported(t *testing.T) {
	c := realCluster(t, 0)
	n := c.Nodes()[0]
	_, err := n.Inject(clustertest.Fault{Error: "ERR"})
	for what, err := range map[string]error{
		"Inject": err, "FreezeView": n.FreezeView(true), "PauseReplication": n.PauseReplication(true),
	} {
		if !errors.Is(err, clustertest.ErrNotSupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if c.Caps().Faults || !c.Caps().Real {
		t.Errorf("caps are %+v", c.Caps())
	}
}
