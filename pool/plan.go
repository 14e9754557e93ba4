package pool

import (
	"fmt"
	"math"
	"time"
)

// Demand is the load that a fleet puts on a cluster.
type Demand struct {
	// Rate is commands a second, all instances together.
	Rate float64
	// P99 is how long a connection is busy with one command: measure it
	// (rcctl bench), or take the network's round trip and some.
	P99 time.Duration
	// Masters and Instances are the nodes and the processes.
	Masters, Instances int
	// Replicas per master. They cost a connection each to their master.
	Replicas int
	// MaxClients is the servers' maxclients. Zero means 10000.
	MaxClients int
	// Headroom multiplies what the load needs on average, for bursts and for
	// the master that gets more than its share. Zero means 2.
	Headroom float64
}

// A Plan is a PoolSize for a Demand and what follows from it.
type Plan struct {
	// Busy is the mean number of busy connections of one instance to one
	// master (Little's law: rate times time).
	Busy float64
	// PoolSize and MinIdleConns are for the Config.
	PoolSize, MinIdleConns int
	Conns                  ConnBudget
	// AtServer are the connections one master may see: all instances, its
	// replicas, and MaxClients to compare with.
	AtServer, MaxClients int
	// Ports are the local ports an instance's host needs towards one node,
	// and NoFile the limit of open files a process should have: a failover
	// doubles a pool for a while.
	Ports, NoFile int
	// Waiting is how many callers of one instance wait while a master stalls
	// for ReadTimeout, if none of them gives up.
	Waiting int
	Worst   WorstCase
	// Problems are what will not work, Notes what to think about.
	Problems, Notes []string
}

// smallestPool is what a pool needs beside the load: discovery, health checks,
// a burst of a few.
const smallestPool = 10

// Plan sizes the pools of this Config (whose PoolSize and MinIdleConns are not
// read) for a Demand. The error is that of a Demand or Config that cannot work.
func (c Config) Plan(d Demand) (Plan, error) {
	if d.MaxClients == 0 {
		d.MaxClients = 10_000
	}
	if d.Headroom == 0 {
		d.Headroom = 2
	}
	var bad badFields
	if !(d.Rate > 0) || math.IsInf(d.Rate, 0) {
		bad.add("Rate", d.Rate, "want commands a second, above 0")
	}
	if d.P99 <= 0 || d.P99 > time.Minute {
		bad.add("P99", d.P99, "want above 0 and at most 1m")
	}
	if d.Masters < 1 || d.Masters > 1000 {
		bad.add("Masters", d.Masters, "want 1 to 1000")
	}
	if d.Instances < 1 || d.Instances > 1_000_000 {
		bad.add("Instances", d.Instances, "want 1 to 1000000")
	}
	if d.Replicas < 0 || d.Replicas > 100 {
		bad.add("Replicas", d.Replicas, "want 0 to 100")
	}
	if d.MaxClients < 1 {
		bad.add("MaxClients", d.MaxClients, "want above 0, or 0 for 10000")
	}
	if !(d.Headroom >= 1 && d.Headroom <= 100) {
		bad.add("Headroom", d.Headroom, "want 1 to 100, or 0 for 2")
	}
	if err := bad.err(); err != nil {
		return Plan{}, fmt.Errorf("pool: plan: %w", err)
	}
	return c.plan(d)
}

func (c Config) plan(d Demand) (Plan, error) {
	perNode := d.Rate / float64(d.Instances) / float64(d.Masters)
	p := Plan{Busy: perNode * d.P99.Seconds(), MaxClients: d.MaxClients}
	need := math.Ceil(p.Busy*d.Headroom + 3*math.Sqrt(p.Busy))
	if need > maxPoolSize {
		return Plan{}, fmt.Errorf("pool: plan: %w: %.0f connections per node and instance are needed, more than %d: use more instances or masters, or pipelines", ErrConfig, need, maxPoolSize)
	}
	p.PoolSize = max(int(need), smallestPool)
	p.MinIdleConns = min(max(int(math.Ceil(p.Busy)), 2), p.PoolSize, defaultMinIdleConns)
	c.PoolSize, c.MinIdleConns = p.PoolSize, p.MinIdleConns
	if len(c.Addrs) == 0 {
		c.Addrs = []string{"127.0.0.1:7000"}
	}
	var err error
	if p.Worst, err = c.WorstCase(); err != nil {
		return Plan{}, err
	}
	if p.Conns, err = c.ConnBudget(d.Masters, d.Instances); err != nil {
		return Plan{}, err
	}
	r, err := c.resolve()
	if err != nil {
		return Plan{}, err
	}
	p.AtServer = p.Conns.AtNode + d.Replicas
	p.Ports = p.Conns.PerNode
	p.NoFile = 2*p.Conns.PerProcess + 64
	p.Waiting = int(perNode * r.ReadTimeout.Seconds())
	p.judge(d)
	return p, nil
}

func (p *Plan) judge(d Demand) {
	share := float64(p.AtServer) / float64(p.MaxClients)
	switch {
	case share > 1:
		p.Problems = append(p.Problems, fmt.Sprintf("a master may see %d connections, maxclients is %d: commands fail with \"max number of clients reached\"; raise maxclients and the server's LimitNOFILE, or use fewer instances (doctor: C13, C15)", p.AtServer, p.MaxClients))
	case share > 0.7:
		p.Notes = append(p.Notes, fmt.Sprintf("a master may see %d of %d connections (%.0f %%): more than 70 %% leaves little room for a roll-out that runs old and new instances side by side", p.AtServer, p.MaxClients, 100*share))
	}
	if p.AtServer > 10_000 {
		p.Notes = append(p.Notes, "more than 10000 connections at a server cost it throughput (doctor: C16)")
	}
	if d.Masters < 3 {
		p.Notes = append(p.Notes, "fewer than 3 masters have no majority when one dies")
	}
	if d.Replicas == 0 {
		p.Notes = append(p.Notes, "without replicas a dead master takes its slots with it")
	}
	if rate := d.Rate / float64(d.Masters); rate > 100_000 {
		p.Notes = append(p.Notes, fmt.Sprintf("%.0f commands a second per master are more than one Redis thread does without pipelines", rate))
	}
}
