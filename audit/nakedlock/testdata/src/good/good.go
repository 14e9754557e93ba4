package good

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"
)

var release = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end`)

func checkout(ctx context.Context, rdb *redis.ClusterClient, order string) error {
	key, token := "lock:"+order, rand.Text()
	ok, err := rdb.SetNX(ctx, key, token, 30*time.Second).Result()
	if err != nil || !ok {
		return err
	}
	defer release.Run(ctx, rdb, []string{key}, token)
	return pay(ctx, order)
}

func pay(ctx context.Context, order string) error { return nil }
