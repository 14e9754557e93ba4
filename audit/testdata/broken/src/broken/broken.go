package broken

import (
	"context"

	"example.org/missing"
	"github.com/redis/go-redis/v9"
)

func keys(ctx context.Context, rdb *redis.ClusterClient) []string {
	missing.Call(undefined)
	return rdb.Keys(ctx, "*").Val()
}
