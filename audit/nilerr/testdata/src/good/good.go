package good

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/redis/go-redis/v9"
)

func name(ctx context.Context, rdb *redis.ClusterClient, id string) (string, error) {
	v, err := rdb.Get(ctx, "name:"+id).Result()
	if err == nil {
		return v, nil
	}
	if !errors.Is(err, redis.Nil) {
		log.Printf("read name %s: %v", id, err) // Redis is sick: go to the source, and say so
	}
	v, err = query(ctx, id)
	if err != nil {
		return "", err
	}
	rdb.Set(ctx, "name:"+id, v, time.Minute)
	return v, nil
}

func query(ctx context.Context, id string) (string, error) { return "", nil }
