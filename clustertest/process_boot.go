package clustertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// form starts all nodes and joins them into one cluster.
func (inst *processes) form(ctx context.Context, o Options) error {
	var ghosts []string
	if o.Replicas == 0 {
		for range o.Masters {
			ghosts = append(ghosts, newNodeID())
		}
	}
	for _, s := range inst.servers {
		conf := nodesConf(o, inst.servers, ghosts, s)
		if err := os.WriteFile(filepath.Join(s.dir, "nodes.conf"), conf, 0o600); err != nil {
			return err
		}
	}
	// Those who are masters at first start first: a replica that does not find
	// its master tries again a second later.
	masters, first := inst.servers[:o.Masters], inst.firstMasters(o)
	start := func(s *process) error {
		if s.running() {
			return nil
		}
		return s.launch(ctx, bootArgs(o)...)
	}
	if err := all(first, start); err != nil {
		return err
	}
	if err := all(inst.servers, start); err != nil {
		return err
	}
	probe := inst.probe()
	steps := []struct {
		what string
		do   func() error
	}{
		{"link the nodes", func() error { return inst.awaitLinks(ctx, probe, o) }},
		{"give the replicas an offset", func() error { return flush(ctx, first) }},
		{"promote the masters", func() error { return takeOver(ctx, masters, probe) }},
		{"agree on the masters", func() error { return inst.awaitMasters(ctx, probe, o) }},
		{"forget the stand-ins", func() error { return inst.forget(ctx, ghosts) }},
		{"become ready", func() error { return probe.WaitReady(ctx) }},
		{"take back the settings of the start", func() error { return inst.settle(ctx, o) }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// all runs do for all servers at once and joins the errors.
func all(servers []*process, do func(*process) error) error {
	var g errgroup.Group
	g.SetLimit(fanOut)
	errs := make([]error, len(servers))
	for i, s := range servers {
		g.Go(func() error {
			errs[i] = do(s)
			return nil
		})
	}
	_ = g.Wait() // the errors are in errs, all of them
	return errors.Join(errs...)
}

// probe is a [Cluster] that only looks: it shares the control clients.
func (inst *processes) probe() *Cluster {
	c := &Cluster{inst: inst, byID: map[string]*Node{}}
	for _, s := range inst.servers {
		n := &Node{cluster: c, srv: s, id: s.id, clients: []*redis.Client{s.control}, up: true}
		c.nodes = append(c.nodes, n)
		c.byID[n.id] = n
	}
	return c
}

// takeOver makes the future masters masters, one after the other, so that each
// takes a config epoch of its own.
func takeOver(ctx context.Context, masters []*process, probe *Cluster) error {
	awaitOrder(ctx, masters)
	for i, s := range masters {
		err := poll(ctx, func(ctx context.Context) error {
			err := s.control.Do(ctx, "cluster", "failover", "takeover").Err()
			if err != nil && strings.Contains(err.Error(), "to a replica") {
				return nil // it was elected meanwhile
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", s.addr, err)
		}
		if i+1 < len(masters) {
			if err := probe.awaitEpochs(ctx, probe.byID[masters[i+1].id]); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitOrder waits until the nodes have seen the cluster in order as replicas.
// Such a node serves at once as a master. One that has not waits for 2 s, as
// every master does, which is better than to wait for an order that a busy
// machine does not let come about.
func awaitOrder(ctx context.Context, replicas []*process) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = all(replicas, func(s *process) error {
		return poll(ctx, func(ctx context.Context) error {
			info, err := s.control.ClusterInfo(ctx).Result()
			if state := field(info, "cluster_state"); err == nil && state != "ok" {
				err = fmt.Errorf("%s: cluster_state is %q", s.addr, state)
			}
			return err
		})
	})
}

// forget removes the masters that never existed.
func (inst *processes) forget(ctx context.Context, ghosts []string) error {
	return all(inst.servers, func(s *process) error {
		for _, id := range ghosts {
			// Until a node has heard of the takeover the stand-in is its
			// master or owns slots, and it refuses.
			err := poll(ctx, func(ctx context.Context) error {
				err := s.control.ClusterForget(ctx, id).Err()
				if err != nil && strings.Contains(err.Error(), "Unknown node") {
					return nil
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// awaitMasters waits until every node knows every master as one, with its
// slots, and every replica's link is up.
func (inst *processes) awaitMasters(ctx context.Context, probe *Cluster, o Options) error {
	return poll(ctx, func(ctx context.Context) error {
		for _, v := range probe.views(ctx, (*Node).fullView) {
			if v.err != nil {
				return v.err
			}
			for i := range o.Masters {
				team := shard(o, inst.servers, i)
				first, last := o.slotRange(i)
				slots := v.slots(team[0].id)
				if len(slots) != 1 || slots[0].First != first || slots[0].Last != last {
					return fmt.Errorf("%s: %s does not own its slots yet", v.node, team[0].addr)
				}
				for _, s := range team[1:] {
					if line, _ := v.find(s.id); line.MasterID != team[0].id {
						return fmt.Errorf("%s: %s is no replica yet", v.node, s.addr)
					}
				}
			}
			if self, _ := v.find(v.node.id); self.MasterID != "" && !v.linkUp {
				return fmt.Errorf("%s: the link to its master is down", v.node)
			}
		}
		return nil
	})
}

// firstMasters are the nodes that are masters until the others take over.
func (inst *processes) firstMasters(o Options) []*process {
	var first []*process
	if o.Replicas > 0 {
		for i := range o.Masters {
			first = append(first, shard(o, inst.servers, i)[1])
		}
	}
	return first
}

// awaitLinks waits until the nodes can tell each other what happens and the
// replicas receive what their masters send. Only then news travels at once.
func (inst *processes) awaitLinks(ctx context.Context, probe *Cluster, o Options) error {
	return poll(ctx, func(ctx context.Context) error {
		for _, v := range probe.views(ctx, (*Node).fullView) {
			if v.err != nil {
				return v.err
			}
			for _, s := range inst.servers {
				if line, _ := v.find(s.id); !line.LinkConnected {
					return fmt.Errorf("%s: no bus link to %s", v.node, s.addr)
				}
			}
			if self, _ := v.find(v.node.id); o.Replicas > 0 && self.MasterID != "" && !v.linkUp {
				return fmt.Errorf("%s: the link to its master is down", v.node)
			}
		}
		return nil
	})
}

// flush sends the masters a command that replicas receive: CLUSTER SLOTS hides
// replicas that have received nothing.
func flush(ctx context.Context, masters []*process) error {
	for _, s := range masters {
		if err := s.control.FlushAll(ctx).Err(); err != nil {
			return fmt.Errorf("%s: %w", s.addr, err)
		}
	}
	return nil
}

// settle gives the nodes the settings that they keep.
func (inst *processes) settle(ctx context.Context, o Options) error {
	return all(inst.servers, func(s *process) error {
		args := []any{"config", "set"}
		for name, value := range afterBoot(o) {
			args = append(args, name, value)
		}
		if err := s.control.Do(ctx, args...).Err(); err != nil {
			return fmt.Errorf("%s: %w", s.addr, err)
		}
		return s.control.ConfigResetStat(ctx).Err() // counters begin at the user's first command
	})
}
