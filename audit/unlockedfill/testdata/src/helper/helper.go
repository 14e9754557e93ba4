package helper

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

var RDB *redis.ClusterClient

// Cached is the innocent decorator.
func Cached[T any](ctx context.Context, key string, ttl time.Duration, load func(context.Context) (T, error)) (T, error) { // want Cached:"unlocked fill helper"
	var v T
	if err := RDB.Get(ctx, key).Scan(&v); err == nil {
		return v, nil
	}
	v, err := load(ctx)
	if err != nil {
		return v, err
	}
	return v, RDB.Set(ctx, key, v, ttl).Err() // want `helper Cached fills a cache without a lock, called in 14 places`
}

func query(ctx context.Context) (int, error) { return 0, nil }

func endpoint0(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:0", 300*time.Second, query) // want `by Cached`
}

func endpoint1(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:1", 300*time.Second, query) // want `by Cached`
}

func endpoint2(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:2", 300*time.Second, query) // want `by Cached`
}

func endpoint3(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:3", 300*time.Second, query) // want `by Cached`
}

func endpoint4(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:4", 300*time.Second, query) // want `by Cached`
}

func endpoint5(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:5", 300*time.Second, query) // want `by Cached`
}

func endpoint6(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:6", 300*time.Second, query) // want `by Cached`
}

func endpoint7(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:7", 300*time.Second, query) // want `by Cached`
}

func endpoint8(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:8", 300*time.Second, query) // want `by Cached`
}

func endpoint9(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:9", 300*time.Second, query) // want `by Cached`
}

func endpoint10(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:10", 300*time.Second, query) // want `by Cached`
}

func endpoint11(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:11", 300*time.Second, query) // want `by Cached`
}

func endpoint12(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:12", 300*time.Second, query) // want `by Cached`
}

func endpoint13(ctx context.Context) (int, error) {
	return Cached(ctx, "endpoint:13", 300*time.Second, query) // want `by Cached`
}

func Decorate(key string, load func() (string, error)) func(context.Context) (string, error) { // want Decorate:"unlocked fill helper"
	return func(ctx context.Context) (string, error) {
		if v, err := RDB.Get(ctx, key).Result(); err == nil {
			return v, nil
		}
		v, err := load()
		if err == nil {
			RDB.Set(ctx, key, v, time.Minute) // want `helper Decorate fills a cache without a lock, called in 0 places`
		}
		return v, err
	}
}
