package clustertest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
)

// allBackends are the backends that a Cluster must drive alike.
var allBackends = []clustertest.Backend{
	clustertest.Processes{}, clustertest.Processes{Proxy: true}, clustertest.Embedded{},
}

// on runs a test on backends, at the same time.
func on(t *testing.T, backends []clustertest.Backend, test func(*testing.T, clustertest.Backend)) {
	for _, b := range backends {
		name := b.Name()
		if p, ok := b.(clustertest.Processes); ok && p.Proxy {
			name += "-proxy"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// run starts three masters with replicas.
func run(t testing.TB, b clustertest.Backend, replicas int) *clustertest.Cluster {
	t.Helper()
	return clustertest.Run(t, clustertest.Options{Backend: b, Replicas: replicas})
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually polls until check returns nil.
func eventually(t testing.TB, check func() error) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// fill writes keys of all types and with odd names into the slot of {tag} and
// returns a function that reads them all back.
func fill(t testing.TB, rdb *redis.ClusterClient) (read func() []any) {
	t.Helper()
	ctx := context.Background()
	names := []string{
		"{tag}:string", "{tag} with spaces", "{tag}\r\n$-1\r\n", "{tag}\x00\xff\xfe", "{tag}ключ", "{tag}\"quoted'",
	}
	for i, name := range names {
		must(t, rdb.Set(ctx, name, fmt.Sprintf("value %d \r\n\x00\xff", i), 0).Err())
	}
	must(t, rdb.Set(ctx, "{tag}:ttl", "v", time.Hour).Err())
	must(t, rdb.RPush(ctx, "{tag}:list", "a", "b", "").Err())
	must(t, rdb.HSet(ctx, "{tag}:hash", "f", "v").Err())
	must(t, rdb.SAdd(ctx, "{tag}:set", "m").Err())
	must(t, rdb.ZAdd(ctx, "{tag}:zset", redis.Z{Score: 1.5, Member: "m"}).Err())
	must(t, rdb.XAdd(ctx, &redis.XAddArgs{Stream: "{tag}:stream", ID: "1-1", Values: []string{"f", "v"}}).Err())
	must(t, rdb.PFAdd(ctx, "{tag}:hll", "a", "b").Err())
	return func() []any {
		var all []any
		add := func(v any, err error) {
			t.Helper()
			must(t, err)
			all = append(all, v)
		}
		for _, name := range append([]string{"{tag}:ttl"}, names...) {
			v, err := rdb.Get(ctx, name).Result()
			add(v, err)
		}
		ttl, err := rdb.TTL(ctx, "{tag}:ttl").Result()
		add(ttl > 59*time.Minute, err)
		list, err := rdb.LRange(ctx, "{tag}:list", 0, -1).Result()
		add(list, err)
		hash, err := rdb.HGetAll(ctx, "{tag}:hash").Result()
		add(hash, err)
		set, err := rdb.SMembers(ctx, "{tag}:set").Result()
		add(set, err)
		zset, err := rdb.ZRangeWithScores(ctx, "{tag}:zset", 0, -1).Result()
		add(zset, err)
		stream, err := rdb.XRange(ctx, "{tag}:stream", "-", "+").Result()
		add(stream, err)
		hll, err := rdb.PFCount(ctx, "{tag}:hll").Result()
		add(hll, err)
		return all
	}
}

const filled = 13 // keys that fill writes

// ends are the owner of the slot of {tag} and another master.
func ends(c *clustertest.Cluster) (slot int, from, to *clustertest.Node) {
	slot = hashtag.Slot("{tag}")
	from = c.NodeForSlot(slot)
	for _, n := range c.Masters() {
		if n != from {
			to = n
		}
	}
	return slot, from, to
}

func TestASlotMovesWithItsKeys(t *testing.T) { on(t, allBackends, testASlotMovesWithItsKeys) }

func testASlotMovesWithItsKeys(t *testing.T, b clustertest.Backend) {
	c, ctx := run(t, b, 1), t.Context()
	rdb := c.Client()
	read := fill(t, rdb)
	before := read()
	for i := range 250 { // more than one MIGRATE carries
		must(t, rdb.Set(ctx, fmt.Sprintf("{tag}:%d", i), i, 0).Err())
	}
	slot, _, to := ends(c)
	must(t, c.MoveSlots(ctx, to, slot, slot-1, slot+1, slot)) // one twice
	for _, s := range []int{slot - 1, slot, slot + 1} {
		if got := c.NodeForSlot(s); got != to {
			t.Errorf("slot %d is on %v, not on %v", s, got, to)
		}
	}
	if diff := cmp.Diff(before, read()); diff != "" {
		t.Errorf("the keys changed on their way:\n%s", diff)
	}
	if n, err := to.Client().ClusterCountKeysInSlot(ctx, slot).Result(); err != nil || n != filled+250 {
		t.Errorf("%d keys arrived, %v", n, err)
	}
	must(t, c.WaitReady(ctx))
}

func TestASlotStaysHalfMovedUntilTheMoveEnds(t *testing.T) {
	on(t, allBackends, testASlotStaysHalfMovedUntilTheMoveEnds)
}

func testASlotStaysHalfMovedUntilTheMoveEnds(t *testing.T, b clustertest.Backend) {
	c, ctx := run(t, b, 0), t.Context()
	rdb := c.Client()
	read := fill(t, rdb)
	before := read()
	slot, from, to := ends(c)
	m, err := c.BeginMove(ctx, slot, to)
	must(t, err)
	if m.Slot() != slot || m.From() != from || m.To() != to {
		t.Errorf("the move is of slot %d from %v to %v", m.Slot(), m.From(), m.To())
	}
	if n, err := m.Step(ctx, 5); n != 5 || err != nil {
		t.Fatalf("the step moved %d, %v", n, err)
	}
	if err := from.Client().Get(ctx, "{tag}:new").Err(); !redis.HasErrorPrefix(err, "ASK") {
		t.Errorf("a key that is not there answers %v", err)
	}
	if err := from.Client().MGet(ctx, "{tag}:string", "{tag}:new", "{tag}:ttl").Err(); !redis.HasErrorPrefix(err, "TRYAGAIN") && !redis.HasErrorPrefix(err, "ASK") {
		t.Errorf("keys on both sides answer %v", err)
	}
	if diff := cmp.Diff(before, read()); diff != "" {
		t.Errorf("half moved, keys changed:\n%s", diff)
	}
	must(t, rdb.Set(ctx, "{tag}:new", "v", 0).Err()) // lands on the new side
	must(t, m.Abort(ctx))
	if got := c.NodeForSlot(slot); got != from {
		t.Errorf("after the abort the slot is on %v", got)
	}
	if n, err := from.Client().ClusterCountKeysInSlot(ctx, slot).Result(); n != filled+1 || err != nil {
		t.Errorf("after the abort there are %d keys, %v", n, err)
	}
	if diff := cmp.Diff(before, read()); diff != "" {
		t.Errorf("after the abort, keys changed:\n%s", diff)
	}
	for what, err := range map[string]error{"abort": m.Abort(ctx), "finish": m.Finish(ctx)} {
		if err == nil {
			t.Errorf("the ended move says nothing to %s", what)
		}
	}

	m, err = c.BeginMove(ctx, slot, to)
	must(t, err)
	if n, err := m.Step(ctx, 1000); n != filled+1 || err != nil {
		t.Errorf("the step moved %d, %v", n, err)
	}
	if n, err := m.Step(ctx, 1000); n != 0 || err != nil {
		t.Errorf("the step after the last key moved %d, %v", n, err)
	}
	must(t, m.Finish(ctx))
	if got := c.NodeForSlot(slot); got != to {
		t.Errorf("after the end the slot is on %v", got)
	}
	if diff := cmp.Diff(before, read()); diff != "" {
		t.Errorf("after the end, keys changed:\n%s", diff)
	}
}

func TestNoWriteIsLostWhileSlotsMoveToAndFro(t *testing.T) {
	on(t, allBackends, testNoWriteIsLostWhileSlotsMoveToAndFro)
}

func testNoWriteIsLostWhileSlotsMoveToAndFro(t *testing.T, b clustertest.Backend) {
	c, ctx := run(t, b, 0), t.Context()
	options := c.ClientOptions()
	options.MaxRedirects = 50 // the slot moves faster than a client can follow with 3
	rdb := redis.NewClusterClient(options)
	defer rdb.Close()
	slot, from, to := ends(c)

	const writers = 4
	var acked [writers]atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			key := fmt.Sprintf("{tag}:counter:%d", w)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := rdb.Incr(ctx, key).Err(); err != nil {
					t.Errorf("after %d: %v", acked[w].Load(), err)
					return
				}
				acked[w].Add(1)
			}
		})
	}
	end := sync.OnceFunc(func() { close(stop); wg.Wait() })
	defer end()
	// A client that was sent over by ASK may come late. Redis lets it in as soon
	// as the node imports the slot once more, so each move waits until nobody
	// is on the way.
	settled := func() {
		for w := range writers {
			want := acked[w].Load() + 2
			eventually(t, func() error {
				if acked[w].Load() < want && !t.Failed() {
					return fmt.Errorf("writer %d stands still", w)
				}
				return nil
			})
		}
	}
	for range 5 {
		must(t, c.MoveSlots(ctx, to, slot))
		settled()
		must(t, c.MoveSlots(ctx, from, slot))
		settled()
		m, err := c.BeginMove(ctx, slot, to)
		must(t, err)
		if _, err := m.Step(ctx, 2); err != nil {
			t.Fatal(err)
		}
		must(t, m.Abort(ctx))
		settled()
	}
	end()
	for w := range writers {
		n, err := rdb.Get(ctx, fmt.Sprintf("{tag}:counter:%d", w)).Int64()
		must(t, err)
		if want := acked[w].Load(); n != want {
			t.Errorf("writer %d: %d increments were acknowledged, %d are there", w, want, n)
		}
	}
}

