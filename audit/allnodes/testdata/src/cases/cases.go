package cases

import (
	"context"

	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
)

type store struct{ *redis.ClusterClient }

type app struct{ rdb *redis.ClusterClient }

func scan(ctx context.Context, rdb *redis.ClusterClient) {
	var cursor uint64
	rdb.Scan(ctx, cursor, "*", 100)               // want `SCAN on a ClusterClient`
	rdb.ScanType(ctx, cursor, "*", 100, "string") // want `SCAN on a ClusterClient`
}

func flush(ctx context.Context, a *app) error {
	a.rdb.FlushDB(ctx)               // want `FLUSHDB on a ClusterClient`
	return a.rdb.FlushAll(ctx).Err() // want `FLUSHALL on a ClusterClient`
}

func embedded(ctx context.Context, s store) string {
	return s.Info(ctx, "memory").Val() // want `INFO on a ClusterClient`
}

func fromPool(ctx context.Context, c *pool.Cluster) {
	c.Client().Keys(ctx, "a*") // want `KEYS on a ClusterClient`
}

func okDBSize(ctx context.Context, rdb *redis.ClusterClient) int64 { return rdb.DBSize(ctx).Val() }

func okSingle(ctx context.Context, rdb *redis.Client) []string { return rdb.Keys(ctx, "*").Val() }

func okUniversal(ctx context.Context, rdb redis.UniversalClient) string { return rdb.Info(ctx).Val() }

func okShards(ctx context.Context, rdb *redis.ClusterClient) error {
	return rdb.ForEachShard(ctx, func(ctx context.Context, node *redis.Client) error {
		return node.Info(ctx).Err()
	})
}

func okKeyed(ctx context.Context, rdb *redis.ClusterClient) string { return rdb.Get(ctx, "keys").Val() }

type fake struct{}

func (fake) Keys(ctx context.Context, pattern string) []string { return nil }

func okOther(ctx context.Context, f fake) []string { return f.Keys(ctx, "*") }

func okIgnored(ctx context.Context, rdb *redis.ClusterClient) string {
	return rdb.Info(ctx).Val() //rcctl:ignore allnodes any node's version will do
}
