package good

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

func sessions(ctx context.Context, rdb *redis.ClusterClient) ([]string, error) {
	var mu sync.Mutex
	var all []string
	err := rdb.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		keys, err := master.Keys(ctx, "session:*").Result()
		mu.Lock()
		defer mu.Unlock()
		all = append(all, keys...)
		return err
	})
	return all, err
}