func TestBadMovesSayWhatIsWrong(t *testing.T) { on(t, allBackends, testBadMovesSayWhatIsWrong) }

func testBadMovesSayWhatIsWrong(t *testing.T, b clustertest.Backend) {
	c, ctx := run(t, b, 1), t.Context()
	slot, from, to := ends(c)
	replica := to.Replicas()[0]
	for _, test := range []struct {
		slot int
		to   *clustertest.Node
		want string
	}{
		{-1, to, "slot -1: use 0 to 16383"},
		{16384, to, "slot 16384: use 0 to 16383"},
		{slot, nil, "no node of this cluster"},
		{slot, from, "there already"},
		{slot, replica, replica.Addr()},
	} {
		if _, err := c.BeginMove(ctx, test.slot, test.to); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("slot %d to %v: %v, want %q", test.slot, test.to, err, test.want)
		}
	}
	must(t, to.Kill())
	if _, err := c.BeginMove(ctx, slot, to); err == nil || !strings.Contains(err.Error(), "must be alive") {
		t.Errorf("to a dead node: %v", err)
	}
	if err := c.Failover(ctx, nil); err == nil {
		t.Error("a failover to nil says nothing")
	}
	if err := c.Failover(ctx, from); err == nil || !strings.Contains(err.Error(), "master already") {
		t.Errorf("a failover to a master: %v", err)
	}
}

