package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/bench"
	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
)

// valid fails the test when the result is not one JSON document.
func valid(t *testing.T, res *bench.Result) {
	t.Helper()
	var b bytes.Buffer
	if err := res.WriteJSON(&b); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("no valid JSON (%v): %s", err, b.String())
	}
}

func TestARunEndsInTimeAndTellsWhyWhenANodeDies(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*clustertest.Node) error{
		"killed": (*clustertest.Node).Kill,
		"frozen": (*clustertest.Node).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "killed" {
				t.Skip("a frozen node is the worse of the two")
			}
			t.Parallel()
			c := startCluster(t)
			victim := c.Masters()[1]
			o := options(c)
			o.Engine, o.Rate, o.Duration = bench.EngineGoRedis, 1000, 4*time.Second
			o.Cluster.ReadTimeout = 5 * time.Second
			hit := false
			var measured time.Time
			o.Progress = func(p bench.Progress) {
				if p.Phase != "run" {
					return
				}
				measured = time.Now().Add(-p.Elapsed)
				if p.Elapsed >= 3*time.Second && !hit {
					hit = true
					if err := fault(victim); err != nil {
						t.Error(err)
					}
				}
			}
			res := mustRun(t, o)
			if took := time.Since(measured); took > o.Duration+5*time.Second {
				t.Errorf("ended %s after its start, want at most %s", took, o.Duration+5*time.Second)
			}
			valid(t, res)
			if res.Errors == 0 && res.Dropped == 0 {
				t.Error("a dead node caused neither an error nor a dropped request")
			}
			var state string
			for _, n := range res.Nodes {
				if n.Addr == victim.Addr() {
					state = n.State
				}
			}
			if state != "no answer" {
				t.Errorf("state of the dead node is %q, want no answer", state)
			}
			if res.Books.State != "open" || !strings.Contains(strings.Join(res.Books.Reasons, " "), victim.Addr()) {
				t.Errorf("books %+v: want open, for want of an answer of %s", res.Books, victim.Addr())
			}
			if res.KeysLeft > 5000 {
				t.Errorf("%d keys left, want at most those of the dead node", res.KeysLeft)
			}
		})
	}
}

func TestARunOfNothingButErrorsIsAValidReport(t *testing.T) {
	c := startCluster(t)
	o := options(c)
	o.Rate, o.Duration, o.Mix, o.NoPreload = 200, time.Second, bench.Mix{{Op: bench.OpSet, Weight: 1}}, true
	for _, m := range c.Masters() {
		if err := m.Client().ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
			t.Fatal(err)
		}
	}
	res := mustRun(t, o)
	valid(t, res)
	if res.Operations != 200 || res.Errors != 200 || res.ErrorKinds["OOM"] != 200 {
		t.Errorf("operations %d, errors %v: want 200 OOM", res.Operations, res.ErrorKinds)
	}
	if res.LimitedBy != bench.LimitServer || res.Books.State != "closed" {
		t.Errorf("limited by %s, books %+v", res.LimitedBy, res.Books)
	}
}

func TestAnInterruptedRunReportsWhatItDidAndLeavesNoKeys(t *testing.T) {
	c := startCluster(t)
	o := options(c)
	o.Rate, o.Duration = 500, time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(p bench.Progress) {
		if p.Phase == "run" && p.Elapsed >= time.Second {
			cancel()
		}
	}
	begin := time.Now()
	res, err := bench.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("ended after %s", took)
	}
	valid(t, res)
	if !res.Interrupted || res.Operations < 400 || res.Operations > 1500 || res.KeysLeft != 0 {
		t.Errorf("interrupted %v, %d operations, %d keys left", res.Interrupted, res.Operations, res.KeysLeft)
	}
	noKeys(t, c)
}

func noKeys(t *testing.T, c *clustertest.Cluster) {
	t.Helper()
	for _, m := range c.Masters() {
		if n, err := m.Client().DBSize(t.Context()).Result(); err != nil || n != 0 {
			t.Errorf("%s still has %d keys (%v)", m.Addr(), n, err)
		}
	}
}

func TestBooksNameSomebodyElseOnTheCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	o := options(c)
	o.Rate, o.Duration = 200, 3*time.Second
	stranger := redis.NewClient(&redis.Options{Addr: c.Masters()[0].Addr(), ClientName: "stranger"})
	defer stranger.Close()
	asked := 0
	o.Progress = func(bench.Progress) {
		for _, k := range []string{"a", "b", "c", "d"} { // slots of several nodes
			stranger.Get(t.Context(), k)
			asked++
		}
	}
	res := mustRun(t, o)
	if res.Books.State != "open" || res.Books.Unexplained != 0 || !strings.Contains(strings.Join(res.Books.Reasons, " "), "stranger") {
		t.Errorf("books %+v: want open, explained by the client named stranger", res.Books)
	}
	if res.Redirects.Client.Moved != 0 || res.Redirects.Server.Moved == 0 {
		t.Errorf("redirects %+v", res.Redirects)
	}
}

func TestAPoolOfOneConnectionIsFoundToBeTheLimit(t *testing.T) {
	c := startCluster(t)
	for _, engine := range []string{bench.EnginePool, bench.EngineGoRedis} {
		o := options(c)
		o.Engine, o.Duration, o.Workers = engine, 2*time.Second, 64
		o.Cluster.PoolSize, o.Cluster.MinIdleConns = 1, 1
		res := mustRun(t, o)
		if res.LimitedBy != bench.LimitPool {
			t.Errorf("engine %s: limited by %s %q, want pool", engine, res.LimitedBy, res.Evidence)
		}
	}
}

func TestAnUnreachableClusterIsAnErrorInTime(t *testing.T) {
	begin := time.Now()
	_, err := bench.Run(t.Context(), bench.Options{Cluster: pool.Config{Addrs: []string{"127.0.0.1:1"}}, Duration: time.Second})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("error %v", err)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("took %s", took)
	}
	var oe *bench.OptionError
	if _, err := bench.Run(t.Context(), bench.Options{}); !errors.As(err, &oe) {
		t.Errorf("error %v, want an OptionError", err)
	}
}

func TestAUserWithoutSetIsToldAtOnceWhatItNeeds(t *testing.T) {
	c := startCluster(t)
	for _, n := range c.Nodes() {
		if err := n.Client().Do(t.Context(), "ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@all", "-set").Err(); err != nil {
			t.Fatal(err)
		}
	}
	o := options(c)
	o.Duration, o.Cluster.Username, o.Cluster.Password = time.Second, "reader", "secret"
	began := time.Now()
	_, err := bench.Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "NOPERM") || !strings.Contains(err.Error(), "+set") {
		t.Errorf("error %v", err)
	}
	if d := time.Since(began); d > 4*time.Second {
		t.Errorf("took %v: nothing is gained by trying again", d)
	}
}
