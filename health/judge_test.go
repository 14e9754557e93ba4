package health

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rcctl/rcctl/internal/redisinfo"
	"github.com/redis/go-redis/v9"
)

// fakeNode is a node of a made-up cluster; slots are given as ranges.
type fakeNode struct {
	id, host string
	port     int
	master   string // id
	flags    string // besides myself, master, slave
	epoch    int
	slots    []string
	info     string
	state    string
	err      error
}

func (n fakeNode) addr() string { return net.JoinHostPort(n.host, strconv.Itoa(n.port)) }

// line is the node's line in CLUSTER NODES.
func (n fakeNode) line(myself bool, extraFlags string) string {
	flags, master := "master", "-"
	if n.master != "" {
		flags, master = "slave", n.master
	}
	if myself {
		flags = "myself," + flags
	}
	for _, f := range []string{n.flags, extraFlags} {
		if f != "" {
			flags += "," + f
		}
	}
	return fmt.Sprintf("%s %s:%d@%d %s %s 0 0 %d connected %s\n", n.id, n.host, n.port, n.port+10000, flags, master, n.epoch, strings.Join(n.slots, " "))
}

// fakeRound is a round in which every node answers with the same view.
func fakeRound(t testing.TB, nodes ...fakeNode) round {
	t.Helper()
	r := round{answers: map[string]*answer{}, seeds: []string{nodes[0].addr()}, maxLag: 5 * time.Second, maxLagBytes: 1 << 20}
	for _, n := range nodes {
		a := &answer{addr: n.addr(), err: n.err, state: n.state, info: redisinfo.ParseInfo(n.info)}
		if n.err == nil {
			a.view = viewOf(t, n.id, nil, nodes...)
		}
		r.answers[n.addr()] = a
	}
	return r
}

// viewOf is CLUSTER NODES as the node with this id sees it; flags adds flags to
// the lines of other nodes.
func viewOf(t testing.TB, id string, flags map[string]string, nodes ...fakeNode) []redisinfo.Node {
	t.Helper()
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString(n.line(n.id == id, flags[n.id]))
	}
	view, err := redisinfo.ParseNodes(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return view
}

const replicaInfo = "role:slave\nmaster_link_status:up\nslave_repl_offset:1000\n"

// six is a healthy cluster: masters a b c, replicas x y z.
func six() []fakeNode {
	master := func(id string, port, epoch int, slots string) fakeNode {
		return fakeNode{id: id, host: "10.0.0.1", port: port, epoch: epoch, slots: []string{slots}, state: "ok",
			info: fmt.Sprintf("role:master\nmaster_repl_offset:1000\nslave0:ip=10.0.0.1,port=%d,state=online,offset=1000,lag=0\n", port+3)}
	}
	replica := func(id string, port int, of string) fakeNode {
		return fakeNode{id: id, host: "10.0.0.1", port: port, master: of, info: replicaInfo, state: "ok"}
	}
	return []fakeNode{
		master("a", 7000, 1, "0-5460"), master("b", 7001, 2, "5461-10922"), master("c", 7002, 3, "10923-16383"),
		replica("x", 7003, "a"), replica("y", 7004, "b"), replica("z", 7005, "c"),
	}
}

