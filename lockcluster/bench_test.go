package lockcluster_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rcctl/rcctl/lockcluster"
)

// BenchmarkHit compares a hit with a plain GET of the same size through the
// same client. The second GET is the A/A row: what it differs from the first is
// noise.
func BenchmarkHit(b *testing.B) {
	cluster := sharedCluster(b)
	client := newClient(b, cluster)
	c := newCache(b, client, lockcluster.Config{})
	ctx, key, raw := context.Background(), uniqueKey("bench"), uniqueKey("raw")
	value := strings.Repeat("x", 1000)
	load := func(context.Context, *lockcluster.Load) ([]byte, error) { return []byte(value), nil }
	for range 2 {
		if _, err := c.Get(ctx, key, load); err != nil {
			b.Fatal(err)
		}
	}
	client.Set(ctx, raw, value+strings.Repeat("h", lockcluster.HeaderLen), 0)
	get := func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := client.Get(ctx, raw).Bytes(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	hit := func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if r, err := c.Get(ctx, key, load); err != nil || !r.Source.Hit() {
					b.Error(r.Source, err)
				}
			}
		})
	}
	b.Run("op=get", get)
	b.Run("op=hit", hit)
	b.Run("op=get-again", get)
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
