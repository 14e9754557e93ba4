package redisinfo

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

const (
	idA = "07c37dfeb235213a872192d90877d0cd55635b91"
	idB = "67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1"
)

func TestNodeLinesOfAllKindsAreRead(t *testing.T) {
	base := Node{ID: idA, Host: "10.0.0.1", Port: 7000, BusPort: 17000, Flags: []string{"master"}, ConfigEpoch: 3, PongRecv: 5, LinkConnected: true}
	with := func(change func(n *Node)) Node {
		n := base
		change(&n)
		return n
	}
	for _, tc := range []struct {
		name, line string
		want       Node
		addr       string
	}{
		{"plain", idA + " 10.0.0.1:7000@17000 master - 0 5 3 connected", base, "10.0.0.1:7000"},
		{"CRLF and spaces at the end", idA + " 10.0.0.1:7000@17000 master - 0 5 3 connected \r", base, "10.0.0.1:7000"},
		{"no bus port (before Redis 4)", idA + " 10.0.0.1:7000 master - 0 5 3 connected", with(func(n *Node) { n.BusPort = 0 }), "10.0.0.1:7000"},
		{"IPv6", idA + " 2001:db8::1:7000@17000 master - 0 5 3 connected", with(func(n *Node) { n.Host = "2001:db8::1" }), "[2001:db8::1]:7000"},
		{"IPv6 in brackets", idA + " [::1]:7000@17000 master - 0 5 3 connected", with(func(n *Node) { n.Host = "::1" }), "[::1]:7000"},
		{"hostname", idA + " 10.0.0.1:7000@17000,redis-0.prod master - 0 5 3 connected", with(func(n *Node) { n.Hostname = "redis-0.prod" }), "10.0.0.1:7000"},
		{"hostname and shard id", idA + " 10.0.0.1:7000@17000,redis-0.prod,tls-port=0,shard-id=ab12 master - 0 5 3 connected", with(func(n *Node) { n.Hostname, n.ShardID = "redis-0.prod", "ab12" }), "10.0.0.1:7000"},
		{"shard id without hostname", idA + " 10.0.0.1:7000@17000,,shard-id=ab12,x-new=1 master - 0 5 3 connected", with(func(n *Node) { n.ShardID = "ab12" }), "10.0.0.1:7000"},
		{"its own address is unknown", idA + " :7000@17000 myself,master - 0 5 3 connected", with(func(n *Node) { n.Host, n.Flags = "", []string{"myself", "master"} }), ":7000"},
		{"noaddr", idA + " :0@0 master,fail,noaddr - 0 5 3 disconnected", with(func(n *Node) {
			n.Host, n.Port, n.BusPort, n.LinkConnected, n.Flags = "", 0, 0, false, []string{"master", "fail", "noaddr"}
		}), ":0"},
		{"handshake", idA + " 10.0.0.1:7000@17000 handshake - 0 5 0 disconnected", with(func(n *Node) { n.Flags, n.LinkConnected, n.ConfigEpoch = []string{"handshake"}, false, 0 }), "10.0.0.1:7000"},
		{"noflags", idA + " 10.0.0.1:7000@17000 noflags - 0 5 3 connected", with(func(n *Node) { n.Flags = nil }), "10.0.0.1:7000"},
		{"replica", idA + " 10.0.0.1:7000@17000 slave,fail? " + idB + " 9 5 3 connected", with(func(n *Node) { n.Flags, n.MasterID, n.PingSent = []string{"slave", "fail?"}, idB, 9 }), "10.0.0.1:7000"},
		{"a flag of tomorrow", idA + " 10.0.0.1:7000@17000 master,witness - 0 5 3 connected", with(func(n *Node) { n.Flags = []string{"master", "witness"} }), "10.0.0.1:7000"},
		{"slots", idA + " 10.0.0.1:7000@17000 master - 0 5 3 connected 0-5460 5462 16383", with(func(n *Node) { n.Slots = []SlotRange{{0, 5460}, {5462, 5462}, {16383, 16383}} }), "10.0.0.1:7000"},
		{"open slots", idA + " 10.0.0.1:7000@17000 myself,master - 0 5 3 connected 1 [93->-" + idB + "] [77-<-" + idB + "] [5-?-x] [x->-y]", with(func(n *Node) {
			n.Flags, n.Slots = []string{"myself", "master"}, []SlotRange{{1, 1}}
			n.Migrating, n.Importing = map[int]string{93: idB}, map[int]string{77: idB}
		}), "10.0.0.1:7000"},
	} {
		nodes, err := ParseNodes("\n" + tc.line + "\nvars currentEpoch 6 lastVoteEpoch 0\n")
		if err != nil || len(nodes) != 1 {
			t.Errorf("%s: %d nodes, %v", tc.name, len(nodes), err)
			continue
		}
		if !reflect.DeepEqual(nodes[0], tc.want) || nodes[0].Addr() != tc.addr {
			t.Errorf("%s:\n got %+v %s\nwant %+v %s", tc.name, nodes[0], nodes[0].Addr(), tc.want, tc.addr)
		}
	}
}

