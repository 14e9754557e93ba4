package cases

import (
	"context"

	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
)

func chained(ctx context.Context, rdb *redis.Client) string {
	ch := rdb.Subscribe(ctx, "a").Channel() // want `subscription never closed`
	m := <-ch
	return m.Payload
}

func dropped(ctx context.Context, rdb redis.UniversalClient) {
	rdb.PSubscribe(ctx, "a*") // want `subscription never closed`
}

func conn(ctx context.Context, rdb *redis.Client) error {
	c := rdb.Conn() // want `connection never closed`
	return c.Ping(ctx).Err()
}

func client(ctx context.Context) error {
	c := redis.NewClient(&redis.Options{}) // want `client never closed`
	return c.Ping(ctx).Err()
}

func cluster(ctx context.Context) error {
	p, err := pool.New(ctx, pool.Config{}) // want `pool never closed`
	if p == nil {
		return err
	}
	return nil
}

func loopWithExit(ctx context.Context, rdb *redis.ClusterClient) {
	sub := rdb.SSubscribe(ctx, "a") // want `subscription never closed`
	for {
		if _, err := sub.Receive(ctx); err != nil {
			return
		}
	}
}

func inGoroutine(ctx context.Context, rdb *redis.Client) {
	go func() {
		sub := rdb.Subscribe(ctx, "a") // want `subscription never closed`
		sub.Receive(ctx)
	}()
}

func okReturned(ctx context.Context, rdb *redis.Client) *redis.PubSub {
	sub := rdb.Subscribe(ctx, "a")
	sub.Receive(ctx)
	return sub
}

func okPassedOn(ctx context.Context, rdb *redis.Client) {
	sub := rdb.Subscribe(ctx, "a")
	go consume(sub)
}

func consume(s *redis.PubSub) { defer s.Close() }

type hub struct{ sub *redis.PubSub }

func (h *hub) okStored(ctx context.Context, rdb *redis.Client) {
	h.sub = rdb.Subscribe(ctx, "a")
}

func okLiteral(ctx context.Context, rdb *redis.Client) *hub {
	sub := rdb.Subscribe(ctx, "a")
	return &hub{sub: sub}
}

func okForever(ctx context.Context, rdb *redis.Client) {
	sub := rdb.Subscribe(ctx, "a")
	for m := range sub.Channel() {
		println(m.Payload)
	}
}

func okClosedInLiteral(ctx context.Context, rdb *redis.Client) func() {
	c := rdb.Conn()
	return func() { c.Close() }
}

func okMethodValue(ctx context.Context, cleanup func(func() error)) {
	c := redis.NewClient(&redis.Options{})
	cleanup(c.Close)
	c.Ping(ctx)
}

func okClosed(ctx context.Context) error {
	c := redis.NewClient(&redis.Options{})
	defer func() { _ = c.Close() }()
	return c.Ping(ctx).Err()
}
