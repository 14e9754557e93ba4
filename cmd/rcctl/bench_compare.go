package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rcctl/rcctl/bench"
	"github.com/spf13/cobra"
)

func newBenchCompareCmd(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "compare BASE NEW [NEW...]",
		Short: "Tell whether runs differ or it is noise",
		Long: `Compares results that bench --out wrote: every NEW with BASE. Each of them is a
file, a directory of *.json files, or a quoted pattern. With five runs or more
on each side a Mann-Whitney test tells a difference from noise (~). Workloads
that are not alike are refused; engine and client settings may differ.`,
		Example: `  for i in 1 2 3 4 5; do
    rcctl bench --cluster 127.0.0.1:7000 --rate 2000 --engine go-redis --out plain/$i.json
    rcctl bench --cluster 127.0.0.1:7000 --rate 2000 --engine pool     --out pool/$i.json
  done
  rcctl bench compare plain pool
  rcctl bench compare -o benchstat plain pool > runs.txt`,
		Args: argsCheck(cobra.MinimumNArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error { return runBenchCompare(a, output, args) },
	}
	outputFlag(cmd, &output, "text", "json", "benchstat")
	return cmd
}

func runBenchCompare(a *app, output string, args []string) error {
	var sets []bench.RunSet
	for _, arg := range args {
		s, err := readRuns(arg)
		if err != nil {
			return usageError("%s: %w", arg, err)
		}
		sets = append(sets, s)
	}
	if output == "benchstat" {
		return bench.WriteBenchstat(a.stdout, sets...)
	}
	for i, s := range sets[1:] {
		c, err := bench.Compare(sets[0], s)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		if i > 0 && output == "text" {
			fmt.Fprintln(a.stdout)
		}
		if err := writeBenchReport(a, output, c); err != nil {
			return err
		}
	}
	return nil
}

// readRuns reads a file, the *.json files of a directory, or those that a
// pattern matches.
func readRuns(arg string) (bench.RunSet, error) {
	s := bench.RunSet{Label: arg}
	pattern := arg
	if fi, err := os.Stat(arg); err == nil && fi.IsDir() {
		pattern = filepath.Join(arg, "*.json")
	}
	names, err := filepath.Glob(pattern)
	if err != nil {
		return s, err
	}
	if len(names) == 0 {
		return s, fmt.Errorf("no such file, or no *.json file in it")
	}
	for _, name := range names {
		r, err := readRun(name)
		if err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
		s.Runs = append(s.Runs, r)
	}
	return s, nil
}

func readRun(name string) (*bench.Result, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return bench.ReadResult(f)
}
