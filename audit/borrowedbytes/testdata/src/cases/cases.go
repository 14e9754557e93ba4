package cases

import (
	"bytes"
	"context"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/redis/go-redis/v9"
	"github.com/valyala/fasthttp"
	"golang.org/x/sync/singleflight"
)

type lruCache struct{}

func (*lruCache) Set(key string, value any) {}

type svc struct {
	rdb   *redis.Client
	cache *lruCache
	last  []byte
	all   sync.Map
	g     singleflight.Group
	queue chan []byte
}

func use(any) {}

func (s *svc) field(ctx *fasthttp.RequestCtx) {
	s.last = ctx.PostBody() // want `stored where it outlives the request`
}

func (s *svc) syncMap(c *fiber.Ctx) error {
	s.all.Store(c.Query("q"), 1) // want `stored in a cache`
	return nil
}

func (s *svc) lru(c *fiber.Ctx) error {
	body := c.Body()
	s.cache.Set("body", body) // want `stored in a cache`
	return nil
}

func (s *svc) channel(ctx *fasthttp.RequestCtx) {
	s.queue <- ctx.QueryArgs().Peek("q") // want `sent on a channel`
}

func (s *svc) goroutine(c *fiber.Ctx) error {
	id := c.Params("id")
	go func() {
		use(id) // want `used in a goroutine`
	}()
	go use(c.Get("X-Id")) // want `passed to a goroutine`
	return nil
}

func (s *svc) flight(c *fiber.Ctx) error {
	id := c.Params("id")
	<-s.g.DoChan(id, func() (any, error) { return nil, nil }) // want `the key of a flight`
	return nil
}

func (s *svc) loader(c *fiber.Ctx) error {
	id := c.Params("id")
	<-s.g.DoChan("a", func() (any, error) {
		use(id) // want `used in a goroutine`
		return nil, nil
	})
	return nil
}

func (s *svc) okCloned(c *fiber.Ctx) error {
	id := strings.Clone(c.Params("id"))
	s.cache.Set(id, bytes.Clone(c.Body()))
	go use(id)
	return nil
}

func (s *svc) okString(ctx *fasthttp.RequestCtx) {
	s.cache.Set(string(ctx.Path()), append([]byte(nil), ctx.PostBody()...))
}

func (s *svc) okRedis(c *fiber.Ctx) error {
	return s.rdb.Set(context.Background(), c.Params("id"), c.Body(), 0).Err()
}

func (s *svc) okLocalMap(c *fiber.Ctx) error {
	m := map[string]string{}
	m[c.Params("id")] = c.Query("q")
	return c.JSON(m)
}

func (s *svc) okRead(c *fiber.Ctx) error {
	if _, ok := s.all.Load(c.Params("id")); ok {
		return nil
	}
	return c.SendString(c.Params("id"))
}

func (s *svc) okSameGoroutine(c *fiber.Ctx) error {
	id := c.Params("id")
	s.g.Do(id, func() (any, error) { use(id); return nil, nil })
	func() { use(id) }()
	return nil
}

func (s *svc) okUserValue(ctx *fasthttp.RequestCtx) { s.cache.Set("u", ctx.UserValue("u")) }
