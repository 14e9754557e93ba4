package cases

import (
	"context"
	"os"

	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
)

type config struct {
	RedisClusterAddr string
	RedisAddr        string
	Nodes            []string
	clusterNodes     []string
}

func sameAddress(ctx context.Context) {
	redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"10.0.0.1:7000", "10.0.0.2:7000"}})
	redis.NewClient(&redis.Options{Addr: "10.0.0.2:7000"}) // want `redis.NewClient for 10.0.0.2:7000, which a cluster client`
	pool.New(ctx, pool.Config{Addrs: []string{"10.0.1.1:7000"}})
	redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"10.0.1.1:7000"}}) // want `redis.NewUniversalClient for 10.0.1.1:7000`
}

func names(c config, clusterAddr string) {
	redis.NewClient(&redis.Options{Addr: c.RedisClusterAddr})                                     // want `named a cluster`
	redis.NewClient(&redis.Options{Addr: clusterAddr})                                            // want `named a cluster`
	redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_CLUSTER")})                             // want `named a cluster`
	redis.NewClient(&redis.Options{Addr: "clustercfg.prod.abc123.euw1.cache.amazonaws.com:6379"}) // want `named a cluster`
	opt := &redis.Options{Addr: "redis-cluster:6379"}
	redis.NewClient(opt) // want `named a cluster`
}

func okOther() { redis.NewClient(&redis.Options{Addr: "10.9.9.9:6379"}) }

func okNamed(c config) { redis.NewClient(&redis.Options{Addr: c.RedisAddr}) }

func okSentinel() {
	redis.NewUniversalClient(&redis.UniversalOptions{MasterName: "m", Addrs: []string{"10.0.0.1:7000"}})
}

func okClusterMode() {
	redis.NewUniversalClient(&redis.UniversalOptions{IsClusterMode: true, Addrs: []string{"10.0.0.1:7000"}})
}

func okManyAddresses(c config) {
	redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"10.0.0.1:7000", "10.0.0.2:7000"}})
	redis.NewUniversalClient(&redis.UniversalOptions{Addrs: c.Nodes})
}

func okKubernetes() {
	redis.NewClient(&redis.Options{Addr: "redis.default.svc.cluster.local:6379"})
}

func okOneNode(c config) { redis.NewClient(&redis.Options{Addr: c.clusterNodes[0]}) }

func okTags(ctx context.Context, rdb *redis.ClusterClient) { rdb.Get(ctx, "{a}:b") }
