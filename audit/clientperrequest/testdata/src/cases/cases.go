package cases

import (
	"context"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/gofiber/fiber/v2"
	"github.com/labstack/echo/v4"
	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
	"github.com/valyala/fasthttp"
)

func fiberHandler(c *fiber.Ctx) error {
	rdb := redis.NewClient(&redis.Options{}) // want `redis.NewClient in an HTTP handler`
	return c.SendString(rdb.Get(c.UserContext(), "a").Val())
}

func ginHandler(c *gin.Context) {
	rdb := redis.NewUniversalClient(&redis.UniversalOptions{}) // want `redis.NewUniversalClient in an HTTP handler`
	defer rdb.Close()
}

func echoHandler(c echo.Context) error {
	p, err := pool.New(c.Request().Context(), pool.Config{}) // want `pool.New in an HTTP handler`
	if err != nil {
		return err
	}
	return p.Close()
}

func fast(ctx *fasthttp.RequestCtx) {
	_ = redis.NewClient(&redis.Options{}) // want `redis.NewClient in an HTTP handler`
}

func routes() {
	r := chi.NewRouter()
	r.Get("/", func(w http.ResponseWriter, r *http.Request) {
		rdb := redis.NewClient(&redis.Options{}) // want `in an HTTP handler`
		rdb.Ping(r.Context())
	})
}

func inALoop(ctx context.Context, ids []string) {
	for _, id := range ids {
		rdb := redis.NewClient(&redis.Options{Addr: "10.0.0.1:6379"}) // want `redis.NewClient in a loop`
		rdb.Get(ctx, id)
	}
}

func viaHelper(w http.ResponseWriter, r *http.Request) { load(r.Context()) }

func load(ctx context.Context) { connect().Ping(ctx) }

func connect() *redis.Client {
	return redis.NewClient(&redis.Options{}) // want `in connect, which the HTTP handler viaHelper reaches`
}

type api struct{ rdb *redis.Client }

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c := redis.NewClient(&redis.Options{}); c != nil { // want `in an HTTP handler`
		c.Ping(r.Context())
	}
}

// An option of the process, with a reason not to care.
func okIgnored(w http.ResponseWriter, r *http.Request) {
	//rcctl:ignore clientperrequest one call a day, by hand
	rdb := redis.NewClient(&redis.Options{})
	rdb.Close()
}

func ignoredWithoutReason(w http.ResponseWriter, r *http.Request) {
	//rcctl:ignore clientperrequest
	rdb := redis.NewClient(&redis.Options{}) // want `gives no reason`
	rdb.Close()
}

func okStart(ctx context.Context) *redis.Client {
	rdb := redis.NewClient(&redis.Options{})
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { rdb.Ping(r.Context()) })
	return rdb
}

var (
	once   sync.Once
	shared *redis.Client
)

func okOnce(w http.ResponseWriter, r *http.Request) {
	once.Do(func() { shared = redis.NewClient(&redis.Options{}) })
	shared.Ping(r.Context())
}

func okLazy(w http.ResponseWriter, r *http.Request) {
	if shared == nil {
		shared = redis.NewClient(&redis.Options{})
	}
	shared.Ping(r.Context())
}

func okPerAddress(ctx context.Context, addrs []string) (out []*redis.Client) {
	for _, addr := range addrs {
		c := redis.NewClient(&redis.Options{Addr: addr})
		c.Ping(ctx)
	}
	for range addrs {
		out = append(out, redis.NewClient(&redis.Options{}))
	}
	return out
}

func okRetry(ctx context.Context) *redis.Client {
	for {
		c := redis.NewClient(&redis.Options{})
		if c.Ping(ctx).Err() == nil {
			return c
		}
	}
}

var (
	mu      sync.Mutex
	clients = map[string]*redis.Client{}
)

func okKept(w http.ResponseWriter, r *http.Request) {
	mu.Lock()
	defer mu.Unlock()
	c, ok := clients[r.Host]
	if !ok {
		c = redis.NewClient(&redis.Options{Addr: r.Host})
		clients[r.Host] = c
	}
	c.Ping(r.Context())
}

func okMiddleware(next http.Handler) http.Handler {
	rdb := redis.NewClient(&redis.Options{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rdb.Ping(r.Context())
		next.ServeHTTP(w, r)
	})
}
