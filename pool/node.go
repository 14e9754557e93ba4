package pool

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/internal/breaker"
)

// A node is what a Cluster keeps about an address. It outlives the go-redis
// clients for it, which come and go with the topology.
type node struct {
	addr    string
	breaker breaker.Breaker
	refusal *NodeError
	client  atomic.Pointer[redis.Client]
	probing atomic.Bool
	checked atomic.Int64 // when it was suspected last, ns
	shed    atomic.Uint64
	refused atomic.Uint64

	// inflight is the number of commands under way; peak the most of them
	// since the last look of the housekeeper.
	inflight atomic.Int64
	peak     atomic.Int64

	// idleSince belongs to the housekeeper: idleSince[k] is when the pool last
	// had k idle connections or fewer.
	idleSince []time.Time
	// totals, and what of the client's counters is in them, belong to the
	// registry.
	totals  poolTotals
	counted redis.PoolStats
}

func (n *node) begin() {
	now := n.inflight.Add(1)
	for {
		peak := n.peak.Load()
		if now <= peak || n.peak.CompareAndSwap(peak, now) {
			return
		}
	}
}

func (n *node) finish() { n.inflight.Add(-1) }

// takePeak is the most commands under way since it was last called.
func (n *node) takePeak() int {
	return int(n.peak.Swap(n.inflight.Load()))
}

// registry holds the nodes by address. Its lock is taken while go-redis holds
// the one on its nodes, so nothing may call the cluster client under it.
type registry struct {
	mu    sync.Mutex
	nodes map[string]*node
}

// get is the node at an address, made on first use.
func (r *registry) get(addr string) *node {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.nodes[addr]
	if n == nil {
		n = &node{addr: addr, refusal: &NodeError{Addr: addr, Err: ErrUnavailable,
			Fix: "it gave no answer several times in a row and is probed until it does"}}
		n.breaker.Probed = true
		if r.nodes == nil {
			r.nodes = make(map[string]*node)
		}
		r.nodes[addr] = n
	}
	return n
}

// attach notes the go-redis client that now serves an address.
func (r *registry) attach(rdb *redis.Client) *node {
	n := r.get(rdb.Options().Addr)
	r.mu.Lock()
	defer r.mu.Unlock()
	n.takeTotals()
	n.counted = redis.PoolStats{}
	n.client.Store(rdb)
	return n
}

// all are the nodes in no order.
func (r *registry) all() []*node {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*node, 0, len(r.nodes))
	for _, n := range r.nodes {
		out = append(out, n)
	}
	return out
}

// poolTotals are the monotone counters of go-redis pools, widened: there they
// have 32 bits, which a busy node fills in a day, and start over with every
// client.
type poolTotals struct {
	hits, misses, waits uint64
	wait                time.Duration
}

// poolTotals reads the counters of a node's client and adds what is new.
func (r *registry) poolTotals(n *node) poolTotals {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.takeTotals()
	return n.totals
}

func (n *node) takeTotals() {
	client := n.client.Load()
	if client == nil {
		return
	}
	s := client.PoolStats()
	n.totals.hits += uint64(s.Hits - n.counted.Hits)
	n.totals.misses += uint64(s.Misses - n.counted.Misses)
	n.totals.waits += uint64(s.WaitCount - n.counted.WaitCount)
	n.totals.wait += time.Duration(s.WaitDurationNs - n.counted.WaitDurationNs)
	n.counted = *s
}
