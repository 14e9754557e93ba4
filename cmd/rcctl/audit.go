package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rcctl/rcctl/audit"
	"github.com/spf13/cobra"
)

type auditOptions struct {
	dir    string
	rules  []string
	tags   string
	output string
	fix    bool
	list   bool
}

func newAuditCmd(a *app) *cobra.Command {
	var o auditOptions
	cmd := &cobra.Command{
		Use:   "audit [PACKAGES...]",
		Short: "Find every place in Go code with the same mistake in its use of Redis",
		Long: `Look through Go packages that use go-redis for mistakes that hurt in production:
clients made per request, locks without owner, cache fills that stampede, keys
in different slots. Packages are those of the go command; none means ./...

It needs the go command and the modules in the module cache, no network. Code
that does not compile is looked at as far as it goes, and listed.

A comment "//rcctl:ignore RULE REASON" on the line or above it silences one
rule there. As a tool of go vet: audit/rcctl-vet.

Exit codes: 0 no findings, or only information; 1 findings; 2 wrong usage;
3 nothing could be loaded.`,
		Example: `  rcctl audit ./...
  rcctl audit --rule unlockedfill,nakedlock -o sarif ./... > audit.sarif
  rcctl audit --fix ./...`,
		RunE: func(cmd *cobra.Command, args []string) error { return runAudit(cmd.Context(), a, &o, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.dir, "dir", "C", "", "`folder` of the module (default: the working directory)")
	f.StringSliceVar(&o.rules, "rule", nil, "only these `rules`, separated by commas (default: all)")
	f.StringVar(&o.tags, "tags", "", "build `tags`, separated by commas")
	f.BoolVar(&o.fix, "fix", false, "change the files where a safe change is known")
	f.BoolVar(&o.list, "list", false, "list the rules and stop")
	outputFlag(cmd, &o.output, "text", "json", "sarif")
	return cmd
}

func runAudit(ctx context.Context, a *app, o *auditOptions, args []string) error {
	if o.list {
		for _, r := range audit.Rules() {
			kind := ""
			if r.Information {
				kind = " (information)"
			}
			fmt.Fprintf(a.stdout, "%-17s %s%s\n", r.ID(), r.Title(), kind)
		}
		return nil
	}
	res, err := audit.Run(ctx, audit.Options{Dir: o.dir, Patterns: args, Rules: o.rules, Tags: o.tags})
	var unknown *audit.UnknownRuleError
	if errors.As(err, &unknown) {
		return usageError("--rule: %v", err)
	}
	if err != nil {
		return err
	}
	switch o.output {
	case "json":
		err = res.WriteJSON(a.stdout)
	case "sarif":
		err = res.WriteSARIF(a.stdout)
	default:
		err = res.WriteText(a.stdout)
	}
	if err != nil {
		return err
	}
	if o.fix {
		files, fixed, err := res.Fix()
		fmt.Fprintf(a.stderr, "fixed %d of %d findings in %d files\n", fixed, len(res.Findings), len(files))
		if err != nil {
			return err
		}
	}
	if res.Failing() > 0 {
		return &exitError{exitFindings, nil}
	}
	return nil
}
