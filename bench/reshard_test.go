package bench_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/bench"
	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
	"github.com/rcctl/rcctl/pool"
)

func startCluster(t *testing.T) *clustertest.Cluster {
	t.Helper()
	return clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
}

// options are those of a run on c.
func options(c *clustertest.Cluster) bench.Options {
	return bench.Options{Cluster: pool.Config{Addrs: c.Addrs()[:3]}}
}

func mustRun(t *testing.T, o bench.Options) *bench.Result {
	t.Helper()
	res, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := res.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
	return res
}

// redisCLI runs redis-cli and fails the test when that fails.
func redisCLI(ctx context.Context, t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(ctx, "redis-cli", args...).CombinedOutput()
	if err != nil {
		t.Errorf("redis-cli %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestBooksCloseWhile400SlotsAreMovedByRedisCLI(t *testing.T) {
	if _, err := exec.LookPath("redis-cli"); err != nil {
		if os.Getenv("RCCTL_REQUIRE_REDIS") == "1" {
			t.Fatal(err)
		}
		t.Skip("redis-cli is not installed")
	}
	c := startCluster(t)
	masters := c.Masters()
	for i, tc := range []struct {
		name string
		set  func(*bench.Options)
	}{
		{"engine=pool", func(o *bench.Options) {}},
		{"engine=go-redis", func(o *bench.Options) { o.Engine = bench.EngineGoRedis }},
		{"engine=pool,pipeline=16", func(o *bench.Options) { o.Pipeline = 16; o.Rate = 8000 }},
		{"engine=pool,auto-pipeline", func(o *bench.Options) { o.AutoPipeline = true }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if testing.Short() && i > 0 {
				t.Skip("like the first, with another client")
			}
			o := options(c)
			o.Rate, o.Duration, o.Keys = 3000, 6*time.Second, 40_000
			o.Mix = bench.Mix{{Op: bench.OpGet, Weight: 60}, {Op: bench.OpSet, Weight: 40}}
			tc.set(&o)
			moving := make(chan struct{})
			var once bool
			o.Progress = func(p bench.Progress) {
				if p.Phase != "run" || once {
					return
				}
				once = true
				go func() {
					defer close(moving)
					redisCLI(t.Context(), t, "--cluster", "reshard", masters[0].Addr(),
						"--cluster-from", masters[i%3].ID(), "--cluster-to", masters[(i+1)%3].ID(),
						"--cluster-slots", "400", "--cluster-yes")
				}()
			}
			res := mustRun(t, o)
			<-moving
			if res.Errors != 0 || res.Dropped != 0 {
				t.Errorf("%d errors %v, %d dropped: want none", res.Errors, res.ErrorKinds, res.Dropped)
			}
			if res.Books.State != "closed" {
				t.Errorf("books %+v: client %+v, server %+v", res.Books, res.Redirects.Client, res.Redirects.Server)
			}
			if res.Redirects.Client.Moved == 0 {
				t.Error("no MOVED at all: the slots did not move under the load")
			}
			if want := uint64(o.Rate * o.Duration.Seconds()); res.Operations != want {
				t.Errorf("%d operations, want %d", res.Operations, want)
			}
		})
	}
}

func TestBooksCloseWhileABusySlotStaysHalfMoved(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	for i, tc := range []struct {
		name string
		set  func(*bench.Options)
	}{
		{"single commands", func(o *bench.Options) {}},
		{"plain client", func(o *bench.Options) { o.Engine = bench.EngineGoRedis }},
		{"pipelines", func(o *bench.Options) { o.Pipeline = 20 }},
		{"auto-pipeline", func(o *bench.Options) { o.AutoPipeline = true }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if testing.Short() && i > 0 {
				t.Skip("like the first, with another client")
			}
			o := options(c)
			o.Rate, o.Duration, o.Keys, o.Seed = 2000, 3*time.Second, 40, 4711
			tc.set(&o)
			slot := hashtag.Slot(fmt.Sprintf("rcctl-bench:%012x:7", o.Seed))
			owner := c.NodeForSlot(slot)
			to := c.Masters()[0]
			if to == owner {
				to = c.Masters()[1]
			}
			moved := make(chan error, 1)
			begun := false
			o.Progress = func(p bench.Progress) {
				if p.Phase != "run" || p.Elapsed < time.Second {
					return
				}
				if begun {
					return
				}
				begun = true
				go func() { moved <- moveSlowly(t.Context(), c, slot, to) }()
			}
			res := mustRun(t, o)
			if err := <-moved; err != nil {
				t.Fatal(err)
			}
			if res.Errors != 0 {
				t.Errorf("%d errors %v: want none", res.Errors, res.ErrorKinds)
			}
			if res.Books.State != "closed" {
				t.Errorf("books %+v: client %+v, server %+v", res.Books, res.Redirects.Client, res.Redirects.Server)
			}
			if res.Redirects.Client.Ask == 0 {
				t.Error("no ASK: the slot was not half moved under the load")
			}
		})
	}
}

// moveSlowly leaves a slot without its keys on the old owner for a second.
func moveSlowly(ctx context.Context, c *clustertest.Cluster, slot int, to *clustertest.Node) error {
	m, err := c.BeginMove(ctx, slot, to)
	if err != nil {
		return err
	}
	if _, err := m.Step(ctx, 100); err != nil {
		return err
	}
	hold := time.NewTimer(time.Second)
	defer hold.Stop()
	select {
	case <-hold.C:
	case <-ctx.Done():
	}
	return m.Finish(ctx)
}

func TestNodesGoByTheHostNamesThatClientsAreSentTo(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{})
	o := options(c)
	o.Duration, o.Workers, o.Keys, o.Cluster.AddrMap = 200*time.Millisecond, 2, 100, map[string]string{}
	for i, n := range c.Nodes() {
		name := fmt.Sprintf("node%d.invalid", i)
		if err := n.AnnounceHost(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		o.Cluster.AddrMap[name] = strings.Split(n.Addr(), ":")[0]
	}
	if err := c.PreferEndpoint(t.Context(), clustertest.EndpointHostname); err != nil {
		t.Fatal(err)
	}
	res := mustRun(t, o)
	var asked uint64
	for _, n := range res.Nodes {
		if n.State == "seed" {
			continue
		}
		asked += n.Attempts
		if !strings.Contains(n.Addr, ".invalid:") {
			t.Errorf("the client calls no node %s", n.Addr)
		}
	}
	if asked < res.Operations {
		t.Errorf("%d of %d operations went to nodes of the cluster", asked, res.Operations)
	}
	if res.Books.State != "closed" {
		t.Errorf("books %+v", res.Books)
	}
}
