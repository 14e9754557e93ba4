package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rcctl/rcctl/bench"
	"github.com/rcctl/rcctl/clustertest"
	"github.com/spf13/cobra"
)

// A labFault is a fault done to a throwaway cluster.
type labFault struct {
	name string
	do   func(ctx context.Context, c *clustertest.Cluster, say func(string)) error
	c    *clustertest.Cluster
}

func (f *labFault) Name() string { return f.name }

func (f *labFault) Inflict(ctx context.Context, say func(string)) error {
	return f.do(ctx, f.c, say)
}

// scenario is a run with a fault: on a throwaway cluster of its own, or on a
// cluster where the user does it.
type scenario struct {
	bench benchOptions
	lab   bool
	slots int
	fault string
}

const scenarioHelp = `

With --lab it starts a throwaway cluster on this machine, does that to it and
stops it. With --cluster it makes the load and you do it beside the run: rcctl
never changes a cluster that it did not start. Changes of roles and slots are in
the timeline either way.`

func newBenchReshardCmd(a *app) *cobra.Command {
	s := &scenario{}
	cmd := s.command(a, "reshard", "Measure what callers notice while slots move",
		"Makes load while slots move from one master to another."+scenarioHelp)
	cmd.Flags().IntVar(&s.slots, "slots", 400, "how many slots to move with --lab, 1 to 5000")
	return cmd
}

func newBenchFailoverCmd(a *app) *cobra.Command {
	s := &scenario{}
	cmd := s.command(a, "failover", "Measure how long callers see errors when a master fails",
		"Makes load while a master fails and a replica takes over."+scenarioHelp)
	s.fault = "kill"
	cmd.Flags().Var(choice{&s.fault, []string{"kill", "pause", "failover"}}, "fault",
		"what happens to a master with --lab: killed, frozen, or an orderly failover")
	return cmd
}

func (s *scenario) command(a *app, use, short, long string) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Example: "  rcctl bench " + use + " --lab\n  rcctl bench " + use + " --cluster 127.0.0.1:7000 --duration 60s",
		Args:    argsCheck(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runScenario(cmd.Context(), a, use, s) },
	}
	s.bench.cluster.register(cmd)
	s.bench.register(cmd)
	outputFlag(cmd, &s.bench.output, "text", "json")
	fl := cmd.Flags()
	fl.BoolVar(&s.lab, "lab", false, "do it to a throwaway cluster on this machine")
	for name, value := range map[string]string{"rate": "1000", "duration": "20s"} {
		_ = fl.Lookup(name).Value.Set(value) // the values are valid
		fl.Lookup(name).DefValue = value
	}
	return cmd
}

func runScenario(ctx context.Context, a *app, use string, s *scenario) error {
	given := s.bench.cluster.given(a)
	switch {
	case s.lab && len(s.bench.cluster.addrs) > 0:
		return usageError("--lab and --cluster: choose one; --lab starts a cluster of its own")
	case !s.lab && !given:
		return usageError("no cluster: give --lab for a throwaway one, or --cluster host:port")
	case s.slots < 0 || s.slots > 5000 || use == "reshard" && s.slots == 0:
		return usageError("--slots %d: want 1 to 5000", s.slots)
	}
	if !s.lab {
		return runBench(ctx, a, &s.bench, nil)
	}
	s.bench.cluster.addrs = []string{"127.0.0.1:1"} // checked with the other flags; the real ones follow
	if _, err := s.bench.options(a); err != nil {
		return err
	}
	c, err := clustertest.Start(ctx, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
	if errors.Is(err, clustertest.ErrNoServer) {
		return fmt.Errorf("--lab needs real servers: %w", err)
	}
	if err != nil {
		return fmt.Errorf("--lab: %w", err)
	}
	defer c.Close()
	s.bench.cluster.addrs = c.Addrs()
	return runBench(ctx, a, &s.bench, s.labFault(use, c))
}

func (s *scenario) labFault(use string, c *clustertest.Cluster) bench.Fault {
	if use == "reshard" {
		return &labFault{name: fmt.Sprintf("move %d slots", s.slots), c: c, do: s.moveSlots}
	}
	names := map[string]string{"kill": "kill a master", "pause": "freeze a master", "failover": "orderly failover of a master"}
	return &labFault{name: names[s.fault], c: c, do: s.failMaster}
}

func (s *scenario) moveSlots(ctx context.Context, c *clustertest.Cluster, say func(string)) error {
	m := c.Masters()
	from, to := m[0], m[1]
	slots := make([]int, 0, s.slots)
	for slot := 0; slot < 16384 && len(slots) < s.slots; slot++ {
		if c.NodeForSlot(slot) == from {
			slots = append(slots, slot)
		}
	}
	say(fmt.Sprintf("moving %d slots from %s to %s", len(slots), from.Addr(), to.Addr()))
	return c.MoveSlots(ctx, to, slots...)
}

func (s *scenario) failMaster(ctx context.Context, c *clustertest.Cluster, say func(string)) error {
	victim := c.Masters()[1]
	replicas := victim.Replicas()
	if len(replicas) == 0 {
		return fmt.Errorf("%s has no replica", victim.Addr())
	}
	switch s.fault {
	case "failover":
		say(fmt.Sprintf("CLUSTER FAILOVER on %s, replica of %s", replicas[0].Addr(), victim.Addr()))
		return c.Failover(ctx, replicas[0])
	case "pause":
		say(victim.Addr() + " is frozen")
		if err := victim.Pause(); err != nil {
			return err
		}
	default:
		say(victim.Addr() + " is killed")
		if err := victim.Kill(); err != nil {
			return err
		}
	}
	return waitPromoted(ctx, replicas[0])
}

// waitPromoted waits until a replica calls itself a master.
func waitPromoted(ctx context.Context, replica *clustertest.Node) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !replica.IsMaster() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s was not promoted by the end of the run", replica.Addr())
		case <-tick.C:
		}
	}
	return nil
}
