package pool

import (
	"cmp"
	"slices"
	"time"
)

// Stats are the state and the counters of a Cluster. Counters never go
// backwards, also when nodes come and go.
type Stats struct {
	Name  string
	Nodes []NodeStatus // by address
	// Discoveries are rounds of CLUSTER SLOTS, those go-redis made included.
	Discoveries uint64
	// Duplicates is how often a pool was opened in this process, outside
	// Shared, while another one for the same seeds was open.
	Duplicates uint64
	// Unserved are the slots without a master, "none" or "0-99 16001-16383".
	Unserved string
}

// NodeStatus is one node of [Stats].
type NodeStatus struct {
	NodeStats
	// Role is "master", "replica", or empty for an address that is not in the
	// topology: a seed with another announced address, or a node that left.
	Role  string
	Slots int
	// Conns are the connections in the pool now, Idle those of them that wait.
	Conns, Idle int
	// Hits, Misses and Waits are requests for a connection that found one,
	// dialed one, or had to wait; Wait is the time of all waits together.
	Hits, Misses, Waits uint64
	Wait                time.Duration
	// Open reports that the breaker is open; Opened is how often it opened.
	Open   bool
	Opened uint64
	// Refused are attempts that the open breaker ended at once, Shed those
	// whose deadline was too near.
	Refused, Shed uint64
}

// Stats takes a snapshot. It does not block on the network.
func (c *Cluster) Stats() Stats {
	roles := c.topo.roles()
	counts := make(map[string]int)
	for _, s := range c.topo.shards() {
		counts[s.addr] = s.slots.count()
	}
	out := Stats{Name: c.cfg.Name, Discoveries: c.topo.rounds.total(), Duplicates: duplicates.Load(), Unserved: "none"}
	if u := c.topo.unserved(); len(u) > 0 {
		out.Unserved = u.String()
	}
	for _, n := range c.nodes.all() {
		s := NodeStatus{
			NodeStats: c.observer.node(n.addr).stats(),
			Role:      roles[n.addr], Slots: counts[n.addr],
			Open: n.breaker.Open(), Opened: n.breaker.Opened(),
			Refused: n.refused.Load(), Shed: n.shed.Load(),
		}
		totals := c.nodes.poolTotals(n)
		s.Hits, s.Misses, s.Waits, s.Wait = totals.hits, totals.misses, totals.waits, totals.wait
		if client := n.client.Load(); client != nil {
			ps := client.PoolStats()
			s.Conns, s.Idle = int(ps.TotalConns), int(ps.IdleConns)
		}
		out.Nodes = append(out.Nodes, s)
	}
	slices.SortFunc(out.Nodes, func(a, b NodeStatus) int { return cmp.Compare(a.Addr, b.Addr) })
	return out
}

func (r *rounds) total() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// roles are "master" or "replica" by address.
func (t *topology) roles() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return rolesOf(t.slots)
}
