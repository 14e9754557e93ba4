package clustertest_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
)

// benchGet reads keys with 16 goroutines.
func benchGet(b *testing.B, c *clustertest.Cluster) {
	ctx, rdb := b.Context(), c.Client()
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprint("key:", i)
		if err := rdb.Set(ctx, keys[i], "value", 0).Err(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := g; i < b.N; i += 16 {
				if err := rdb.Get(ctx, keys[i%len(keys)]).Err(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// BenchmarkBackendGet compares the backends; run it with -count to interleave them.
func BenchmarkBackendGet(b *testing.B) {
	for _, backend := range []clustertest.Backend{clustertest.Embedded{}, clustertest.Processes{}, clustertest.Embedded{InMemory: true}} {
		name := backend.Name()
		if backend.Caps().InMemory {
			name += "-in-memory"
		}
		b.Run("backend="+name, func(b *testing.B) {
			benchGet(b, clustertest.Run(b, clustertest.Options{Backend: backend}))
		})
	}
}

// BenchmarkGetAmongKeysWithTTL shows what 100,000 keys with a time to live
// cost.
func BenchmarkGetAmongKeysWithTTL(b *testing.B) {
	for _, n := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			c := clustertest.Run(b, clustertest.Options{})
			pipe := c.Client().Pipeline()
			for i := range n {
				pipe.Set(b.Context(), fmt.Sprint("ttl:", i), i, time.Hour+time.Duration(i)*time.Millisecond)
				if pipe.Len() == 1000 {
					if _, err := pipe.Exec(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			}
			benchGet(b, c)
		})
	}
}

// BenchmarkStart is the start of 3 masters and 3 replicas, ready to serve.
func BenchmarkStart(b *testing.B) {
	for _, memory := range []bool{false, true} {
		b.Run(fmt.Sprintf("inmemory=%v", memory), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c, err := clustertest.Start(b.Context(), clustertest.Options{Backend: clustertest.Embedded{InMemory: memory}, Replicas: 1})
				if err != nil {
					b.Fatal(err)
				}
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEval is a script of one GET.
func BenchmarkEval(b *testing.B) {
	c := clustertest.Run(b, clustertest.Options{Backend: clustertest.Embedded{InMemory: true}})
	rdb := c.NodeForKey("k").Client()
	b.ReportAllocs()
	for b.Loop() {
		if err := rdb.Eval(b.Context(), `return redis.call("GET", KEYS[1])`, []string{"k"}).Err(); err != nil && err.Error() != "redis: nil" {
			b.Fatal(err)
		}
	}
}
