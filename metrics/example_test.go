package metrics_test

import (
	"context"
	"log"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rcctl/rcctl/health"
	"github.com/rcctl/rcctl/lockcluster"
	"github.com/rcctl/rcctl/metrics"
	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
)

func Example() {
	c, err := pool.New(context.Background(), pool.Config{Name: "shop", Addrs: []string{"127.0.0.1:7000"}})
	if err != nil {
		log.Fatal(err)
	}
	cache, err := lockcluster.New(c.Client(), lockcluster.Config{})
	if err != nil {
		log.Fatal(err)
	}
	checker, err := health.New(health.Config{Client: c.Client()})
	if err != nil {
		log.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(
		metrics.Pool(c),
		metrics.Cache("products", cache),
		metrics.Health("shop", checker),
	)
	http.Handle("/metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
}

func ExampleServers() {
	servers, err := metrics.Servers(metrics.ServersConfig{
		Name:    "shop",
		Options: &redis.ClusterOptions{Addrs: []string{"127.0.0.1:7000"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	prometheus.MustRegister(servers)
}

func ExampleClient() {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:7000"}})
	prometheus.MustRegister(metrics.Client("plain", pool.Observe(rdb)))
}
