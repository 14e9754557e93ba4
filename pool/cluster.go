package pool

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// A Cluster is a cluster client that was checked at boot.
type Cluster struct {
	client   *redis.ClusterClient
	observer *Observer
}

// New makes a client, checks the cluster with it, and warms its pools up.
func New(ctx context.Context, cfg Config) (*Cluster, error) { panic("to be written") }

// Client is the go-redis client, plain and complete. Do not close it; close
// the Cluster.
func (c *Cluster) Client() *redis.ClusterClient { return c.client }

// Observer counts what the nodes answered to this client.
func (c *Cluster) Observer() *Observer { return c.observer }

// Close closes the client and all its connections.
func (c *Cluster) Close() error { panic("to be written") }
