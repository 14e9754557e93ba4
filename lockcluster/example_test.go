package lockcluster_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/rcctl/rcctl/lockcluster"
	"github.com/redis/go-redis/v9"
)

func client() *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:7000"}, ContextTimeoutEnabled: true})
}

func Example() {
	cache, err := lockcluster.New(client(), lockcluster.Config{
		Fresh:  5*time.Minute + 30*time.Second, // base + rand(0..30 s), as an upper bound
		Jitter: 30 * time.Second,
		Stale:  10 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer cache.Close(context.Background())

	r, err := cache.Get(context.Background(), "product:1001", func(ctx context.Context, l *lockcluster.Load) ([]byte, error) {
		return []byte("the slow query"), nil // once, however many ask
	})
	var le *lockcluster.LoadError
	switch {
	case errors.Is(err, lockcluster.ErrNotFound):
		fmt.Println("404")
	case errors.As(err, &le):
		fmt.Println("500", le.Reason)
	case err != nil:
		fmt.Println("408")
	default:
		fmt.Println(r.XCache(), r.Shared, string(r.Value))
	}
}

func ExampleTyped() {
	cache, err := lockcluster.New(client(), lockcluster.Config{})
	if err != nil {
		log.Fatal(err)
	}
	type product struct{ Name string }
	products := lockcluster.NewTyped[product](cache, nil)
	p, _, err := products.Get(context.Background(), "product:1001", func(ctx context.Context, l *lockcluster.Load) (product, error) {
		return product{"chair"}, nil
	})
	fmt.Println(p.Name, err)
}

func ExampleCache_GetMany() {
	cache, err := lockcluster.New(client(), lockcluster.Config{})
	if err != nil {
		log.Fatal(err)
	}
	items := cache.GetMany(context.Background(), []string{"product:1", "product:2"}, func(ctx context.Context, b *lockcluster.Batch) error {
		for _, key := range b.Keys() { // one query for all that is missing
			b.Set(key, []byte("..."))
		}
		return nil
	})
	for _, it := range items {
		fmt.Println(it.Key, it.Source, it.Err)
	}
}

func ExampleLocker() {
	locker, err := lockcluster.NewLocker(client(), lockcluster.LockerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close(context.Background())
	lock, err := locker.TryAcquire(context.Background(), "report:daily")
	if errors.Is(err, lockcluster.ErrNotObtained) {
		return // somebody else makes it
	}
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Release(context.Background())
	select {
	case <-lock.Lost(): // stop
	case <-time.After(time.Second): // the work; hand lock.Fence() to what it writes to
	}
}
