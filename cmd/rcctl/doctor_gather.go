package main

import (
	"context"
	"encoding/json"
	"io"
	"os"

	"github.com/rcctl/rcctl/internal/doctor"
	"github.com/spf13/cobra"
)

func newDoctorGatherCmd(a *app) *cobra.Command {
	o := &doctorOptions{}
	var out string
	cmd := &cobra.Command{
		Use:   "gather",
		Short: "Save what the checks look at, to be judged later or elsewhere",
		Long: `gather writes a snapshot of this host and, with --cluster, of the cluster as
JSON: the same that doctor judges. It holds no passwords. Judge one or many with
rcctl doctor analyze, compare two with rcctl doctor diff.`,
		Example: `  rcctl doctor gather --cluster 10.0.0.1:6379 -o host.json`,
		Args:    argsCheck(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDoctorGather(cmd.Context(), a, o, out) },
	}
	o.register(cmd)
	o.profileFlag(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "-", "`file` to write, - for standard output")
	return cmd
}

func runDoctorGather(ctx context.Context, a *app, o *doctorOptions, out string) error {
	s, gerr := o.gather(ctx, a)
	if s == nil {
		return gerr
	}
	w := a.stdout
	if out != "-" {
		f, err := os.OpenFile(out, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return usageError("--output: %w", err)
		}
		defer f.Close()
		w = f
	}
	if err := doctor.WriteJSON(w, s); err != nil {
		return err
	}
	return gerr
}

// readSnapshot reads a file that gather wrote; "-" is standard input.
func readSnapshot(a *app, name string) (*doctor.Snapshot, error) {
	r := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usageError("%w", err)
		}
		defer f.Close()
		r = f
	}
	var s doctor.Snapshot
	if err := json.NewDecoder(io.LimitReader(r, 1<<30)).Decode(&s); err != nil {
		return nil, usageError("%s: not a snapshot: %w", name, err)
	}
	if s.Schema != doctor.Schema || s.Kind != "snapshot" {
		return nil, usageError("%s: schema %q, kind %q; want %q and \"snapshot\" (rcctl doctor gather writes it)", name, s.Schema, s.Kind, doctor.Schema)
	}
	return &s, nil
}
