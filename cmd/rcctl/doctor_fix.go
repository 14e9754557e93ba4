package main

import (
	"errors"
	"os"

	"github.com/rcctl/rcctl/internal/doctor"
	"github.com/spf13/cobra"
)

func newDoctorFixCmd(a *app) *cobra.Command {
	o := &doctorOptions{}
	var script string
	cmd := &cobra.Command{
		Use:   "fix --script FILE",
		Short: "Write a script with the settings that mend what was found",
		Long: `fix writes a shell script with drop-ins for sysctl.d and systemd, and flags and
pod YAML for containers as comments. It changes nothing itself. It never touches
the cluster, SELinux, swap or the boot loader.`,
		Example: `  rcctl doctor fix --cluster 10.0.0.1:6379 --script fix.sh`,
		Args:    argsCheck(cobra.NoArgs),
	}
	o.register(cmd)
	o.profileFlag(cmd)
	cmd.Flags().StringVar(&script, "script", "", "`file` to write, - for standard output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if script == "" {
			return usageError("--script: give the file to write, or - for standard output")
		}
		s, err := o.gather(cmd.Context(), a)
		var ce *doctor.ClusterError
		if err != nil && (s == nil || errors.As(err, &ce)) {
			return err
		}
		plan, err := doctor.PlanFixes(s)
		if err != nil {
			return err
		}
		if script == "-" {
			return plan.WriteScript(a.stdout)
		}
		f, err := os.OpenFile(script, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o700)
		if err != nil {
			return usageError("--script: %w", err)
		}
		if err := errors.Join(plan.WriteScript(f), f.Close()); err != nil {
			return err
		}
		return nil
	}
	return cmd
}
