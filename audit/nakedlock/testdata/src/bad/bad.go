package bad

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

func checkout(ctx context.Context, rdb *redis.ClusterClient, order string) error {
	ok, err := rdb.SetNX(ctx, "lock:"+order, "1", 30*time.Second).Result() // want `released by a plain DEL.*constant value`
	if err != nil || !ok {
		return err
	}
	defer rdb.Del(ctx, "lock:"+order)
	return pay(ctx, order)
}

func pay(ctx context.Context, order string) error { return nil }
