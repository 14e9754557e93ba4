package main

import (
	"errors"

	"github.com/rcctl/rcctl/internal/doctor"
	"github.com/spf13/cobra"
)

func newDoctorChecklistCmd(a *app) *cobra.Command {
	o := &doctorOptions{}
	cmd := &cobra.Command{
		Use:   "checklist",
		Short: "Go through the points for production",
		Long: `checklist says of each of five points whether it is ok, not ok, or cannot be
seen from here, and how to prove it. It exits with 1 when one is not ok.`,
		Args: argsCheck(cobra.NoArgs),
	}
	o.register(cmd)
	o.profileFlag(cmd)
	outputFlag(cmd, &o.output, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := o.gather(cmd.Context(), a)
		var ce *doctor.ClusterError
		if err != nil && (s == nil || errors.As(err, &ce)) {
			return err
		}
		f := cmd.Flags()
		list, err := doctor.Checklist(s, f.Changed("read-timeout") && f.Changed("write-timeout"))
		if err != nil {
			return err
		}
		if o.output == "json" {
			err = doctor.WriteJSON(a.stdout, list)
		} else {
			err = doctor.WriteChecklist(a.stdout, list, o.textOptions(a))
		}
		for _, l := range list {
			if err == nil && l.Verdict == "not ok" {
				return &exitError{code: exitFindings}
			}
		}
		return err
	}
	return cmd
}
