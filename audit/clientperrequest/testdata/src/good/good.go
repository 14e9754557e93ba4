package good

import (
	"net/http"

	"github.com/redis/go-redis/v9"
)

type server struct{ rdb *redis.ClusterClient }

func newServer() *server {
	return &server{rdb: redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"10.0.0.1:7000"}})}
}

func (s *server) product(w http.ResponseWriter, r *http.Request) {
	w.Write([]byte(s.rdb.Get(r.Context(), "product:1001").Val()))
}
