package pool

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// BenchmarkHooks is what the hooks of one node add to a command.
func BenchmarkHooks(b *testing.B) {
	cfg, err := Config{Addrs: []string{"h:1"}}.resolve()
	if err != nil {
		b.Fatal(err)
	}
	c := newCore(cfg)
	defer c.end()
	n := c.nodes.get("h:1")
	hooks := []redis.Hook{
		&observerHook{n: &nodeCounters{addr: "h:1"}},
		&guardHook{c: c, n: n},
		&topologyHook{addr: "h:1", topo: c.topo},
	}
	process := func(context.Context, redis.Cmder) error { return nil }
	pipeline := func(context.Context, []redis.Cmder) error { return nil }
	for i := len(hooks) - 1; i >= 0; i-- {
		process = hooks[i].ProcessHook(process)
		pipeline = hooks[i].ProcessPipelineHook(pipeline)
	}
	ctx := context.Background()
	deadline, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	cmd := redis.NewStringCmd(ctx, "get", "key")
	cmds := make([]redis.Cmder, 100)
	for i := range cmds {
		cmds[i] = redis.NewStringCmd(ctx, "get", "key")
	}
	b.Run("op=single", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = process(ctx, cmd)
		}
	})
	b.Run("op=single-deadline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = process(deadline, cmd)
		}
	})
	b.Run("op=single-parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_ = process(ctx, cmd)
			}
		})
	})
	b.Run("op=pipeline100", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = pipeline(ctx, cmds)
		}
	})
}
