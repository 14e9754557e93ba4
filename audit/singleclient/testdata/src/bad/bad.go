package bad

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func profile(ctx context.Context, userID string) (string, error) {
	rdb := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"10.0.0.1:7000"}}) // want `redis.NewUniversalClient for one address, but this package's keys have hash tags`
	defer rdb.Close()
	return rdb.Get(ctx, "{user:"+userID+"}:profile").Result()
}
