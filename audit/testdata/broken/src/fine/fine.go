package fine

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func info(ctx context.Context, rdb *redis.ClusterClient) string { return rdb.Info(ctx).Val() }
