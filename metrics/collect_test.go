package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/rcctl/rcctl/health"
	"github.com/rcctl/rcctl/internal/redisinfo"
	"github.com/rcctl/rcctl/lockcluster"
	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
)

// gather is the text of a scrape of collectors on a pedantic registry, which
// refuses what does not match its description.
func gather(t *testing.T, cs ...prometheus.Collector) string {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(cs...)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains("\n"+text, "\n"+l+"\n") {
			t.Errorf("no line %q in\n%s", l, text)
		}
	}
}

// fakes are collectors of every kind that show all their metrics.
func fakes() []prometheus.Collector {
	p := &poolCollector{family: newFamily("p", attemptsGroup, poolGroup), stats: func() pool.Stats {
		return pool.Stats{Name: "p", Unserved: "0-9 16383", Nodes: []pool.NodeStatus{{
			NodeStats: pool.NodeStats{Addr: "a:1", Attempts: 10, Moved: 2, TxAsk: 1}, Conns: 5, Idle: 2, Wait: 1500 * time.Millisecond, Open: true}}}
	}}
	c := &cacheCollector{family: newFamily("c", cacheGroup), stats: func() lockcluster.Stats {
		h := lockcluster.Histogram{Bounds: []float64{.1, 1}, Counts: []uint64{3, 2, 1}, Sum: 4.5}
		return lockcluster.Stats{
			Patterns:    map[string]lockcluster.PatternStats{"product:*": {Fresh: 7, Shared: 3}},
			Loads:       map[string]map[string]uint64{"miss": {"ok": 4}},
			LoadSeconds: h, WaitSeconds: map[string]lockcluster.Histogram{"message": h},
			Leases: map[string]uint64{"acquired": 4}, Fills: map[string]uint64{"stored": 4}, Subscribed: true,
		}
	}}
	h := &healthCollector{family: newFamily("h", healthGroup), report: func(context.Context) (*health.Report, error) {
		return &health.Report{Known: true, Verdict: health.Down, Took: time.Millisecond,
			Reasons: []health.Reason{{Code: health.CodeSlotsUnserved}, {Code: health.CodeLoading}, {Code: health.CodeLoading}},
			Slots:   health.Slots{Served: 16380, Unserved: []health.SlotRange{{First: 4, Last: 7}}},
			Shards: []health.Shard{{CanFailOver: true, Master: health.Node{Addr: "a:1", Answered: true},
				Replicas: []health.Node{{Addr: "a:2", Answered: true, Lag: 2 * time.Second, LagBytes: 100}}}}}, nil
	}}
	return []prometheus.Collector{p, c, h}
}

func TestCollectorsSayWhatTheirSourcesSay(t *testing.T) {
	wantLines(t, gather(t, fakes()...),
		`rcctl_redirects_total{kind="moved",node="a:1",pool="p"} 2`,
		`rcctl_redirects_total{kind="tx_ask",node="a:1",pool="p"} 1`,
		`rcctl_pool_connections{node="a:1",pool="p",state="busy"} 3`,
		`rcctl_pool_wait_seconds_total{node="a:1",pool="p"} 1.5`,
		`rcctl_pool_breaker_open{node="a:1",pool="p"} 1`,
		`rcctl_pool_unserved_slots{pool="p"} 11`,
		`rcctl_lockcluster_requests_total{cache="c",pattern="product:*",result="fresh"} 7`,
		`rcctl_lockcluster_shared_total{cache="c",pattern="product:*"} 3`,
		`rcctl_lockcluster_loads_total{cache="c",outcome="ok",reason="miss"} 4`,
		`rcctl_lockcluster_load_seconds_bucket{cache="c",le="1"} 5`,
		`rcctl_lockcluster_load_seconds_bucket{cache="c",le="+Inf"} 6`,
		`rcctl_lockcluster_load_seconds_sum{cache="c"} 4.5`,
		`rcctl_lockcluster_wait_seconds_count{cache="c",woken_by="message"} 6`,
		`rcctl_health_verdict{cluster="h",verdict="down"} 1`,
		`rcctl_health_verdict{cluster="h",verdict="ok"} 0`,
		`rcctl_health_reasons{cluster="h",code="loading"} 2`,
		`rcctl_health_reasons{cluster="h",code="auth"} 0`,
		`rcctl_health_slots{cluster="h",state="unserved"} 4`,
		`rcctl_health_replica_lag_seconds{cluster="h",node="a:2"} 2`,
		`rcctl_health_shards{can_fail_over="yes",cluster="h"} 1`,
	)
}

func TestNamesUnitsAndHelpPassPromlint(t *testing.T) {
	problems, err := promlint.New(strings.NewReader(gather(t, fakes()...))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %+v", err, problems)
	}
	// And those that only a server shows.
	var b strings.Builder
	for _, g := range groups {
		for _, s := range g.specs {
			if s.kind == histogram {
				continue
			}
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n%s 1\n", s.name, s.help, s.name, s.kind, s.name)
		}
	}
	problems, err = promlint.New(strings.NewReader(b.String())).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %+v", err, problems)
	}
}

