package redisinfo

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// recorded is a file of replies as a server sent them.
func recorded(tb testing.TB, name string) string {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "redis-7.0.15", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// decoded is a recorded reply as go-redis' Do returns it: a client of its own
// reads the recorded bytes from a connection.
func decoded(tb testing.TB, name string) any {
	tb.Helper()
	return decode(tb, []byte(recorded(tb, name)))
}

func decode(tb testing.TB, wire []byte) any {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go serveRecorded(conn, wire)
		}
	}()
	c := redis.NewClient(&redis.Options{Addr: ln.Addr().String(), Protocol: 2, DisableIdentity: true, MaxRetries: -1})
	defer c.Close()
	v, err := c.Do(tb.Context(), "RECORDED").Result()
	if err != nil {
		tb.Fatalf("reading the recorded reply: %v", err)
	}
	return v
}

// serveRecorded answers the command RECORDED with the recorded bytes and
// everything else (the handshake) with an error.
func serveRecorded(conn net.Conn, wire []byte) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		var n int
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		fmt.Sscanf(line, "*%d", &n)
		var args []string
		for range n {
			r.ReadString('\n')
			arg, _ := r.ReadString('\n')
			args = append(args, strings.TrimSpace(arg))
		}
		reply := []byte("-ERR unknown command\r\n")
		if len(args) > 0 && strings.EqualFold(args[0], "RECORDED") {
			reply = bytes.Clone(wire)
		}
		conn.Write(reply)
	}
}

var topologies = []string{"", "-open", "-hostname-ip", "-hostname", "-unknown", "-failed"}

func TestTheThreeTopologyRepliesOfOneMomentAgree(t *testing.T) {
	for _, tag := range topologies {
		nodes, err := ParseNodes(recorded(t, "cluster-nodes"+tag+".txt"))
		if err != nil {
			t.Fatalf("%s: %v", tag, err)
		}
		owner := map[SlotRange]string{}
		for _, n := range nodes {
			for _, r := range n.Slots {
				owner[r] = n.ID
			}
		}
		if len(owner) != 3 || len(nodes) != 6 {
			t.Fatalf("%s: %d nodes, %d ranges, want 6 and 3", tag, len(nodes), len(owner))
		}
		for _, proto := range []string{".resp2", ".resp3"} {
			slots, err := ParseSlots(decoded(t, "cluster-slots"+tag+proto))
			if err != nil {
				t.Fatalf("%s%s: %v", tag, proto, err)
			}
			for _, o := range slots {
				if owner[o.Range] != o.Master.ID || o.Master.Port < 23001 || o.Master.Port > 23003 {
					t.Errorf("%s%s: SLOTS say that %v is served by %+v, NODES say %s", tag, proto, o.Range, o.Master, owner[o.Range])
				}
			}
			shards, err := ParseShards(decoded(t, "cluster-shards"+tag+proto))
			if err != nil {
				t.Fatalf("%s%s: %v", tag, proto, err)
			}
			ids := 0
			for _, s := range shards {
				for _, n := range s.Nodes {
					ids++
					if n.Role == "master" && owner[s.Slots[0]] != n.Endpoint.ID {
						t.Errorf("%s%s: SHARDS say that %v is served by %+v", tag, proto, s.Slots, n)
					}
				}
			}
			if len(slots) != 3 || len(shards) != 3 || ids != 6 {
				t.Errorf("%s%s: %d ranges, %d shards, %d nodes, want 3, 3, 6", tag, proto, len(slots), len(shards), ids)
			}
		}
	}
}

func TestEndpointsOfEveryKindAreRead(t *testing.T) {
	for _, proto := range []string{".resp2", ".resp3"} {
		slots, _ := ParseSlots(decoded(t, "cluster-slots-hostname-ip"+proto))
		if m := slots[0].Master; m.Host != "127.77.31.1" || m.Hostname != "node-23001.redis.internal" || m.Unknown || m.IP != "" {
			t.Errorf("ip preferred, hostname announced: %+v", m)
		}
		slots, _ = ParseSlots(decoded(t, "cluster-slots-hostname"+proto))
		if m := slots[0].Master; m.Host != "node-23001.redis.internal" || m.IP != "127.77.31.1" || m.Unknown {
			t.Errorf("hostname preferred: %+v", m)
		}
		if r := slots[0].Replicas[0]; r.Host != "" || !r.Unknown || r.IP != "127.77.31.1" || r.Port != 23006 {
			t.Errorf("hostname preferred, none announced (\"?\"): %+v", r)
		}
		slots, _ = ParseSlots(decoded(t, "cluster-slots-unknown"+proto))
		if m := slots[0].Master; m.Host != "" || !m.Unknown || m.Addr("10.0.0.9") != "10.0.0.9:23001" {
			t.Errorf("unknown-endpoint (NULL): %+v", m)
		}
		shards, _ := ParseShards(decoded(t, "cluster-shards-unknown"+proto))
		if n := shards[0].Nodes[0].Endpoint; n.Host != "" || !n.Unknown || n.IP != "127.77.31.1" {
			t.Errorf("SHARDS, unknown-endpoint: %+v", n)
		}
	}
}

