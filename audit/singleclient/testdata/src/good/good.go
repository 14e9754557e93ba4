package good

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func profile(ctx context.Context, userID string) (string, error) {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"10.0.0.1:7000"}})
	defer rdb.Close()
	return rdb.Get(ctx, "{user:"+userID+"}:profile").Result()
}
