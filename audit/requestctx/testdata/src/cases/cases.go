package cases

import (
	"context"
	"log/slog"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/rcctl/rcctl/lockcluster"
	"github.com/valyala/fasthttp"
	"golang.org/x/sync/singleflight"
)

var (
	g     singleflight.Group
	cache lockcluster.Cache
)

func query(ctx context.Context, id string) (any, error) { return nil, nil }

func fiberHandler(c *fiber.Ctx) error {
	_, err, _ := g.Do("a", func() (any, error) {
		return query(c.UserContext(), "a") // want `runs on the request's context`
	})
	return err
}

func fast(ctx *fasthttp.RequestCtx) {
	g.Do("a", func() (any, error) {
		return query(ctx, "a") // want `runs on the request's context`
	})
}

func fiberFast(c *fiber.Ctx) error {
	ctx := c.Context()
	_, err, _ := g.Do("a", func() (any, error) {
		return query(ctx, "a") // want `runs on the request's context`
	})
	return err
}

func timeoutOutside(parent context.Context) {
	ctx, cancel := context.WithTimeout(parent, time.Second)
	defer cancel()
	<-g.DoChan("a", func() (any, error) {
		return query(ctx, "a") // want `runs on a timeout made outside the flight`
	})
}

func timeoutInsideOfCaller(ctx context.Context) {
	g.Do("a", func() (any, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second) // want `runs on its caller's context`
		defer cancel()
		return query(ctx, "a")
	})
}

func locked(ctx context.Context) ([]byte, error) {
	return cache.Get(ctx, "a", func(context.Context) ([]byte, error) {
		_, err := query(ctx, "a") // want `runs on its caller's context`
		return nil, err
	})
}

func named(c *fiber.Ctx) {
	ctx := c.UserContext()
	load := func() (any, error) {
		return query(ctx, "a") // want `runs on the request's context`
	}
	g.Do("a", load)
}

func okOwnContext(ctx context.Context) ([]byte, error) {
	return cache.Get(ctx, "a", func(ctx context.Context) ([]byte, error) {
		_, err := query(ctx, "a")
		return nil, err
	})
}

func okBackground(ctx context.Context) {
	g.Do("a", func() (any, error) { return query(context.Background(), "a") })
}

func okDetachedBefore(parent context.Context) {
	ctx := context.WithoutCancel(parent)
	g.Do("a", func() (any, error) { return query(ctx, "a") })
}

func derived(c *fiber.Ctx) {
	ctx, cancel := context.WithCancel(c.UserContext())
	defer cancel()
	g.Do("a", func() (any, error) { return query(ctx, "a") }) // want `runs on the request's context`
}

func detached(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

func okDerivedFromDetached(parent context.Context) {
	ctx, cancel := context.WithCancel(detached(parent))
	defer cancel()
	g.Do("a", func() (any, error) { return query(ctx, "a") })
}

func okLogs(ctx context.Context) {
	g.Do("a", func() (any, error) {
		slog.InfoContext(ctx, "load")
		return query(context.WithoutCancel(ctx), "a")
	})
}

func okValue(ctx context.Context) {
	g.Do("a", func() (any, error) { return ctx.Value("user"), nil })
}

func okOutside(ctx context.Context) (any, error) {
	v, err, _ := g.Do("a", func() (any, error) { return 1, nil })
	if err != nil {
		return query(ctx, "a")
	}
	return v, nil
}

func okNotShared(ctx context.Context, do func(func() (any, error))) {
	do(func() (any, error) { return query(ctx, "a") })
}

func okParams(c *fiber.Ctx) {
	g.Do("a", func() (any, error) { return query(context.Background(), c.Params("id")) })
}
