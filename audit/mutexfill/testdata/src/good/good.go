package good

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

var flights singleflight.Group

func product(ctx context.Context, rdb *redis.ClusterClient, id string) (any, error) {
	if v, err := rdb.Get(ctx, "product:"+id).Result(); err == nil {
		return v, nil
	}
	v, err, _ := flights.Do(id, func() (any, error) {
		v, err := query(context.WithoutCancel(ctx), id)
		if err == nil {
			rdb.Set(context.WithoutCancel(ctx), "product:"+id, v, time.Minute)
		}
		return v, err
	})
	return v, err
}

func query(ctx context.Context, id string) (string, error) { return "", nil }
