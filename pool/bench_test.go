package pool_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/pool"
)

// BenchmarkOverhead compares the client of a pool with a plain one that has the
// same options: what the hooks cost. A/A is the plain one once more.
func BenchmarkOverhead(b *testing.B) {
	c := clustertest.Run(b, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
	ctx := context.Background()
	var opt redis.ClusterOptions
	p, err := pool.New(ctx, pool.Config{Addrs: c.Addrs(), Logger: quiet, Tune: func(o *redis.ClusterOptions) { opt = *o }})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	opt.Dialer = nil
	plain := redis.NewClusterClient(&opt)
	defer plain.Close()
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = "key" + strconv.Itoa(i)
		if err := plain.Set(ctx, keys[i], "value", 0).Err(); err != nil {
			b.Fatal(err)
		}
	}
	for _, row := range []struct {
		name   string
		client *redis.ClusterClient
	}{{"plain", plain}, {"pool", p.Client()}, {"plain-again", plain}} {
		b.Run("op=get/client="+row.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := row.client.Get(ctx, keys[i%len(keys)]).Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("op=get-parallel/client="+row.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					if err := row.client.Get(ctx, keys[i%len(keys)]).Err(); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
		b.Run("op=pipeline100/client="+row.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := row.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
					for j := range 100 {
						pipe.Get(ctx, keys[(i+j)%len(keys)])
					}
					return nil
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The hooks allocate nothing per command.
func TestTheHooksAllocateNothing(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
	ctx := t.Context()
	var opt redis.ClusterOptions
	p, err := pool.New(ctx, pool.Config{Addrs: c.Addrs(), MinIdleConns: -1, Logger: quiet, Tune: func(o *redis.ClusterOptions) { opt = *o }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	opt.Dialer = nil
	plain := redis.NewClusterClient(&opt)
	defer plain.Close()
	count := func(cl *redis.ClusterClient) float64 {
		cl.Set(ctx, "k", "v", 0)
		return testing.AllocsPerRun(500, func() { cl.Get(ctx, "k") })
	}
	if a, b := count(plain), count(p.Client()); b > a+0.9 {
		t.Errorf("%.2f allocations per GET, plain go-redis %.2f", b, a)
	}
}
