package elsewhere

import (
	"context"
	"time"

	"helper"

	"golang.org/x/sync/singleflight"
)

var g singleflight.Group

func query(ctx context.Context) (string, error) { return "", nil }

func page(ctx context.Context) (string, error) {
	return helper.Cached(ctx, "page", time.Minute, query) // want `by Cached \(helper.go:\d+\)`
}

var decorated = helper.Decorate

func okFlight(ctx context.Context) (any, error) {
	v, err, _ := g.Do("page", func() (any, error) {
		return helper.Cached(ctx, "page", time.Minute, query)
	})
	return v, err
}