func TestABrokenNodeLineIsAnErrorThatQuotesIt(t *testing.T) {
	for _, line := range []string{
		idA,
		idA + " 10.0.0.1:7000@17000 master - 0 5 3",
		idA + " 10.0.0.1 master - 0 5 3 connected",
		idA + " 10.0.0.1:70000@17000 master - 0 5 3 connected",
		idA + " 10.0.0.1:7000@x master - 0 5 3 connected",
		idA + " 10.0.0.1:7000@17000 master - 0 five 3 connected",
		idA + " 10.0.0.1:7000@17000 master - 0 5 -3 connected",
		idA + " 10.0.0.1:7000@17000 master - 0 5 3 connected 0-16384",
		idA + " 10.0.0.1:7000@17000 master - 0 5 3 connected 7-3",
		idA + " 10.0.0.1:7000@17000 master - 0 5 3 connected 12-",
		strings.Repeat("long ", 3) + strings.Repeat("x", 500),
	} {
		nodes, err := ParseNodes(line)
		if err == nil || !strings.Contains(err.Error(), line[:14]) || len(err.Error()) > 300 {
			t.Errorf("%q: %v %v", line, nodes, err)
		}
	}
}

func TestRepliesOfTheWrongShapeAreErrors(t *testing.T) {
	node := []any{"10.0.0.1", int64(7000), idA}
	for name, reply := range map[string]any{
		"nil": nil, "a string": "OK", "a map": map[any]any{},
		"entry is a string": []any{"x"},
		"no master":         []any{[]any{int64(0), int64(1)}},
		"slots are words":   []any{[]any{"a", "b", node}},
		"slot too high":     []any{[]any{int64(0), int64(16384), node}},
		"range backwards":   []any{[]any{int64(5), int64(1), node}},
		"node is a string":  []any{[]any{int64(0), int64(1), "x"}},
		"node without port": []any{[]any{int64(0), int64(1), []any{"h"}}},
		"port is a word":    []any{[]any{int64(0), int64(1), []any{"h", "p"}}},
		"port too high":     []any{[]any{int64(0), int64(1), []any{"h", int64(65536)}}},
	} {
		if got, err := ParseSlots(reply); err == nil {
			t.Errorf("SLOTS, %s: %v", name, got)
		}
	}
	for name, reply := range map[string]any{
		"nil": nil, "a string": "OK",
		"entry is a string":  []any{"x"},
		"slots are a string": []any{map[any]any{"slots": "0-5"}},
		"odd bounds":         []any{map[any]any{"slots": []any{int64(1)}}},
		"bounds are words":   []any{map[any]any{"slots": []any{"a", "b"}}},
		"slot too high":      []any{map[any]any{"slots": []any{int64(1), int64(99999)}}},
		"nodes are a string": []any{map[any]any{"nodes": "x"}},
		"node is a string":   []any{map[any]any{"nodes": []any{"x"}}},
		"node without port":  []any{map[any]any{"nodes": []any{map[any]any{"id": "x"}}}},
		"port too high":      []any{map[any]any{"nodes": []any{map[any]any{"port": int64(70000)}}}},
	} {
		if got, err := ParseShards(reply); err == nil {
			t.Errorf("SHARDS, %s: %v", name, got)
		}
	}
}

