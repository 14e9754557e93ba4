package pool

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Cost is what one command costs at worst.
type Cost struct {
	// Time is how long it takes until the command returns.
	Time time.Duration
	// Executions is how often the server may run it: more than once when
	// replies are lost and the command is sent again.
	Executions int
}

// WorstCase is what one command without a deadline costs at worst, by what is
// wrong. The breaker is not counted on: it makes the second command cheap, not
// the first.
type WorstCase struct {
	// BlackHole: packets to the node vanish, new connections included.
	BlackHole Cost
	// Stalled: the node takes connections and commands and answers nothing in
	// time.
	Stalled Cost
	// PoolFull: no connection becomes free.
	PoolFull Cost
	// AllBad: in each attempt every step takes just less than its timeout and
	// the last one fails.
	AllBad Cost
}

// Single is the longest of the single faults, AllBad left aside.
func (w WorstCase) Single() time.Duration {
	return max(w.BlackHole.Time, w.Stalled.Time, w.PoolFull.Time)
}

// handshakeSteps are the round trips before the command: HELLO, AUTH for
// servers without it, CLIENT SETNAME.
const handshakeSteps = 3

// WorstCase computes what one command costs at worst with this Config, after
// Tune. The error is that of a Config that cannot work.
func (c Config) WorstCase() (WorstCase, error) {
	r, err := c.resolve()
	if err != nil {
		return WorstCase{}, fmt.Errorf("pool: %w", err)
	}
	o := r.clusterOptions()
	if r.Tune != nil {
		r.Tune(o)
	}
	return worstCase(o), nil
}

// worstCase knows how go-redis nests its attempts: over the cluster
// (MaxRedirects), at one node (MaxRetries), and for one dial (DialerRetries).
func worstCase(opt *redis.ClusterOptions) WorstCase {
	o := normal(opt)
	clusterTries, nodeTries := o.MaxRedirects+1, o.MaxRetries+1
	tries := clusterTries * nodeTries
	var pauses time.Duration
	for i := 1; i < clusterTries; i++ {
		pauses += longestBackoff(o, i)
	}
	for i := 1; i < nodeTries; i++ {
		pauses += time.Duration(clusterTries) * longestBackoff(o, i)
	}
	dial := time.Duration(o.DialerRetries)*o.DialTimeout + time.Duration(o.DialerRetries-1)*o.DialerRetryTimeout
	total := func(attempt time.Duration) time.Duration { return time.Duration(tries)*attempt + pauses }
	return WorstCase{
		BlackHole: Cost{total(max(dial, o.ReadTimeout)), 0},
		Stalled:   Cost{total(o.ReadTimeout), tries},
		PoolFull:  Cost{total(o.PoolTimeout), 0},
		AllBad: Cost{total(o.PoolTimeout + dial + handshakeSteps*(o.WriteTimeout+o.ReadTimeout) +
			o.WriteTimeout + o.ReadTimeout), tries},
	}
}

// normal is a copy of the options with go-redis' defaults in place of zeros,
// as its own init does it.
func normal(opt *redis.ClusterOptions) *redis.ClusterOptions {
	o := *opt
	def := func(p *int, unset, none int) {
		switch *p {
		case 0:
			*p = unset
		case -1:
			*p = none
		}
	}
	defD := func(p *time.Duration, d time.Duration) {
		switch *p {
		case 0:
			*p = d
		case -1:
			*p = 0
		}
	}
	def(&o.MaxRedirects, 3, 0)
	def(&o.MaxRetries, 0, 0)
	def(&o.DialerRetries, 5, 5)
	defD(&o.DialTimeout, 5*time.Second)
	defD(&o.DialerRetryTimeout, 100*time.Millisecond)
	defD(&o.ReadTimeout, 5*time.Second)
	defD(&o.WriteTimeout, o.ReadTimeout)
	defD(&o.PoolTimeout, o.ReadTimeout+time.Second)
	defD(&o.MinRetryBackoff, 10*time.Millisecond)
	defD(&o.MaxRetryBackoff, time.Second)
	return &o
}

// longestBackoff is the most that go-redis pauses before retry i.
func longestBackoff(o *redis.ClusterOptions, i int) time.Duration {
	if o.MinRetryBackoff == 0 {
		return 0
	}
	return min(o.MaxRetryBackoff, o.MinRetryBackoff+o.MinRetryBackoff<<uint(i))
}

// ConnBudget is how many connections a Config may open.
type ConnBudget struct {
	// PerNode is the most one process opens to one node: the pool, plus the
	// pool for pipelines if Tune asked for one.
	PerNode int
	// WarmPerMaster is what it keeps open to a master while it is idle.
	WarmPerMaster int
	// PerProcess is the most one process opens to all nodes it sends commands
	// to; AtNode the most that all instances open to one node; Total the most
	// that all instances open together.
	PerProcess, AtNode, Total int
	// Apart names what comes on top and is not bounded by PoolSize.
	Apart []string
}

// ConnBudget computes the connections for a cluster of that many masters and
// that many processes with this Config. Compare AtNode with the servers'
// maxclients, and twice PerProcess with the process' limit of open files:
// after a failover the pools of the old and of the new master exist side by
// side for a while.
func (c Config) ConnBudget(masters, instances int) (ConnBudget, error) {
	r, err := c.resolve()
	if err != nil {
		return ConnBudget{}, fmt.Errorf("pool: %w", err)
	}
	if masters < 1 || instances < 1 {
		return ConnBudget{}, fmt.Errorf("pool: ConnBudget(%d, %d): want at least one master and one instance", masters, instances)
	}
	o := r.clusterOptions()
	if r.Tune != nil {
		r.Tune(o)
	}
	b := ConnBudget{PerNode: o.PoolSize, WarmPerMaster: r.MinIdleConns}
	if o.PipelinePoolSize >= 0 {
		b.PerNode += max(o.PipelinePoolSize, 0)
		if o.PipelinePoolSize == 0 {
			b.PerNode += redis.DefaultPipelinePoolSize
		}
	}
	b.PerProcess = masters * b.PerNode
	b.AtNode = instances * b.PerNode
	b.Total = instances * b.PerProcess
	b.Apart = []string{
		fmt.Sprintf("up to %d per node once Blocking is used", r.BlockingPoolSize),
		"one connection for each Subscribe, PSubscribe or SSubscribe",
		fmt.Sprintf("up to %d while a node that does not answer is probed", probesAtOnce),
		"one to a seed address that the cluster announces otherwise",
	}
	if o.ReadOnly || o.RouteByLatency || o.RouteRandomly {
		b.Apart = append(b.Apart, fmt.Sprintf("reads from replicas: up to %d for each replica", b.PerNode))
	}
	return b, nil
}
