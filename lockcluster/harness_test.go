package lockcluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/lockcluster"
	"github.com/redis/go-redis/v9"
)

// One cluster of real servers serves the tests that leave it whole; those that
// break it start their own.
var shared struct {
	once    sync.Once
	cluster *clustertest.Cluster
	err     error
}

func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		os.Exit(worker())
	}
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.cluster.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func sharedCluster(tb testing.TB) *clustertest.Cluster {
	tb.Helper()
	shared.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		shared.cluster, shared.err = clustertest.Start(ctx, clustertest.Options{Backend: clustertest.Processes{}})
	})
	if errors.Is(shared.err, clustertest.ErrNoServer) && os.Getenv("RCCTL_REQUIRE_REDIS") != "1" {
		tb.Skip(shared.err)
	}
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.cluster
}

// ownCluster is a cluster with faults that one test may break.
func ownCluster(t *testing.T, replicas int) *clustertest.Cluster {
	t.Helper()
	return clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{Proxy: true}, Replicas: replicas})
}

func clientOptions(c *clustertest.Cluster) *redis.ClusterOptions {
	o := c.ClientOptions()
	o.ContextTimeoutEnabled = true
	o.ReadTimeout, o.WriteTimeout, o.DialTimeout = 300*time.Millisecond, 300*time.Millisecond, 500*time.Millisecond
	o.DialerRetries = 1
	o.MaxRetries = -1
	o.ClusterStateReloadInterval = time.Second
	return o
}

func newClient(tb testing.TB, c *clustertest.Cluster) *redis.ClusterClient {
	tb.Helper()
	client := redis.NewClusterClient(clientOptions(c))
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// newCache makes a cache that lives as long as the test.
func newCache(tb testing.TB, client redis.UniversalClient, cfg lockcluster.Config) *lockcluster.Cache {
	tb.Helper()
	if cfg.StepBudget == 0 {
		cfg.StepBudget = time.Second // machines that run tests are busy
	}
	c, err := lockcluster.New(client, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return c
}

var keyCount atomic.Int64

// uniqueKey is a key no other test uses.
func uniqueKey(what string) string {
	return fmt.Sprintf("%s:%d:%d", what, os.Getpid(), keyCount.Add(1))
}

// oddKeys are keys whose slot or whose bytes trip naive code.
var oddKeys = []string{"a{}b", "foo}bar", "{", "", "\x00\xff\xf7rc\x01\r\n", "{user:1}:x", "a{b{c}d}e"}

// forEachOddKey runs a test with every odd key and one plain one, removed
// before and after.
func forEachOddKey(t *testing.T, client *redis.ClusterClient, f func(t *testing.T, key string)) {
	for _, key := range append([]string{uniqueKey("plain")}, oddKeys...) {
		t.Run(fmt.Sprintf("key=%q", key), func(t *testing.T) {
			clean := func() {
				client.Del(context.Background(), key)
				client.Del(context.Background(), lockcluster.Companion(key))
			}
			clean()
			t.Cleanup(clean)
			f(t, key)
		})
	}
}

// eventually polls until cond holds.
func eventually(tb testing.TB, within time.Duration, what string, cond func() bool) {
	tb.Helper()
	for end := time.Now().Add(within); ; {
		if cond() {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("not within %s: %s", within, what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// constant is a loader that counts its calls.
type constant struct {
	value string
	takes time.Duration
	calls atomic.Int64
}

func (l *constant) load(ctx context.Context, _ *lockcluster.Load) ([]byte, error) {
	l.calls.Add(1)
	select {
	case <-time.After(l.takes):
		return []byte(l.value), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// slowUntil is a loader that says when it runs and ends when it is told to.
func slowUntil(running, release chan struct{}) lockcluster.Loader {
	return func(context.Context, *lockcluster.Load) ([]byte, error) {
		close(running)
		<-release
		return []byte("v"), nil
	}
}
