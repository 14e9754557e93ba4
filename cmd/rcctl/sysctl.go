package main

import (
	"github.com/rcctl/rcctl/internal/doctor"
	"github.com/spf13/cobra"
)

func newSysctlCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sysctl",
		Short: "Print kernel settings for hosts with many Redis connections",
		Args:  argsCheck(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSysctlPrintCmd(a))
	return cmd
}

func newSysctlPrintCmd(a *app) *cobra.Command {
	var ports []int
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print a file for /etc/sysctl.d, with what each line does",
		Long: `print writes settings that can be put into /etc/sysctl.d. It changes nothing;
rcctl doctor says which of them this host needs.`,
		Example: `  rcctl sysctl print --ports 7000,7001,7002 > 60-rcctl.conf`,
		Args:    argsCheck(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			for _, p := range ports {
				if p < 1 || p > 65535 {
					return usageError("--ports %d: must be 1 to 65535", p)
				}
			}
			return doctor.WriteSysctl(a.stdout, ports)
		},
	}
	cmd.Flags().IntSliceVar(&ports, "ports", []int{7000, 7001, 7002, 7003, 7004, 7005}, "data `ports` of the servers, to be reserved with their bus ports")
	return cmd
}