func TestReasonsByState(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	wrongPass := reply("WRONGPASS invalid username-password pair or user is disabled.")
	for _, tc := range []struct {
		name    string
		change  func(n []fakeNode) []fakeNode
		round   func(r *round)
		verdict Verdict
		reasons []string // "code node slots"
	}{
		{name: "healthy", verdict: OK},
		{name: "a replica is dead", change: func(n []fakeNode) []fakeNode { n[3].err = refused; return n }, verdict: Degraded,
			reasons: []string{"no_failover_candidate 10.0.0.1:7000 0-5460", "replica_unreachable 10.0.0.1:7003 0-5460"}},
		{name: "one of two replicas is dead", change: func(n []fakeNode) []fakeNode {
			n[3].err = refused
			return append(n, fakeNode{id: "x2", host: "10.0.0.2", port: 7003, master: "a", info: replicaInfo})
		}, verdict: Degraded, reasons: []string{"replica_unreachable 10.0.0.1:7003 0-5460"}},
		{name: "a replica that never takes over", change: func(n []fakeNode) []fakeNode { n[4].flags = "nofailover"; return n }, verdict: Degraded,
			reasons: []string{"no_failover_candidate 10.0.0.1:7001 5461-10922"}},
		{name: "a replica lost its link", change: func(n []fakeNode) []fakeNode {
			n[4].info = "role:slave\nmaster_link_status:down\nmaster_link_down_since_seconds:9\n"
			return n
		}, verdict: Degraded, reasons: []string{"no_failover_candidate 10.0.0.1:7001 5461-10922", "replica_lagging 10.0.0.1:7004 5461-10922"}},
		{name: "a replica is behind in bytes", change: func(n []fakeNode) []fakeNode {
			n[0].info = strings.Replace(n[0].info, "master_repl_offset:1000", "master_repl_offset:9000000", 1)
			return n
		}, verdict: Degraded, reasons: []string{"replica_lagging 10.0.0.1:7003 0-5460"}},
		{name: "a replica is silent", change: func(n []fakeNode) []fakeNode {
			n[0].info = strings.Replace(n[0].info, "lag=0", "lag=6", 1)
			return n
		}, verdict: Degraded, reasons: []string{"replica_lagging 10.0.0.1:7003 0-5460"}},
		{name: "a replica loads", change: func(n []fakeNode) []fakeNode {
			n[5].err, n[5].info = reply("LOADING Redis is loading the dataset in memory"), "loading:1"
			return n
		}, verdict: Degraded, reasons: []string{"no_failover_candidate 10.0.0.1:7002 10923-16383", "loading 10.0.0.1:7005 10923-16383"}},
		{name: "a master loads", change: func(n []fakeNode) []fakeNode {
			n[2].err, n[2].info = reply("LOADING Redis is loading the dataset in memory"), "loading:1"
			return n
		}, verdict: Down, reasons: []string{"loading 10.0.0.1:7002 10923-16383", "slots_unserved  10923-16383"}},
		{name: "a master is dead", change: func(n []fakeNode) []fakeNode { n[1].err = refused; return n }, verdict: Down,
			reasons: []string{"master_unreachable 10.0.0.1:7001 5461-10922", "slots_unserved  5461-10922"}},
		{name: "a master refuses the password", change: func(n []fakeNode) []fakeNode { n[1].err = wrongPass; return n }, verdict: Down,
			reasons: []string{"auth 10.0.0.1:7001 5461-10922", "slots_unserved  5461-10922"}},
		{name: "a master is no cluster node any more", change: func(n []fakeNode) []fakeNode { n[1].err = errNoCluster; return n }, verdict: Down,
			reasons: []string{"not_a_cluster 10.0.0.1:7001 5461-10922", "slots_unserved  5461-10922"}},
		{name: "slots without an owner", change: func(n []fakeNode) []fakeNode { n[0].slots = []string{"0-99", "200-5460"}; return n }, verdict: Down,
			reasons: []string{"slots_unserved  100-199"}},
		{name: "a manual failover waits", change: func(n []fakeNode) []fakeNode {
			n[0].info += "master_failover_state:waiting-for-sync\n"
			return n
		}, verdict: Degraded, reasons: []string{"failover_in_progress 10.0.0.1:7000 0-5460"}},
		{name: "no replicas at all", change: func(n []fakeNode) []fakeNode { return n[:3] }, verdict: Degraded,
			reasons: []string{"no_failover_candidate 10.0.0.1:7000 0-5460", "no_failover_candidate 10.0.0.1:7001 5461-10922", "no_failover_candidate 10.0.0.1:7002 10923-16383"}},
		{name: "no replicas, as intended", change: func(n []fakeNode) []fakeNode { return n[:3] }, round: func(r *round) { r.replicasOptional = true }, verdict: OK},
		{name: "two masters cannot elect", change: func(n []fakeNode) []fakeNode {
			n[0].slots = []string{"0-10922"}
			return []fakeNode{n[0], n[2], n[3], n[5]}
		}, verdict: Degraded, reasons: []string{"no_failover_candidate  none"}},
		{name: "a pool timed out", round: func(r *round) { r.poolTimeouts = 3 }, verdict: Degraded, reasons: []string{"pool_exhausted  none"}},
		{name: "a breaker is open", round: func(r *round) { r.breakers = []string{"10.0.0.1:7001"} }, verdict: Degraded, reasons: []string{"breaker_open 10.0.0.1:7001 none"}},
		{name: "a seed is a plain server", round: func(r *round) {
			r.seeds = append(r.seeds, "10.0.0.9:6379")
			r.answers["10.0.0.9:6379"] = &answer{addr: "10.0.0.9:6379", err: errNoCluster}
		}, verdict: Degraded, reasons: []string{"not_a_cluster 10.0.0.9:6379 none"}},
		{name: "an old seed is gone", round: func(r *round) {
			r.seeds = append(r.seeds, "10.0.0.9:6379")
			r.answers["10.0.0.9:6379"] = &answer{addr: "10.0.0.9:6379", err: refused}
		}, verdict: OK},
	} {
		nodes := six()
		if tc.change != nil {
			nodes = tc.change(nodes)
		}
		r := fakeRound(t, nodes...)
		if tc.round != nil {
			tc.round(&r)
		}
		checkReasons(t, tc.name, judge(r, buildTopology(r.answers)), tc.verdict, tc.reasons)
	}
}

