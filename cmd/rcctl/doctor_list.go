package main

import (
	"github.com/rcctl/rcctl/internal/doctor"
	"github.com/spf13/cobra"
)

func newDoctorListCmd(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all checks",
		Args:  argsCheck(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if output == "text" {
				return doctor.WriteList(a.stdout)
			}
			list := []doctor.CheckInfo{}
			for _, c := range doctor.Checks() {
				list = append(list, c.Info())
			}
			return doctor.WriteJSON(a.stdout, list)
		},
	}
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

func newDoctorExplainCmd(a *app) *cobra.Command {
	var output string
	var noColor bool
	cmd := &cobra.Command{
		Use:     "explain ID",
		Short:   "Explain a check: what it looks at, why, and the fix",
		Example: "  rcctl doctor explain RC-T08",
		Args:    argsCheck(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := doctor.Find(args[0])
			if err != nil {
				return usageError("%w", err)
			}
			if output == "json" {
				return doctor.WriteJSON(a.stdout, c.Info())
			}
			return c.Explain(a.stdout, doctor.TextOptions{Color: useColor(a, noColor), ASCII: !utf8Locale(a)})
		},
	}
	cmd.Flags().BoolVar(&noColor, "no-color", false, "no colour (env NO_COLOR)")
	outputFlag(cmd, &output, "text", "json")
	return cmd
}
