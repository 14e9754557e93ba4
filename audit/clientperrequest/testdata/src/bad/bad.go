package bad

import (
	"net/http"

	"github.com/redis/go-redis/v9"
)

func product(w http.ResponseWriter, r *http.Request) {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"10.0.0.1:7000"}}) // want `redis.NewClusterClient in an HTTP handler`
	defer rdb.Close()
	w.Write([]byte(rdb.Get(r.Context(), "product:1001").Val()))
}
