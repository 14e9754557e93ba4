package clustertest

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
)

// A Cluster is a running cluster. Its methods may be called concurrently.
type Cluster struct{}

// Start starts a cluster and returns when it is ready: all slots served, all
// nodes agree, replicas linked. The caller closes it.
func Start(ctx context.Context, o Options) (*Cluster, error) { panic("to be written") }

// Run starts a cluster for a test or a benchmark and closes it when that
// ends. When the backend needs a server binary that is not installed the test
// is skipped, or fails if RCCTL_REQUIRE_REDIS=1.
func Run(tb testing.TB, o Options) *Cluster { panic("to be written") }

// Caps says what this cluster can do.
func (c *Cluster) Caps() Caps { panic("to be written") }

// Addrs are the announced addresses of all nodes, masters first.
func (c *Cluster) Addrs() []string { panic("to be written") }

// ClientOptions are options for a client of this cluster: seeds and, where
// the backend needs one, a Dialer. The caller may change them.
func (c *Cluster) ClientOptions() *redis.ClusterOptions { panic("to be written") }

// Client is a go-redis client with [Cluster.ClientOptions] and go-redis'
// defaults otherwise. It is made on first use and closed with the cluster.
func (c *Cluster) Client() *redis.ClusterClient { panic("to be written") }

// Nodes are all nodes, masters first as of the start of the cluster.
func (c *Cluster) Nodes() []*Node { panic("to be written") }

// Masters are the nodes that own slots now, by the view of a live node.
func (c *Cluster) Masters() []*Node { panic("to be written") }

// NodeForKey is the master that owns the key's slot now, or nil.
func (c *Cluster) NodeForKey(key string) *Node { panic("to be written") }

// NodeForSlot is the master that owns the slot now, or nil.
func (c *Cluster) NodeForSlot(slot int) *Node { panic("to be written") }

// WaitReady waits until all live nodes agree on the topology, every slot is
// served, and every live replica's link is up.
func (c *Cluster) WaitReady(ctx context.Context) error { panic("to be written") }

// MoveSlots moves slots with their keys to another master, one after the
// other, as redis-cli --cluster reshard does.
func (c *Cluster) MoveSlots(ctx context.Context, to *Node, slots ...int) error {
	panic("to be written")
}

// BeginMove opens a slot for its move (IMPORTING, MIGRATING) and leaves it
// half moved: keys that are gone answer ASK, multi-key commands TRYAGAIN.
func (c *Cluster) BeginMove(ctx context.Context, slot int, to *Node) (*Move, error) {
	panic("to be written")
}

// A Move is a slot on its way from one master to another.
type Move struct{}

// Step moves up to n keys and returns how many it moved.
func (m *Move) Step(ctx context.Context, n int) (int, error) { panic("to be written") }

// Finish moves the remaining keys and assigns the slot to its new owner.
func (m *Move) Finish(ctx context.Context) error { panic("to be written") }

// Abort moves the keys back and closes the slot on both nodes.
func (m *Move) Abort(ctx context.Context) error { panic("to be written") }

// Failover makes a replica the master of its shard (CLUSTER FAILOVER; TAKEOVER
// when its master is down) and returns when the live nodes agree.
func (c *Cluster) Failover(ctx context.Context, replica *Node) error { panic("to be written") }

// Flush removes all keys from all live masters.
func (c *Cluster) Flush(ctx context.Context) error { panic("to be written") }

// Close stops all nodes and removes their files. It may be called twice.
func (c *Cluster) Close() error { panic("to be written") }