func TestOpenSlotsAndFailedNodesAreSeen(t *testing.T) {
	const first, second = "f17724ba575ea87db81bfa89964c3c16329939ac", "06ba9e24ceb91b604ac59f586becded25c4bfe58"
	nodes, _ := ParseNodes(recorded(t, "cluster-nodes-open.txt"))
	if n := nodes[0]; !n.Has("myself") || n.Migrating[93] != second || n.Importing != nil || FormatRanges(n.Slots) != "0-5460" {
		t.Errorf("migrating: %+v", n)
	}
	nodes, _ = ParseNodes(recorded(t, "cluster-nodes-importing.txt"))
	for _, n := range nodes {
		if n.Has("myself") && (n.Importing[93] != first || n.Migrating != nil) {
			t.Errorf("importing: %+v", n)
		}
	}
	nodes, _ = ParseNodes(recorded(t, "cluster-nodes-failed.txt"))
	failed := 0
	for _, n := range nodes {
		if n.Has("fail") {
			failed++
			if n.Addr() != "127.77.31.1:23006" || n.LinkConnected || !n.Has("slave") || n.MasterID != first || n.Has("fail?") {
				t.Errorf("failed: %+v", n)
			}
		}
	}
	if failed != 1 {
		t.Errorf("%d failed nodes, want 1", failed)
	}
	shards, _ := ParseShards(decoded(t, "cluster-shards-failed.resp2"))
	health := map[string]int{}
	for _, s := range shards {
		for _, n := range s.Nodes {
			health[n.Health]++
		}
	}
	if health["failed"] != 1 || health["online"] != 5 {
		t.Errorf("health %v, want 1 failed and 5 online", health)
	}
}

func TestInfoOfAMasterAndItsReplica(t *testing.T) {
	i := ParseInfo(recorded(t, "info-everything-master.txt"))
	if name, v := i.Version(); name != "redis" || v != "7.0.15" {
		t.Errorf("version %s %s", name, v)
	}
	if i.Role() != "master" || len(i.RunID()) != 40 || i.String("cluster_enabled") != "1" {
		t.Errorf("role %q, run id %q", i.Role(), i.RunID())
	}
	if n, ok := i.Int("tcp_port"); !ok || n != 23001 {
		t.Errorf("tcp_port %d %v", n, ok)
	}
	if _, ok := i.Float("mem_fragmentation_ratio"); !ok {
		t.Error("no mem_fragmentation_ratio")
	}
	if _, ok := i.Int("redis_version"); ok {
		t.Error("a version is not an integer")
	}
	if i.Errors["WRONGTYPE"]+i.Errors["ERR"] == 0 || i.Errors["MYERR"] != 1 || i.Errors["MOVED"] == 0 || i.ErrorsDisabled {
		t.Errorf("errors %v", i.Errors)
	}
	if c := i.Commands["set"]; c.Calls == 0 || c.Usec == 0 || c.Rejected == 0 {
		t.Errorf("cmdstat_set %+v", c)
	}
	if i.Commands["cluster|slots"].Calls == 0 || i.LatencyUsec["cluster|slots"]["p99.9"] == 0 {
		t.Errorf("a subcommand is missing: %v", i.Commands)
	}
	if db := i.Keyspace[0]; db.Keys == 0 || db.Expires != db.Keys {
		t.Errorf("db0 %+v", db)
	}
	if !i.Sections["errorstats"] || !i.Sections["cpu"] || i.Sections["nosuch"] {
		t.Errorf("sections %v", i.Sections)
	}
	r := i.Replicas()
	if len(r) != 1 || r[0].Port != 23006 || r[0].State != "online" || r[0].Offset == 0 {
		t.Errorf("replicas %+v", r)
	}
	i = ParseInfo(recorded(t, "info-everything-replica.txt"))
	if i.Role() != "slave" || i.String("master_link_status") != "up" || len(i.Replicas()) != 0 {
		t.Errorf("replica: role %q, link %q", i.Role(), i.String("master_link_status"))
	}
	m := ParseClusterInfo(recorded(t, "cluster-info.txt"))
	if m["cluster_state"] != "ok" || m["cluster_slots_assigned"] != "16384" {
		t.Errorf("cluster info %v", m)
	}
}

func TestClientListOfAServerWithAReplicaAReaderAndASubscriber(t *testing.T) {
	byFlags := map[string]Client{}
	for _, c := range ParseClientList(recorded(t, "client-list.txt")) {
		byFlags[c.Flags] = c
	}
	if c := byFlags["r"]; c.Name != "reader-1" || c.Cmd != "readonly" || c.LocalAddr != "127.77.31.1:23001" || c.User != "default" || c.Resp != 2 || c.TotalMem == 0 {
		t.Errorf("reader %+v", c)
	}
	if byFlags["S"].Cmd != "replconf" || byFlags["P"].Fields["sub"] != "1" || byFlags["N"].QueryBuf != 26 {
		t.Errorf("clients %+v", byFlags)
	}
}

func TestAResetWithMoreTrafficBehindItIsNoticed(t *testing.T) {
	before, after := ParseInfo(recorded(t, "info-reset-1.txt")), ParseInfo(recorded(t, "info-reset-2.txt"))
	for _, name := range []string{"total_commands_processed", "total_connections_received", "total_net_input_bytes", "total_error_replies"} {
		b, _ := before.Int(name)
		if a, _ := after.Int(name); a <= b {
			t.Fatalf("%s went from %d to %d: the recording does not show what it should", name, b, a)
		}
	}
	d := Between(before, after)
	if !d.Reset || d.Restarted || d.ResetEvidence != "CONFIG RESETSTAT was run" {
		t.Fatalf("reset %v, restarted %v, evidence %q", d.Reset, d.Restarted, d.ResetEvidence)
	}
	if d.Commands["lpush"].Calls != after.Commands["lpush"].Calls || d.Errors["MYERR"] != 300 {
		t.Errorf("counts since the reset: lpush %+v, MYERR %d", d.Commands["lpush"], d.Errors["MYERR"])
	}
	if d := Between(after, after); d.Reset || d.Restarted || len(d.Errors)+len(d.Commands)+len(d.Counters) != 0 {
		t.Errorf("a sample against itself: %+v", d)
	}
}
