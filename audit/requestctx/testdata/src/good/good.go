package good

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
)

var flights singleflight.Group

func product(ctx context.Context, id string) (any, error) {
	ch := flights.DoChan(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		return query(ctx, id)
	})
	select {
	case res := <-ch:
		return res.Val, res.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func query(ctx context.Context, id string) (string, error) { return "", nil }
