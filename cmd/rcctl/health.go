package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rcctl/rcctl/health"
	"github.com/spf13/cobra"
)

type healthOptions struct {
	cluster  clusterFlags
	output   string
	failOn   string
	watch    bool
	interval time.Duration
}

func newHealthCmd(a *app) *cobra.Command {
	o := &healthOptions{failOn: string(health.Down)}
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask every node and say whether the cluster can serve, what is wrong, and where",
		Long: `Asks every node of the cluster what it sees, compares the answers, and prints a
verdict with its reasons, the worst and the cause first, then the shards with
their slots, replicas and lag.

  ok        every slot is served and every shard can lose its master
  degraded  every slot is served, but the next fault may change that
  down      at least one slot is not served, seen from this host

With --watch it prints the report, then a line whenever something changes (with
-o json a report a line), until it is interrupted.

Exit codes: 0 ok, or no worse than --fail-on allows; 1 down, with --fail-on
degraded also degraded; 2 wrong usage; 3 unknown: no node told about the
cluster (unreachable, wrong password, not a cluster).`,
		Example: `  rcctl health --cluster 127.0.0.1:7000
  rcctl health --cluster 127.0.0.1:7000 -o json | jq -r '.reasons[].detail'
  rcctl health --cluster 127.0.0.1:7000 --fail-on degraded --watch`,
		Args: argsCheck(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runHealth(cmd.Context(), a, o) },
	}
	o.cluster.register(cmd)
	outputFlag(cmd, &o.output, "text", "json")
	fl := cmd.Flags()
	fl.Var(choice{&o.failOn, []string{string(health.Down), string(health.Degraded)}}, "fail-on", "exit 1 from this verdict on")
	fl.BoolVar(&o.watch, "watch", false, "go on and print what changes")
	fl.DurationVar(&o.interval, "interval", time.Second, "with --watch, how often to ask")
	return cmd
}

func runHealth(ctx context.Context, a *app, o *healthOptions) error {
	if o.interval < 100*time.Millisecond {
		return usageError("--interval %s: must be at least 100ms", o.interval)
	}
	h, err := o.cluster.checker(a)
	if err != nil {
		return err
	}
	defer h.Close()
	if o.watch {
		return o.follow(ctx, a, h)
	}
	r, err := o.cluster.report(ctx, h)
	if err != nil {
		return err
	}
	unknown := o.cluster.unknown(r)
	switch {
	case o.output == "json":
		if err := writeJSON(a, r); err != nil {
			return err
		}
	case unknown == nil:
		var b bytes.Buffer
		writeHealth(&b, r, useColor(a, o.cluster.noColor))
		if _, err := b.WriteTo(a.stdout); err != nil {
			return err
		}
	}
	return o.exit(r, unknown)
}

// exit is the exit code of a report, as an error.
func (o *healthOptions) exit(r *health.Report, unknown error) error {
	switch {
	case unknown != nil:
		return unknown
	case r.Verdict == health.Down, r.Verdict == health.Degraded && o.failOn == string(health.Degraded):
		return &exitError{exitFindings, nil}
	}
	return nil
}

func writeJSON(a *app, v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// follow prints the first report and what changes after it. Interrupted, it
// ends with the code of the last report.
func (o *healthOptions) follow(ctx context.Context, a *app, h *health.Checker) error {
	tick := time.NewTicker(o.interval)
	defer tick.Stop()
	var last error
	before := ""
	for first := true; ; first = false {
		r, err := o.cluster.report(ctx, h)
		switch {
		case ctx.Err() != nil:
			return last
		case err != nil:
			last = err
			r = &health.Report{Time: time.Now(), Verdict: health.Down, Reasons: []health.Reason{{Code: health.CodeUnreachable, Detail: err.Error()}}}
		default:
			last = o.exit(r, o.cluster.unknown(r))
		}
		if o.output == "json" {
			if err := json.NewEncoder(a.stdout).Encode(r); err != nil {
				return err
			}
		} else if now := summary(r); now != before {
			before = now
			var b bytes.Buffer
			if first && r.Known {
				writeHealth(&b, r, useColor(a, o.cluster.noColor))
				fmt.Fprintln(&b)
			}
			fmt.Fprintf(&b, "%s %s\n", r.Time.Format(time.TimeOnly), now)
			if _, err := b.WriteTo(a.stdout); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last
		}
	}
}
