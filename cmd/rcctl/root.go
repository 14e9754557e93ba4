package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// The groups of rcctl --help.
const (
	groupMain        = "main"
	groupCluster     = "cluster"
	groupDevelopment = "development"
)

func newRootCmd(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "rcctl",
		Short: "Look at a Redis or Valkey cluster from the client's side",
		Long: `rcctl tells what will hurt a client of a Redis or Valkey cluster, in whose
scope, with the fix (doctor), and measures what the client you ship does on the
cluster you run (bench).

Exit codes: 0 ok, 1 findings that fail, 2 wrong usage, 3 could not be done.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("unknown command %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &exitError{exitUsage, fmt.Errorf("%w", err)}
	})
	root.AddGroup(
		&cobra.Group{ID: groupMain, Title: "Main:"},
		&cobra.Group{ID: groupCluster, Title: "Cluster:"},
		&cobra.Group{ID: groupDevelopment, Title: "Development:"},
	)
	root.SetHelpCommandGroupID(groupDevelopment)
	root.SetCompletionCommandGroupID(groupDevelopment)
	for _, c := range []struct {
		group string
		cmd   *cobra.Command
	}{
		{groupMain, newDoctorCmd(a)},
		{groupMain, newBenchCmd(a)},
		{groupMain, newExporterCmd(a)},
		{groupMain, newAuditCmd(a)},
		{groupCluster, newSysctlCmd(a)},
		{groupCluster, newHealthCmd(a)},
		{groupCluster, newTopologyCmd(a)},
		{groupCluster, newSlotCmd(a)},
		{groupCluster, newSkewCmd(a)},
		{groupCluster, newCacheCmd(a)},
		{groupDevelopment, newDemoCmd(a)},
		{groupDevelopment, newLabCmd(a)},
		{groupDevelopment, newPoolCmd(a)},
		{groupDevelopment, newVersionCmd(a)},
	} {
		c.cmd.GroupID = c.group
		root.AddCommand(c.cmd)
	}
	return root
}
