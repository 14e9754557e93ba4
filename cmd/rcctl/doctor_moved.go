package main

import (
	"context"
	"time"

	"github.com/rcctl/rcctl/internal/doctor"
	"github.com/spf13/cobra"
)

func newDoctorMovedCmd(a *app) *cobra.Command {
	o := &doctorOptions{}
	cmd := &cobra.Command{
		Use:   "moved",
		Short: "Measure MOVED and ASK without load, and see who may cause them",
		Long: `moved reads every node's own counters twice (INFO errorstats and commandstats)
and shows the difference: how many commands were redirected, by node and by
command, and which clients are connected. It sends no load and changes nothing.`,
		Example: `  rcctl doctor moved --cluster 10.0.0.1:6379 --for 10s`,
		Args:    argsCheck(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDoctorMoved(cmd.Context(), a, o) },
	}
	o.cluster.register(cmd)
	cmd.Flags().DurationVar(&o.interval, "for", 5*time.Second, "time between the two samples")
	outputFlag(cmd, &o.output, "text", "json")
	return cmd
}

func runDoctorMoved(ctx context.Context, a *app, o *doctorOptions) error {
	if o.interval <= 0 {
		return usageError("--for: must be above 0")
	}
	cfg, err := o.cluster.config(a)
	if err != nil {
		return err
	}
	s, err := doctor.Gather(ctx, doctor.Request{Client: cfg, Timeout: o.cluster.timeout, Interval: o.interval})
	if err != nil {
		return err
	}
	r := doctor.Moved(s)
	if o.output == "json" {
		return doctor.WriteJSON(a.stdout, r)
	}
	return r.WriteText(a.stdout, o.textOptions(a))
}