func TestTwoPoolsShareARegistryAndTheSameOneTwiceIsAnError(t *testing.T) {
	reg := prometheus.NewRegistry()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer rdb.Close()
	o := pool.Observe(rdb)
	if err := errors.Join(reg.Register(Client("a", o)), reg.Register(Client("b", o))); err != nil {
		t.Error(err)
	}
	var already prometheus.AlreadyRegisteredError
	if err := reg.Register(Client("a", o)); !errors.As(err, &already) {
		t.Error(err)
	}
}

func TestLabelValuesAreBoundedAndTheSumOfTheRestNeverGoesBackwards(t *testing.T) {
	n := 0
	p := &poolCollector{family: newFamily("p", attemptsGroup, poolGroup), stats: func() pool.Stats {
		n += 300
		var s pool.Stats
		for i := range n { // as many new addresses in each scrape
			s.Nodes = append(s.Nodes, pool.NodeStatus{NodeStats: pool.NodeStats{Addr: fmt.Sprintf("10.0.%03d.%03d:6379", (n-i)/250, (n-i)%250), Attempts: 1}})
		}
		return s
	}}
	before := 0
	for _, want := range []int{300 - MaxNodes, 600 - MaxNodes, 900 - MaxNodes} {
		text := gather(t, p)
		wantLines(t, text, fmt.Sprintf(`rcctl_pool_attempts_total{node="other",pool="p"} %d`, want))
		if series := strings.Count(text, "\nrcctl_pool_attempts_total{"); series != MaxNodes+1 || want < before {
			t.Errorf("%d series", series)
		}
		before = want
	}
}

func TestAReportThatDoesNotComeIsNoErrorOfTheScrape(t *testing.T) {
	h := &healthCollector{family: newFamily("h", healthGroup), report: func(context.Context) (*health.Report, error) {
		return nil, health.ErrClosed
	}}
	if got := testutil.CollectAndCount(h); got != 1 {
		t.Errorf("%d metrics, want 1", got)
	}
	wantLines(t, gather(t, h), `rcctl_health_reported{cluster="h"} 0`)
}

func TestLabelValuesThatAreNoTextAreQuoted(t *testing.T) {
	c := &cacheCollector{family: newFamily("c", cacheGroup), stats: func() lockcluster.Stats {
		return lockcluster.Stats{Patterns: map[string]lockcluster.PatternStats{"a\xff": {Fresh: 1}, "a\xfe": {Fresh: 2}}}
	}}
	wantLines(t, gather(t, c),
		`rcctl_lockcluster_requests_total{cache="c",pattern="\"a\\xff\"",result="fresh"} 1`,
		`rcctl_lockcluster_requests_total{cache="c",pattern="\"a\\xfe\"",result="fresh"} 2`)
}

func TestErrorPrefixesThatAreNotKnownAreCountedTogether(t *testing.T) {
	c := &ServersCollector{family: newFamily("c", serversGroup), log: slog.New(slog.DiscardHandler)}
	n := &node{addr: "a:1", info: redisinfo.ParseInfo("# Errorstats\r\nerrorstat_MOVED:count=4\r\nerrorstat_MY1:count=2\r\nerrorstat_MY2:count=3\r\n")}
	text := gather(t, collectFunc{c, func(ch chan<- prometheus.Metric) { c.server(ch, "a:1", n, &round{}) }})
	wantLines(t, text,
		`rcctl_server_error_replies_by_prefix_total{cluster="c",node="a:1",prefix="MOVED"} 4`,
		`rcctl_server_error_replies_by_prefix_total{cluster="c",node="a:1",prefix="other"} 5`)
	if strings.Contains(text, "MY1") {
		t.Error(text)
	}
}

type collectFunc struct {
	prometheus.Collector
	f func(chan<- prometheus.Metric)
}

func (c collectFunc) Collect(ch chan<- prometheus.Metric) { c.f(ch) }

func TestABadServersConfigNamesTheFieldTheValueAndTheFix(t *testing.T) {
	for _, tc := range []struct {
		cfg  ServersConfig
		want string
	}{
		{ServersConfig{}, "Options.Addrs"},
		{ServersConfig{Options: &redis.ClusterOptions{Addrs: []string{"a:1"}}, Timeout: time.Minute}, "Timeout = 1m0s: want 10ms to 10s"},
	} {
		if _, err := Servers(tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}

// A node that accepts and never answers holds a scrape for one timeout, and the
// next ones not at all.
func TestAScrapeIsBoundedWhenANodeHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, conn) }()
		}
	}()
	c, err := Servers(ServersConfig{Options: &redis.ClusterOptions{Addrs: []string{l.Addr().String()}}, Timeout: 100 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	start := time.Now()
	wantLines(t, gather(t, c), `rcctl_cluster_topology_known{cluster="default"} 0`, fmt.Sprintf(`rcctl_server_up{cluster="default",node="%s"} 0`, l.Addr()))
	if took := time.Since(start); took > 3*waves*100*time.Millisecond {
		t.Errorf("took %s", took)
	}
}
