// Package pool has the shapes of rcctl's pool.
package pool

import (
	"context"

	"github.com/redis/go-redis/v9"
)

type Config struct{ Addrs []string }
type Cluster struct{}

func New(ctx context.Context, c Config) (*Cluster, error) { return &Cluster{}, nil }
func (*Cluster) Client() *redis.ClusterClient             { return nil }
func (*Cluster) Close() error                             { return nil }
