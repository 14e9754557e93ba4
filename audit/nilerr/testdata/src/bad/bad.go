package bad

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

func name(ctx context.Context, rdb *redis.ClusterClient, id string) (string, error) {
	v, err := rdb.Get(ctx, "name:"+id).Result() // want `every error of this read is taken for a missing key`
	if err == nil {
		return v, nil
	}
	v, err = query(ctx, id)
	if err != nil {
		return "", err
	}
	rdb.Set(ctx, "name:"+id, v, time.Minute)
	return v, nil
}

func query(ctx context.Context, id string) (string, error) { return "", nil }
