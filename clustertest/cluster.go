package clustertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/rcctl/rcctl/hashtag"
)

const (
	// answerTimeout bounds each question that a Cluster asks a node.
	answerTimeout = 5 * time.Second
	// readyTimeout bounds waits whose context has no deadline.
	readyTimeout = 30 * time.Second
	// fanOut is how many nodes are asked at a time.
	fanOut = 16
)

// A Cluster is a running cluster. Its methods may be called concurrently.
type Cluster struct {
	options Options
	inst    Instance
	nodes   []*Node
	byID    map[string]*Node

	mu     sync.Mutex // guards what follows
	client *redis.ClusterClient
	closed bool
}

// Start starts a cluster and returns when it is ready: all slots served, all
// nodes agree, replicas linked. The caller closes it. Bad options give one
// error that names every bad field; without a server binary the error of
// [Processes] matches [ErrNoServer]. It blocks until ctx ends at most, and
// leaves nothing running when it fails.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	inst, err := o.Backend.Launch(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("clustertest: start %s: %w", o.Backend.Name(), err)
	}
	c := &Cluster{options: o, inst: inst, byID: map[string]*Node{}}
	for _, srv := range inst.Servers() {
		c.nodes = append(c.nodes, newNode(c, srv))
	}
	if err := c.learnIDs(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("clustertest: start %s: %w", o.Backend.Name(), err), c.Close())
	}
	return c, nil
}

// learnIDs asks each node for its id.
func (c *Cluster) learnIDs(ctx context.Context) error {
	err := each(c.nodes, func(n *Node) (err error) {
		n.id, err = n.text(ctx, "cluster", "myid")
		return err
	})
	if err != nil {
		return err
	}
	for _, n := range c.nodes {
		c.byID[n.id] = n
	}
	return nil
}

// each runs do for all nodes at once, a bounded number at a time, lets all of
// them finish, and joins their errors.
func each(nodes []*Node, do func(*Node) error) error {
	var g errgroup.Group
	g.SetLimit(fanOut)
	errs := make([]error, len(nodes))
	for i, n := range nodes {
		g.Go(func() error {
			errs[i] = do(n)
			return nil
		})
	}
	_ = g.Wait() // the errors are in errs, all of them
	return errors.Join(errs...)
}

// Caps says what this cluster can do.
func (c *Cluster) Caps() Caps { return c.options.Backend.Caps() }

// Addrs are the announced addresses of all nodes, masters first as of the
// start of the cluster.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		addrs[i] = n.Addr()
	}
	return addrs
}

// ClientOptions are options for a client of this cluster: seeds, a password
// where one is set and, where the backend needs one, a Dialer. The caller may
// change them.
func (c *Cluster) ClientOptions() *redis.ClusterOptions {
	o := &redis.ClusterOptions{Addrs: c.Addrs(), Password: c.options.Config["requirepass"]}
	if c.Caps().InMemory {
		o.Dialer = c.inst.Dial
	}
	return o
}

// Client is a go-redis client with [Cluster.ClientOptions] and go-redis'
// defaults otherwise. It is made on first use and closed with the cluster.
func (c *Cluster) Client() *redis.ClusterClient {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		c.client = redis.NewClusterClient(c.ClientOptions())
		if c.closed {
			_ = c.client.Close() // its commands answer redis.ErrClosed
		}
	}
	return c.client
}

// Nodes are all nodes, masters first as of the start of the cluster.
func (c *Cluster) Nodes() []*Node { return append([]*Node(nil), c.nodes...) }

// liveNodes are the nodes that can answer.
func (c *Cluster) liveNodes() []*Node {
	var live []*Node
	for _, n := range c.nodes {
		if n.answers() {
			live = append(live, n)
		}
	}
	return live
}

// Masters are the nodes that own slots now, in the order of [Cluster.Nodes],
// by the newest view of the live nodes. A dead master is one of them until a
// replica took its place. It is nil when no node answers.
func (c *Cluster) Masters() []*Node {
	v := c.bestView(context.Background())
	var masters []*Node
	for _, n := range c.nodes {
		if len(v.slots(n.id)) > 0 {
			masters = append(masters, n)
		}
	}
	return masters
}

// NodeForKey is the master that owns the key's slot now, or nil.
func (c *Cluster) NodeForKey(key string) *Node { return c.NodeForSlot(hashtag.Slot(key)) }

// NodeForSlot is the master that owns the slot now, by the newest view of the
// live nodes, or nil.
func (c *Cluster) NodeForSlot(slot int) *Node {
	return c.byID[c.bestView(context.Background()).owner(slot)]
}

// Flush removes all keys from all live masters.
func (c *Cluster) Flush(ctx context.Context) error {
	var live []*Node
	for _, n := range c.Masters() {
		if n.answers() {
			live = append(live, n)
		}
	}
	err := each(live, func(n *Node) error { return n.do(ctx, "flushall").Err() })
	if err != nil {
		return fmt.Errorf("clustertest: flush: %w", err)
	}
	return nil
}

// Close stops all nodes and removes their files. It may be called twice.
func (c *Cluster) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	client := c.client
	c.mu.Unlock()
	if client != nil {
		_ = client.Close() // the cluster goes away, an error here helps nobody
	}
	for _, n := range c.nodes {
		n.closeClients()
	}
	if err := c.inst.Close(); err != nil {
		return fmt.Errorf("clustertest: close: %w", err)
	}
	return nil
}