func TestAReplicaTakesOver(t *testing.T) { on(t, allBackends, testAReplicaTakesOver) }

func testAReplicaTakesOver(t *testing.T, b clustertest.Backend) {
	c, ctx := run(t, b, 1), t.Context()
	master := c.NodeForKey("key")
	replica := master.Replicas()[0]
	must(t, c.Client().Set(ctx, "key", "value", 0).Err())
	must(t, c.Failover(ctx, replica)) // loses nothing
	if !replica.IsMaster() || c.NodeForKey("key") != replica {
		t.Fatal("the roles did not change")
	}
	if got, err := c.Client().Get(ctx, "key").Result(); got != "value" || err != nil {
		t.Errorf("after the failover the key is %q, %v", got, err)
	}
	must(t, c.WaitReady(ctx))
	if master.IsMaster() || !slices.Contains(replica.Replicas(), master) {
		t.Fatal("the old master is no replica")
	}

	must(t, replica.Kill())
	if replica.Alive() || replica.IsMaster() {
		t.Error("killed, it says that it is alive")
	}
	must(t, c.Failover(ctx, master)) // its master is dead
	must(t, replica.Start(ctx))
	must(t, c.WaitReady(ctx))
	if !master.IsMaster() || replica.IsMaster() || !replica.Alive() {
		t.Error("the roles did not change back")
	}
}

func TestTheClusterFailsOverByItself(t *testing.T) {
	on(t, allBackends, testTheClusterFailsOverByItself)
}

func testTheClusterFailsOverByItself(t *testing.T, b clustertest.Backend) {
	c := clustertest.Run(t, clustertest.Options{Backend: b, Replicas: 1, NodeTimeout: 500 * time.Millisecond})
	ctx := t.Context()
	master := c.Masters()[0]
	replica := master.Replicas()[0]
	must(t, master.Kill())
	eventually(t, func() error {
		if c.NodeForSlot(0) != replica {
			return errors.New("the replica did not take over")
		}
		return nil
	})
	must(t, c.WaitReady(ctx))
	must(t, master.Start(ctx))
	must(t, c.WaitReady(ctx))
	if master.IsMaster() {
		t.Error("the old master came back as a master")
	}
}

func TestANodeStopsPausesAndComesBack(t *testing.T) {
	on(t, allBackends, testANodeStopsPausesAndComesBack)
}

