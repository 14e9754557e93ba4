package hashtag

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// A lane is a way to a node, and the keys that go there.
type lane struct {
	name    string // for errors: the address of the node
	pipe    func() redis.Pipeliner
	index   []int // keys, by slot and position
	singles bool  // one command a key
	retries int   // attempts that failed
	hops    int   // attempts that were redirected
}

// What the clients of go-redis can tell about keys and nodes.
type (
	masterFinder interface {
		MasterForKey(context.Context, string) (*redis.Client, error)
	}
	replicaFinder interface {
		SlaveForKey(context.Context, string) (*redis.Client, error)
	}
	clusterOpts interface{ Options() *redis.ClusterOptions }
	shardFinder interface {
		GetShardClientForKey(string) (*redis.Client, error)
	}
	clientOpts interface{ Options() *redis.Options }
	reloader   interface{ ReloadState(context.Context) }
)

// lanes finds the owners of keys, or replicas of them when the client prefers
// those. When an owner cannot be found it returns the keys without one and the
// error; the others are in lanes.
func (c *call) lanes(ctx context.Context, index []int, replicas bool) (lanes []*lane, lost []int, err error) {
	find := c.finder(ctx, replicas)
	if find == nil {
		name := "the server"
		if cl, ok := c.Client.(clientOpts); ok {
			name = cl.Options().Addr
		}
		return []*lane{{name: name, pipe: c.Client.Pipeline, index: index}}, nil, nil
	}
	of := map[*redis.Client]*lane{}
	var last *redis.Client
	lastSlot := -1
	for n, i := range index {
		if c.slots[i] != lastSlot || c.ring {
			last, err = find(i)
			if err != nil { // it would be the same error for the others
				return lanes, index[n:], fmt.Errorf("find the owner of slot %d: %w", c.slots[i], err)
			}
			lastSlot = c.slots[i]
		}
		l := of[last]
		if l == nil {
			l = &lane{name: last.Options().Addr, pipe: last.Pipeline, index: make([]int, 0, len(index)-n)}
			of[last] = l
			lanes = append(lanes, l)
		}
		l.index = append(l.index, i)
	}
	return lanes, nil, nil
}

// finder returns the function that finds the owner of key i, or nil when there
// is only one server.
func (c *call) finder(ctx context.Context, replicas bool) func(i int) (*redis.Client, error) {
	if ring, ok := c.Client.(shardFinder); ok {
		return func(i int) (*redis.Client, error) { return ring.GetShardClientForKey(c.keys[i]) }
	}
	cluster, ok := c.Client.(masterFinder)
	if !ok {
		return nil
	}
	find := cluster.MasterForKey
	if o, ok := c.Client.(clusterOpts); ok && replicas && o.Options().ReadOnly {
		if r, ok := c.Client.(replicaFinder); ok {
			find = r.SlaveForKey
		}
	}
	// By tag, not by key: go-redis sends the empty key to a random node.
	return func(i int) (*redis.Client, error) { return find(ctx, TagForSlot(c.slots[i])) }
}

// follows reports whether the client follows redirects.
func (c *call) follows() bool {
	_, ok := c.Client.(masterFinder)
	return ok
}

// reload makes a cluster client look at the slot map again, in the background.
func (c *call) reload(ctx context.Context) {
	if r, ok := c.Client.(reloader); ok {
		r.ReloadState(ctx)
	}
}
