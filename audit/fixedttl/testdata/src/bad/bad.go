package bad

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

func warm(ctx context.Context, rdb *redis.ClusterClient, products map[string]string) {
	for id, p := range products {
		rdb.Set(ctx, "product:"+id, p, 5*time.Minute) // want `every key of this loop expires after the same 5m0s`
	}
}