func testANodeStopsPausesAndComesBack(t *testing.T, b clustertest.Backend) {
	// A long timeout, so that nobody fails over meanwhile.
	c := clustertest.Run(t, clustertest.Options{Backend: b, Replicas: 1, NodeTimeout: time.Minute})
	ctx := t.Context()
	n := c.Masters()[0].Replicas()[0]
	id, addr := n.ID(), n.Addr()
	rdb := oneShot(t, n)

	must(t, n.Pause())
	if !n.Alive() {
		t.Error("paused, it says that it is dead")
	}
	conn := dial(t, addr) // the connection is accepted
	fmt.Fprintf(conn, "PING\r\n")
	must(t, conn.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	if got, err := io.ReadAll(conn); len(got) != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("paused, it answers %q, %v", got, err)
	}
	must(t, n.Resume())
	must(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	pong := make([]byte, 7)
	if _, err := io.ReadFull(conn, pong); err != nil || string(pong) != "+PONG\r\n" {
		t.Errorf("resumed, it answers %q, %v", pong, err)
	}

	for name, end := range map[string]func() error{
		"stop": func() error { return n.Stop(ctx) },
		"kill": n.Kill,
	} {
		must(t, end())
		must(t, end()) // once more does nothing
		if n.Alive() || n.Pause() == nil && b.Name() == "processes" {
			t.Errorf("after %s it says that it is alive", name)
		}
		if err := rdb.Ping(ctx).Err(); err == nil {
			t.Errorf("after %s it answers", name)
		}
		if err := n.Client().Ping(ctx).Err(); err == nil {
			t.Errorf("after %s it answers on a direct connection", name)
		}
		must(t, n.Start(ctx))
		must(t, n.Start(ctx)) // once more does nothing
		must(t, c.WaitReady(ctx))
		if got, err := n.Client().ClusterMyID(ctx).Result(); got != id || err != nil || n.Addr() != addr {
			t.Errorf("after %s it is %s at %s, %v", name, got, n.Addr(), err)
		}
	}
}

func TestConnectionsAreResetButNotOurs(t *testing.T) {
	on(t, allBackends, testConnectionsAreResetButNotOurs)
}

func testConnectionsAreResetButNotOurs(t *testing.T, b clustertest.Backend) {
	c, ctx := run(t, b, 0), t.Context()
	n := c.Nodes()[0]
	ours, err := n.Client().ClientID(ctx).Result()
	must(t, err)
	conn := dial(t, n.Addr())
	ping := func() error {
		if _, err := fmt.Fprintf(conn, "PING\r\n"); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, make([]byte, 7))
		return err
	}
	must(t, ping())
	must(t, n.ResetConns())
	if err := ping(); err == nil {
		t.Error("the connection is still there")
	}
	if got, err := n.Client().ClientID(ctx).Result(); got != ours || err != nil {
		t.Errorf("our own connection changed from %d to %d, %v", ours, got, err)
	}
	must(t, c.Client().Set(ctx, "key", "value", 0).Err())
}

func TestNodesAnnounceWhatTheyAreTold(t *testing.T) {
	on(t, allBackends, testNodesAnnounceWhatTheyAreTold)
}

func testNodesAnnounceWhatTheyAreTold(t *testing.T, b clustertest.Backend) {
	c, ctx := run(t, b, 0), t.Context()
	n := c.Masters()[0]
	asked := c.Masters()[1]
	host := func() any {
		slots, err := asked.Client().Do(ctx, "cluster", "slots").Slice()
		must(t, err)
		for _, s := range slots {
			if entry := s.([]any); entry[0] == int64(0) {
				return entry[2].([]any)[0]
			}
		}
		return "slot 0 is missing"
	}
	addr, _, _ := strings.Cut(n.Addr(), ":")
	if got := host(); got != addr {
		t.Errorf("at first the host is %v, not %s", got, addr)
	}
	must(t, c.PreferEndpoint(ctx, clustertest.EndpointUnknown))
	if got := host(); got != nil {
		t.Errorf("with unknown endpoints the host is %v", got)
	}
	must(t, c.PreferEndpoint(ctx, clustertest.EndpointHostname))
	if got := host(); got != "?" {
		t.Errorf("without a host name the host is %v", got)
	}
	must(t, n.AnnounceHost(ctx, "192.0.2.1"))
	if got := host(); got != "192.0.2.1" {
		t.Errorf("with a host name the host is %v", got)
	}
	must(t, n.AnnounceHost(ctx, ""))
	must(t, c.PreferEndpoint(ctx, clustertest.EndpointIP))
	if got := host(); got != addr {
		t.Errorf("in the end the host is %v", got)
	}
	if err := n.PreferEndpoint(ctx, "name"); err == nil || !strings.Contains(err.Error(), `"name"`) {
		t.Errorf("a bad endpoint type: %v", err)
	}
	must(t, c.WaitReady(ctx))
}

func TestWaitReadySaysWhatIsMissing(t *testing.T) { on(t, allBackends, testWaitReadySaysWhatIsMissing) }

func testWaitReadySaysWhatIsMissing(t *testing.T, b clustertest.Backend) {
	c := run(t, b, 0)
	n := c.Masters()[1]
	must(t, n.Kill())
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := c.WaitReady(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a dead master it says %v", err)
	}
	if got := c.NodeForSlot(8000); got != n {
		t.Errorf("slot 8000 belongs to %v", got)
	}
}
