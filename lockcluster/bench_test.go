package lockcluster_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rcctl/rcctl/lockcluster"
	"github.com/redis/go-redis/v9"
)

// BenchmarkHit compares a hit with a plain GET of the same size through the
// same client, in turns of 50 ms, so that what else the machine does hits all
// alike. The second GET is the A/A row: what it differs from the first is
// noise. Run it with -benchtime 41x.
func BenchmarkHit(b *testing.B) {
	cluster := sharedCluster(b)
	o := clientOptions(cluster)
	o.PoolSize = 64 // no caller waits for a connection
	client := redis.NewClusterClient(o)
	defer client.Close()
	c := newCache(b, client, lockcluster.Config{})
	ctx, key := context.Background(), uniqueKey("bench")
	raw := lockcluster.Companion(key) // on the same node
	value := strings.Repeat("x", 1000)
	load := func(context.Context, *lockcluster.Load) ([]byte, error) { return []byte(value), nil }
	for range 2 {
		if _, err := c.Get(ctx, key, load); err != nil {
			b.Fatal(err)
		}
	}
	client.Set(ctx, raw, value+strings.Repeat("h", lockcluster.HeaderLen), 0)
	get := func() {
		if _, err := client.Get(ctx, raw).Bytes(); err != nil {
			b.Error(err)
		}
	}
	hit := func() {
		if r, err := c.Get(ctx, key, load); err != nil || !r.Source.Hit() {
			b.Error(r.Source, err)
		}
	}
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			rates := map[string][]float64{}
			ways := []struct {
				name string
				do   func()
			}{{"get", get}, {"hit", hit}, {"get-again", get}}
			for round := 0; b.Loop(); round++ {
				for i := range ways { // another one first each time
					w := ways[(i+round)%len(ways)]
					rates[w.name] = append(rates[w.name], rate(callers, 50*time.Millisecond, w.do))
				}
			}
			median := func(name string) float64 {
				s := slices.Sorted(slices.Values(rates[name]))
				return s[len(s)/2]
			}
			for _, w := range ways {
				b.ReportMetric(median(w.name), w.name+"/s")
			}
			b.ReportMetric(median("hit")/median("get"), "hit/get")
			b.ReportMetric(median("get-again")/median("get"), "A/A")
		})
	}
}

// rate is how often callers did it in a second.
func rate(callers int, span time.Duration, do func()) float64 {
	var n atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range callers {
		wg.Go(func() {
			for time.Since(began) < span {
				do()
				n.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(n.Load()) / time.Since(began).Seconds()
}

// BenchmarkColdLoad is a miss, the lease and the fill: three round trips.
func BenchmarkColdLoad(b *testing.B) {
	c := newCache(b, newClient(b, sharedCluster(b)), lockcluster.Config{})
	load := func(context.Context, *lockcluster.Load) ([]byte, error) { return []byte("v"), nil }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Get(context.Background(), uniqueKey("cold"), load); err != nil {
			b.Fatal(err)
		}
	}
}
