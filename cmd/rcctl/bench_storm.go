package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/rcctl/rcctl/bench"
	"github.com/spf13/cobra"
)

// A benchReport is what a scenario with a form of its own returns.
type benchReport interface {
	WriteText(io.Writer) error
	WriteJSON(io.Writer) error
}

func writeBenchReport(a *app, format string, r benchReport) error {
	if format == "json" {
		return r.WriteJSON(a.stdout)
	}
	return r.WriteText(a.stdout)
}

func newBenchStormCmd(a *app) *cobra.Command {
	o := &benchOptions{}
	var sizes []int
	cmd := &cobra.Command{
		Use:   "storm",
		Short: "Measure a cold start, a reconnect of all connections, and pool sizes",
		Long: `Lets many callers arrive at once at a client that was just made, at the same
client when it is warm, and after all its connections were cut (from this side:
no other client notices). Then tries pool sizes in a closed loop and names the
smallest one with 95 % of the best throughput.`,
		Example: "  rcctl bench storm --cluster 127.0.0.1:7000\n  rcctl bench storm --cluster 127.0.0.1:7000 --engine go-redis --workers 500",
		Args:    argsCheck(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runStorm(cmd.Context(), a, o, sizes)
		},
	}
	o.cluster.register(cmd)
	o.register(cmd)
	outputFlag(cmd, &o.output, "text", "json")
	fl := cmd.Flags()
	fl.IntSliceVar(&sizes, "pool-sizes", []int{1, 2, 4, 8, 16, 32, 64, 128}, "pool sizes to try")
	for _, name := range []string{"rate", "warmup", "pipeline", "auto-pipeline", "pool-size", "assert", "out"} {
		_ = fl.MarkHidden(name) // they say nothing about a storm
	}
	for name, value := range map[string]string{"workers": "200", "duration": "2s"} {
		_ = fl.Lookup(name).Value.Set(value) // the values are valid
		fl.Lookup(name).DefValue = value
	}
	fl.Lookup("duration").Usage = "measured time for each pool size"
	fl.Lookup("workers").Usage = "callers that arrive at once"
	return cmd
}

func runStorm(ctx context.Context, a *app, o *benchOptions, sizes []int) error {
	opts, err := o.options(a)
	if err != nil {
		return err
	}
	if opts.Workers == bench.Unlimited {
		return usageError("--workers unlimited: want a number of callers")
	}
	s, err := bench.RunStorm(ctx, bench.StormOptions{Options: opts, PoolSizes: sizes})
	if err != nil {
		return scenarioError(err)
	}
	if err := writeBenchReport(a, o.output, s); err != nil {
		return err
	}
	if err := s.Err(); err != nil {
		return &exitError{exitFindings, err}
	}
	return nil
}

// scenarioError makes wrong options usage errors with the names of their flags.
func scenarioError(err error) error {
	var oe *bench.OptionError
	if errors.As(err, &oe) {
		return &exitError{exitUsage, flagErrors(err)}
	}
	return benchError(err)
}

// stampedeFlags are the flags of rcctl bench stampede.
type stampedeFlags struct {
	cluster clusterFlags
	run     bench.StampedeOptions
	ttls    []string
	output  string
}

func newBenchStampedeCmd(a *app) *cobra.Command {
	f := &stampedeFlags{}
	cmd := &cobra.Command{
		Use:   "stampede",
		Short: "Compare ways to guard a slow load: none, a mutex, a Redis lock, singleflight, lockcluster",
		Long: `One hot key whose value takes long to load is read by worker processes, each
with a client and a cache of its own (they run inside this process). Counts the
loads at each expiry for every way to guard them.`,
		Example: "  rcctl bench stampede --cluster 127.0.0.1:7000\n  rcctl bench stampede --cluster 127.0.0.1:7000 --workers 8 --ttls 2s --guards none,lockcluster",
		Args:    argsCheck(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runStampede(cmd.Context(), a, f) },
	}
	f.cluster.register(cmd)
	fl := cmd.Flags()
	fl.IntSliceVar(&f.run.Workers, "workers", []int{1, 8}, "numbers of worker processes")
	fl.IntVar(&f.run.Callers, "callers", 1, "readers in each worker, each every 20 ms")
	fl.DurationVar(&f.run.Load, "load", 450*time.Millisecond, "time of one load")
	fl.StringSliceVar(&f.ttls, "ttls", []string{"1s", "3s"}, "lifetimes of the value")
	fl.IntVar(&f.run.Expiries, "expiries", 3, "expiries to watch for each row")
	fl.StringSliceVar(&f.run.Guards, "guards", bench.Guards, "ways to guard the load")
	outputFlag(cmd, &f.output, "text", "json")
	return cmd
}

func runStampede(ctx context.Context, a *app, f *stampedeFlags) error {
	o := f.run
	for flag, n := range map[string]int{"callers": o.Callers, "expiries": o.Expiries, "load": int(o.Load)} {
		if n == 0 {
			return usageError("--%s %s: want more than 0", flag, strconv.Itoa(n))
		}
	}
	for _, s := range f.ttls {
		d, err := time.ParseDuration(s)
		if err != nil {
			return usageError("--ttls %q: want durations such as 1s,3s", s)
		}
		o.TTLs = append(o.TTLs, d)
	}
	var err error
	if o.Cluster, err = f.cluster.config(a); err != nil {
		return err
	}
	o.Cluster.Logger = slog.New(slog.DiscardHandler)
	line := newProgressLine(a.stderr)
	o.Told = line.say
	s, err := bench.RunStampede(ctx, o)
	line.clear()
	if err != nil {
		return scenarioError(err)
	}
	if len(s.Rows) == 0 {
		return fmt.Errorf("interrupted before the first row was complete")
	}
	return writeBenchReport(a, f.output, s)
}
