package cases

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const ttl = 300 * time.Second

func load(id string) (string, error) { return id, nil }

func a(ctx context.Context, rdb *redis.Client, id string) {
	if rdb.Get(ctx, "a:"+id).Err() != nil {
		v, _ := load(id)
		rdb.Set(ctx, "a:"+id, v, ttl) // want `3 cache fills of this package live exactly 5m0s`
	}
}

func b(ctx context.Context, rdb *redis.Client, id string) {
	if rdb.Get(ctx, "b:"+id).Err() != nil {
		v, _ := load(id)
		rdb.Set(ctx, "b:"+id, v, 5*time.Minute) // want `3 cache fills`
	}
}

func c(ctx context.Context, rdb *redis.Client, id string) {
	if rdb.Get(ctx, "c:"+id).Err() != nil {
		v, _ := load(id)
		rdb.SetEx(ctx, "c:"+id, v, ttl) // want `3 cache fills`
	}
}

func pipelined(ctx context.Context, rdb *redis.Client, ids []string) {
	pipe := rdb.Pipeline()
	for _, id := range ids {
		pipe.Set(ctx, id, "x", ttl) // want `every key of this loop`
	}
	pipe.Exec(ctx)
}

func local(ctx context.Context, rdb redis.Cmdable, ids []string) {
	d := time.Hour
	for i := range ids {
		key := "k:" + ids[i]
		rdb.SetEx(ctx, key, "x", d) // want `every key of this loop expires after the same 1h0m0s`
	}
}

func okTwoOnly(ctx context.Context, rdb *redis.Client, id string) {
	if rdb.Get(ctx, "d:"+id).Err() != nil {
		v, _ := load(id)
		rdb.Set(ctx, "d:"+id, v, time.Hour)
	}
}

func okParameter(ctx context.Context, rdb *redis.Client, ids []string, d time.Duration) {
	for _, id := range ids {
		rdb.Set(ctx, id, "x", d)
	}
}

func okJitter(ctx context.Context, rdb *redis.Client, ids []string, jitter func() time.Duration) {
	for _, id := range ids {
		rdb.Set(ctx, id, "x", ttl+jitter())
	}
}

func okForever(ctx context.Context, rdb *redis.Client, ids []string) {
	for _, id := range ids {
		rdb.Set(ctx, id, "x", 0)
	}
}

func okOneKey(ctx context.Context, rdb *redis.Client, ids []string) {
	for range ids {
		rdb.Set(ctx, "heartbeat", "x", ttl)
	}
}

func okChannel(ctx context.Context, rdb *redis.Client, ids chan string) {
	for id := range ids {
		rdb.Set(ctx, id, "x", ttl)
	}
}

func okNoFill(ctx context.Context, rdb *redis.Client, id string) { rdb.Set(ctx, "s:"+id, "x", ttl) }
