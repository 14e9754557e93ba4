package good

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

func warm(ctx context.Context, rdb *redis.ClusterClient, products map[string]string) {
	for id, p := range products {
		rdb.Set(ctx, "product:"+id, p, 5*time.Minute+rand.N(30*time.Second))
	}
}