// reply is an error reply as go-redis returns it.
type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}

func reply(s string) redis.Error { return replyError(s) }

func checkReasons(t *testing.T, name string, rep *Report, verdict Verdict, want []string) {
	t.Helper()
	var got []string
	for _, x := range rep.Reasons {
		got = append(got, fmt.Sprintf("%s %s %s", x.Code, x.Node, FormatRanges(x.Slots)))
		if x.Detail == "" || strings.Contains(x.String(), "\n") {
			t.Errorf("%s: a reason without detail, or of two lines: %q", name, x)
		}
	}
	if rep.Verdict != verdict || !slices.Equal(got, want) {
		t.Errorf("%s: %s %q\nwant %s %q", name, rep.Verdict, got, verdict, want)
	}
}

func TestTheSidesOfAPartition(t *testing.T) {
	nodes := six()
	// c is alone: it calls the others failed and refuses; they promoted z.
	r := fakeRound(t, nodes...)
	minority := viewOf(t, "c", map[string]string{"a": "fail?", "b": "fail?", "x": "fail?", "y": "fail?", "z": "fail?"}, nodes...)
	r.answers["10.0.0.1:7002"].view, r.answers["10.0.0.1:7002"].state = minority, "fail"
	after := six()
	after[2].slots = nil
	after[5].master, after[5].slots, after[5].epoch = "", []string{"10923-16383"}, 9
	for _, n := range nodes {
		if n.id != "c" {
			r.answers[n.addr()].view = viewOf(t, n.id, map[string]string{"c": "fail"}, after...)
		}
	}
	rep := judge(r, buildTopology(r.answers))
	if rep.Slots.Served != 16384 || rep.Verdict != Degraded || !rep.Has(CodeViewDivergence) {
		t.Errorf("served %d, %s %v", rep.Slots.Served, rep.Verdict, rep.Reasons)
	}
	i := slices.IndexFunc(rep.Shards, func(s Shard) bool { return s.Slots[0].First == 10923 })
	if i < 0 || rep.Shards[i].Master.ID != "z" {
		t.Errorf("the one with the higher epoch is not the owner: %+v", rep.Shards)
	}
	for _, x := range rep.Reasons {
		if x.Code == CodeViewDivergence && len(x.Slots) > 0 && (x.Node != "10.0.0.1:7002" || FormatRanges(x.Slots) != "10923-16383") {
			t.Errorf("%v", x)
		}
	}
	// Before z is promoted, c is the only one that claims its slots, and it
	// refuses.
	for _, n := range nodes {
		if n.id != "c" {
			r.answers[n.addr()].view = viewOf(t, n.id, map[string]string{"c": "fail"}, nodes...)
		}
	}
	rep = judge(r, buildTopology(r.answers))
	if FormatRanges(rep.Slots.Refused) != "10923-16383" || rep.Verdict != Down || !rep.Has(CodeSlotsUnserved) {
		t.Errorf("refused %v, %s %v", rep.Slots.Refused, rep.Verdict, rep.Reasons)
	}
}