func TestOddButValidRepliesAreRead(t *testing.T) {
	slots, err := ParseSlots([]any{
		[]any{int64(0), int64(1), []any{nil, int64(7000)}, []any{"", int64(7001), idB, []any{"hostname"}}, []any{"?", int64(7002), idB, map[any]any{"hostname": "h", "zone": "a"}}},
		[]any{"2", 3.0, []any{"::1", "7003", idA, []any{}, "a field of tomorrow"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []SlotOwner{
		{SlotRange{0, 1}, Endpoint{Port: 7000, Unknown: true}, []Endpoint{{Port: 7001, ID: idB, Unknown: true}, {Port: 7002, ID: idB, Unknown: true, Hostname: "h"}}},
		{SlotRange{2, 3}, Endpoint{Host: "::1", Port: 7003, ID: idA}, nil},
	}
	if !reflect.DeepEqual(slots, want) {
		t.Errorf("got %+v\nwant %+v", slots, want)
	}
	if a := slots[1].Master.Addr("x"); a != "[::1]:7003" {
		t.Errorf("address %s", a)
	}
	if a := (Endpoint{TLSPort: 7443}).Addr("fe80::1"); a != "[fe80::1]:7443" {
		t.Errorf("address %s", a)
	}
	shards, err := ParseShards([]any{map[any]any{
		"slots": []any{[]any{int64(0), int64(1)}, []any{int64(4), int64(5)}},
		"nodes": []any{[]any{"id", idA, "tls-port", int64(7443), "endpoint", "h", "ip", "1.2.3.4", "role", "slave", "replication-offset", "12", "health", "loading", "availability-zone", "a"}},
		"id":    "x",
	}, []any{"slots", []any{}, "nodes", []any{}}})
	if err != nil || len(shards) != 2 || FormatRanges(shards[0].Slots) != "0-1 4-5" {
		t.Fatalf("%+v %v", shards, err)
	}
	if n := shards[0].Nodes[0]; n.Role != "replica" || n.Endpoint.TLSPort != 7443 || n.ReplicationOffset != 12 || n.Health != "loading" || n.Endpoint.IP != "1.2.3.4" {
		t.Errorf("%+v", n)
	}
}

func TestRangesAndWhatTheyMiss(t *testing.T) {
	for _, tc := range []struct {
		slots         []int
		text, missing string
	}{
		{nil, "none", "0-16383"},
		{[]int{0}, "0", "1-16383"},
		{[]int{5, 3, 4, 3, 9}, "3-5 9", "0-2 6-8 10-16383"},
		{[]int{16383, 0}, "0 16383", "1-16382"},
	} {
		r := Ranges(tc.slots)
		if got := FormatRanges(r); got != tc.text {
			t.Errorf("%v: %s, want %s", tc.slots, got, tc.text)
		}
		if got := FormatRanges(Missing(r)); got != tc.missing {
			t.Errorf("missing in %v: %s, want %s", tc.slots, got, tc.missing)
		}
	}
	if m := Missing([]SlotRange{{8000, 16383}, {0, 9000}, {10, 20}}); m != nil {
		t.Errorf("overlapping ranges that cover all: %v", m)
	}
}

func TestInfoPassesOverWhatItCannotRead(t *testing.T) {
	i := ParseInfo("garbage\r\n# Server \nredis_version:7.2.4\nvalkey_version:8.0.1\n:empty\nslave:x\nslave1:ip=::1,port=7001,state=online,offset=5,lag=2\n" +
		"slave0:ip=h,port=7000,state=wait_bgsave,offset=0,lag=0,type=main\nslave_read_only:1\nhit:12.5%\ncmdstat_GET:calls=x,usec=7\n" +
		"errorstat_ERRORSTATS_DISABLED:count=1\nlatency_percentiles_usec_get:p50=x,p99=2.5\ndb0:keys=3,expires=1,avg_ttl=99999999999999999,subexpiry=0\ndbx:keys=1\ndb1:off\nlast_line_without_newline:9")
	if n, v := i.Version(); n != "valkey" || v != "8.0.1" {
		t.Errorf("version %s %s", n, v)
	}
	if f, ok := i.Float("hit"); !ok || f != 12.5 {
		t.Errorf("hit %v %v", f, ok)
	}
	want := []ReplicaLink{{Host: "h", Port: 7000, State: "wait_bgsave"}, {Host: "::1", Port: 7001, State: "online", Offset: 5, Lag: 2 * time.Second}}
	if got := i.Replicas(); !reflect.DeepEqual(got, want) {
		t.Errorf("replicas %+v", got)
	}
	if i.Commands["get"] != (CommandStat{Usec: 7}) || !i.ErrorsDisabled || i.LatencyUsec["get"]["p99"] != 2.5 || len(i.LatencyUsec["get"]) != 1 {
		t.Errorf("%+v", i)
	}
	if i.Keyspace[0].AvgTTL <= 0 || i.Fields["db1"] != "off" || i.Fields["last_line_without_newline"] != "9" || !i.Sections["server"] {
		t.Errorf("%+v", i)
	}
	if n, v := ParseInfo("").Version(); n != "" || v != "" {
		t.Errorf("version of nothing: %q %q", n, v)
	}
}

func TestAClientListCutOffGivesTheClientsBeforeTheCut(t *testing.T) {
	got := ParseClientList("id=1 addr=/tmp/redis.sock:0 name= age=1 flags=U novalue lib-name=go-redis(,go1.26) lib-ver=9.23.0 db=3\r\n\r\nnot a client\r\nid=2 ad")
	if len(got) != 2 || got[0].LibName != "go-redis(,go1.26)" || got[0].LibVer != "9.23.0" || got[0].DB != 3 || got[0].Age != time.Second || got[1].ID != 2 {
		t.Errorf("%+v", got)
	}
}
