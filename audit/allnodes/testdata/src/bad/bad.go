package bad

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func sessions(ctx context.Context, rdb *redis.ClusterClient) ([]string, error) {
	return rdb.Keys(ctx, "session:*").Result() // want `KEYS on a ClusterClient reaches one node`
}
