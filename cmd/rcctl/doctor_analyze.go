package main

import (
	"github.com/rcctl/rcctl/internal/doctor"
	"github.com/spf13/cobra"
)

func newDoctorAnalyzeCmd(a *app) *cobra.Command {
	o := &doctorOptions{}
	cmd := &cobra.Command{
		Use:   "analyze FILE...",
		Short: "Judge snapshots that gather saved, of one host or many",
		Long: `analyze judges snapshots without touching the host or the cluster. With several
files the findings name their host, and what is the same on all is said once.`,
		Example: `  rcctl doctor analyze app-1.json app-2.json redis-1.json`,
		Args:    argsCheck(cobra.MinimumNArgs(1)),
		RunE:    func(_ *cobra.Command, args []string) error { return runDoctorAnalyze(a, o, args) },
	}
	o.judging(cmd)
	cmd.Flags().BoolVar(&o.cluster.noColor, "no-color", false, "no colour (env NO_COLOR)")
	outputFlag(cmd, &o.output, doctorOutputs...)
	return cmd
}

func runDoctorAnalyze(a *app, o *doctorOptions, files []string) error {
	var all []*doctor.Snapshot
	for _, f := range files {
		s, err := readSnapshot(a, f)
		if err != nil {
			return err
		}
		if o.profile != profiles[0] {
			s.Plan.Profile = o.profile
		}
		all = append(all, s)
	}
	r, err := doctor.JudgeAll(all, doctor.Selection{Only: o.only, Skip: o.skip})
	if err != nil {
		return usageError("%w", err)
	}
	return o.write(a, r, nil)
}

func newDoctorDiffCmd(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "diff OLD NEW",
		Short:   "Show which findings came, went and changed between two snapshots",
		Long:    "diff judges two snapshots and shows the difference. It exits with 1 when\nsomething fails in the new one that did not in the old one.",
		Example: `  rcctl doctor diff before.json after.json`,
		Args:    argsCheck(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			old, err := readSnapshot(a, args[0])
			if err != nil {
				return err
			}
			now, err := readSnapshot(a, args[1])
			if err != nil {
				return err
			}
			d, err := doctor.Diff(old, now)
			if err != nil {
				return err
			}
			if output == "json" {
				err = doctor.WriteJSON(a.stdout, d)
			} else {
				err = d.WriteText(a.stdout)
			}
			if err == nil && d.Worse {
				err = &exitError{code: exitFindings}
			}
			return err
		},
	}
	outputFlag(cmd, &output, "text", "json")
	return cmd
}
