package bad

import (
	"context"

	"golang.org/x/sync/singleflight"
)

var flights singleflight.Group

func product(ctx context.Context, id string) (any, error) {
	v, err, _ := flights.Do(id, func() (any, error) {
		return query(ctx, id) // want `shared load runs on its caller's context`
	})
	return v, err
}

func query(ctx context.Context, id string) (string, error) { return "", nil }
