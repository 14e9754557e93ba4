package pool_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/pool"
)

// coldBurst sends one GET from each of 500 goroutines at once through a client
// that nobody has used, and returns the 99th percentile.
func coldBurst(t testing.TB, cl *redis.ClusterClient) time.Duration {
	t.Helper()
	took := make([]time.Duration, 500)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range took {
		wg.Go(func() {
			<-start
			at := time.Now()
			if err := cl.Get(context.Background(), "k"+strconv.Itoa(i)).Err(); err != nil && err != redis.Nil {
				t.Errorf("burst: %v", err)
			}
			took[i] = time.Since(at)
		})
	}
	close(start)
	wg.Wait()
	slices.Sort(took)
	return took[len(took)*99/100]
}

func discoveries(t testing.TB, c *clustertest.Cluster) (n int64) {
	t.Helper()
	for _, node := range c.Nodes() {
		info := node.Client().Info(context.Background(), "commandstats").Val()
		n += int64(calls(info, "cluster|slots"))
	}
	return n
}

// calls reads a command's calls out of INFO commandstats.
func calls(info, command string) (n int) {
	_, rest, ok := cutAfter(info, "cmdstat_"+command+":calls=")
	if !ok {
		return 0
	}
	for _, r := range rest {
		if r < '0' || r > '9' {
			break
		}
		n = n*10 + int(r-'0')
	}
	return n
}

func cutAfter(s, sep string) (before, after string, found bool) {
	for i := 0; i+len(sep) <= len(s); i++ {
		if s[i:i+len(sep)] == sep {
			return s[:i], s[i+len(sep):], true
		}
	}
	return s, "", false
}

func TestFaultsAColdBurstFindsItsConnectionsReady(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
	ctx := t.Context()
	ours := func(warm int) func() (*redis.ClusterClient, func()) {
		return func() (*redis.ClusterClient, func()) {
			p, err := pool.New(ctx, pool.Config{Addrs: c.Addrs()[:3], MinIdleConns: warm, Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			return p.Client(), func() {
				for _, n := range p.Stats().Nodes {
					if n.PoolTimeouts > 0 || n.Dials > 100+1 {
						t.Errorf("%s: %d pool timeouts, %d dials", n.Addr, n.PoolTimeouts, n.Dials)
					}
				}
				_ = p.Close()
			}
		}
	}
	plain := func(o redis.ClusterOptions) func() (*redis.ClusterClient, func()) {
		return func() (*redis.ClusterClient, func()) {
			o.Addrs = c.Addrs()[:3]
			cl := redis.NewClusterClient(&o)
			return cl, func() { _ = cl.Close() }
		}
	}
	before := discoveries(t, c)
	cl, end := ours(20)()
	coldBurst(t, cl)
	end()
	if n := discoveries(t, c) - before; n != 1 {
		t.Errorf("%d CLUSTER SLOTS calls for one client and its first burst, want 1", n)
	}
	if os.Getenv("RCCTL_FAULT_TRIALS") == "" {
		return // figures mean something on a quiet machine only
	}
	rows := []struct {
		name string
		make func() (*redis.ClusterClient, func())
		p99  []time.Duration
	}{
		{"pool, 20 warm", ours(20), nil},
		{"pool, 100 warm", ours(100), nil},
		{"go-redis, defaults", plain(redis.ClusterOptions{}), nil},
		{"go-redis, PoolSize 100, cold", plain(redis.ClusterOptions{PoolSize: 100}), nil},
		{"pool, 20 warm, again", ours(20), nil},
	}
	for range max(7, faultTrials()) {
		for i := range rows {
			cl, end := rows[i].make()
			rows[i].p99 = append(rows[i].p99, coldBurst(t, cl))
			end()
		}
	}
	median := make(map[string]time.Duration)
	for _, r := range rows {
		slices.Sort(r.p99)
		median[r.name] = r.p99[len(r.p99)/2]
		t.Logf("%-30s p99 of 500: median %s, %s to %s over %d bursts", r.name, median[r.name], r.p99[0], r.p99[len(r.p99)-1], len(r.p99))
	}
	for _, bar := range []struct {
		a, b string
		most float64
	}{
		{"pool, 20 warm", "go-redis, defaults", 0.75}, {"pool, 20 warm", "go-redis, PoolSize 100, cold", 0.40},
		{"pool, 100 warm", "go-redis, defaults", 0.45}, {"pool, 100 warm", "go-redis, PoolSize 100, cold", 0.25},
	} {
		ratio := float64(median[bar.a]) / float64(median[bar.b])
		t.Logf("%s / %s = %.2f, want at most %.2f", bar.a, bar.b, ratio, bar.most)
		if ratio > bar.most {
			t.Errorf("%s / %s = %.2f, want at most %.2f", bar.a, bar.b, ratio, bar.most)
		}
	}
}
