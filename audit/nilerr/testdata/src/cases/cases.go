package cases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var ErrNotFound = errors.New("not found")

func query(ctx context.Context, id string) (string, error) { return "", nil }

func inIf(ctx context.Context, rdb *redis.Client, id string) (string, error) {
	if v, err := rdb.Get(ctx, id).Result(); err == nil { // want `every error of this read`
		return v, nil
	}
	v, err := query(ctx, id)
	if err == nil {
		rdb.Set(ctx, id, v, time.Minute)
	}
	return v, err
}

func notEqual(ctx context.Context, rdb *redis.Client, id string) string {
	v, err := rdb.Get(ctx, id).Result() // want `every error of this read`
	if err != nil {
		v, _ = query(ctx, id)
		rdb.Set(ctx, id, v, time.Minute)
	}
	return v
}

func notFound(ctx context.Context, rdb redis.Cmdable, id string) (string, error) {
	v, err := rdb.Get(ctx, id).Result() // want `every error of this read`
	if err != nil {
		return "", ErrNotFound
	}
	return v, nil
}

func dropped(ctx context.Context, rdb *redis.Client, id string) string {
	v, _ := rdb.Get(ctx, id).Result() // want `every error of this read`
	if v == "" {
		v, _ = query(ctx, id)
		rdb.Set(ctx, id, v, time.Minute)
	}
	return v
}

func hash(ctx context.Context, rdb *redis.ClusterClient, id string) ([]byte, error) {
	b, err := rdb.HGet(ctx, "h:"+id, "name").Bytes() // want `every error of this read`
	if err == nil {
		return b, nil
	}
	v, err := query(ctx, id)
	if err != nil {
		return nil, err
	}
	rdb.HSet(ctx, "h:"+id, "name", v)
	return []byte(v), nil
}

func scan(ctx context.Context, rdb *redis.Client, id string) (n int, err error) {
	if err := rdb.Get(ctx, id).Scan(&n); err != nil { // want `every error of this read`
		return 0, ErrNotFound
	}
	return n, nil
}

func okAsks(ctx context.Context, rdb *redis.Client, id string) (string, error) {
	v, err := rdb.Get(ctx, id).Result()
	if err == redis.Nil {
		v, err = query(ctx, id)
		rdb.Set(ctx, id, v, time.Minute)
	}
	return v, err
}

func okReturned(ctx context.Context, rdb *redis.Client, id string) (string, error) {
	v, err := rdb.Get(ctx, id).Result()
	if err != nil {
		return "", fmt.Errorf("read %s: %w", id, err)
	}
	rdb.Set(ctx, id, v+"x", time.Minute)
	return v, nil
}

func okSwitch(ctx context.Context, rdb *redis.Client, id string) string {
	v, err := rdb.Get(ctx, id).Result()
	switch {
	case errors.Is(err, redis.Nil):
		v, _ = query(ctx, id)
		rdb.Set(ctx, id, v, time.Minute)
	case err != nil:
		panic("redis is down")
	}
	return v
}

func isMiss(err error) bool { return errors.Is(err, redis.Nil) }

func okHelper(ctx context.Context, rdb *redis.Client, id string) (string, error) {
	v, err := rdb.Get(ctx, id).Result()
	if err != nil && isMiss(err) {
		return "", ErrNotFound
	}
	return v, nil
}

func okFailed(ctx context.Context, rdb *redis.Client, id string) (string, error) {
	v, err := rdb.Get(ctx, id).Result()
	if err != nil {
		return "", errors.New("internal error")
	}
	return v, nil
}

func okNoMiss(ctx context.Context, rdb *redis.Client, id string) string {
	v, _ := rdb.Get(ctx, id).Result()
	return v
}

func okLogged(ctx context.Context, rdb *redis.Client, id string, log func(...any)) string {
	v, err := rdb.Get(ctx, id).Result()
	if err != nil {
		log("redis", err)
		v, _ = query(ctx, id)
		rdb.Set(ctx, id, v, time.Minute)
	}
	return v
}

func okOtherKey(ctx context.Context, rdb *redis.Client, id string) string {
	v, err := rdb.Get(ctx, "a:"+id).Result()
	if err != nil {
		v = "default"
	}
	rdb.Set(ctx, "b:"+id, v, time.Minute)
	return v
}
