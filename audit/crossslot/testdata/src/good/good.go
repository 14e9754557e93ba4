package good

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func profile(ctx context.Context, rdb *redis.ClusterClient, userID string) ([]any, error) {
	return rdb.MGet(ctx, "{user:"+userID+"}:profile", "{user:"+userID+"}:settings").Result()
}