func TestAddressesAreThoseThatAClientDials(t *testing.T) {
	for _, tc := range []struct {
		host  string
		port  int
		asked string
		want  string
	}{
		{"10.0.0.2", 7001, "10.0.0.1:7000", "10.0.0.2:7001"},
		{"", 7001, "10.0.0.1:7000", "10.0.0.1:7001"},
		{"127.0.0.1", 7001, "redis.example:7000", "redis.example:7001"},
		{"127.0.0.1", 7001, "127.0.0.1:7000", "127.0.0.1:7001"},
		{"127.0.0.1", 7001, "localhost:7000", "127.0.0.1:7001"},
		{"::1", 7001, "[::1]:7000", "[::1]:7001"},
		{"2001:db8::1", 7001, "[2001:db8::2]:7000", "[2001:db8::1]:7001"},
		{"10.0.0.2", 0, "10.0.0.1:7443", "10.0.0.2:7443"},
	} {
		if got := dialAddr(tc.host, tc.port, tc.asked); got != tc.want {
			t.Errorf("%q %d from %s: %s, want %s", tc.host, tc.port, tc.asked, got, tc.want)
		}
	}
	addrs := []string{"h:10000", "h:9000", "a:9000", "[::1]:7000"}
	slices.SortFunc(addrs, compareAddr)
	if want := []string{"[::1]:7000", "a:9000", "h:9000", "h:10000"}; !slices.Equal(addrs, want) {
		t.Errorf("sorted %q", addrs)
	}
}

func TestReadinessIsDamped(t *testing.T) {
	for _, tc := range []struct{ rounds, ready string }{ // g good, b bad; R ready, - not
		{"ggg", "RRR"},
		{"gbgbg", "RRRRR"},
		{"gbbgggg", "RR---RR"},
		{"bggg", "---R"},
		{"bgbggg", "-----R"},
	} {
		var d damper
		var got strings.Builder
		for _, c := range tc.rounds {
			d.observe(c == 'g')
			got.WriteString(map[bool]string{true: "R", false: "-"}[d.ready])
		}
		if got.String() != tc.ready {
			t.Errorf("%s: %s, want %s", tc.rounds, &got, tc.ready)
		}
	}
}

func TestABadConfigNamesEveryBadField(t *testing.T) {
	_, err := New(Config{Timeout: time.Minute, MaxAge: time.Hour, MaxLag: -1, MaxLagBytes: -1})
	for _, field := range []string{"Client", "Timeout = 1m0s", "MaxAge = 1h", "MaxLag = ", "MaxLagBytes = -1"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+field) {
			t.Errorf("%s is not named: %v", field, err)
		}
	}
	if _, err := New(Config{Options: &redis.ClusterOptions{}}); err == nil || !strings.Contains(err.Error(), "Options.Addrs") {
		t.Errorf("no addresses: %v", err)
	}
}

func TestAdviceForNetworkErrors(t *testing.T) {
	for _, tc := range []struct {
		err  error
		tls  bool
		want string
	}{
		{syscall.ECONNREFUSED, false, "nothing listens"},
		{&net.DNSError{}, false, "host name"},
		{syscall.EHOSTUNREACH, false, "no route"},
		{syscall.ECONNRESET, false, "turn TLS on"},
		{errors.New(`redis: can't parse "\x15\x03\x03"`), false, "turn TLS on"},
		{syscall.ECONNRESET, true, "turn TLS off"},
		{errors.New("tls: first record does not look like a TLS handshake"), true, "turn TLS off"},
		{errors.New("x509: certificate signed by unknown authority"), true, "CA"},
		{errors.New("remote error: tls: certificate required"), true, "client certificate"},
		{errors.New(`redis: can't parse map reply: "HTTP/1.1 400 Bad Request"`), false, "not the Redis protocol"},
		{errors.New("something else"), false, ""},
	} {
		if got := netFix(tc.err, tc.tls); !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%v, TLS %v: %q does not contain %q", tc.err, tc.tls, got, tc.want)
		}
	}
}
