package bad

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var mu sync.Mutex

func product(ctx context.Context, rdb *redis.ClusterClient, id string) (string, error) {
	if v, err := rdb.Get(ctx, "product:"+id).Result(); err == nil {
		return v, nil
	}
	mu.Lock()
	defer mu.Unlock()
	v, err := query(ctx, id)
	if err != nil {
		return "", err
	}
	return v, rdb.Set(ctx, "product:"+id, v, time.Minute).Err() // want `one mutex serialises all keys; the cache is not read again`
}

func query(ctx context.Context, id string) (string, error) { return "", nil }
