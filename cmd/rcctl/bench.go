package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rcctl/rcctl/bench"
	"github.com/rcctl/rcctl/pool"
	"github.com/spf13/cobra"
)

// benchOptions are the flags of rcctl bench.
type benchOptions struct {
	cluster      clusterFlags
	run          bench.Options
	workers      string
	mix          string
	readTimeout  time.Duration
	writeTimeout time.Duration
	poolSize     int
	assert       string
	out          string
	output       string
}

func newBenchCmd(a *app) *cobra.Command {
	cmd := newBenchRunCmd(a, "bench")
	cmd.AddCommand(newBenchRunCmd(a, "run"), newBenchReshardCmd(a), newBenchFailoverCmd(a),
		newBenchStormCmd(a), newBenchStampedeCmd(a), newBenchCompareCmd(a))
	return cmd
}

// newBenchRunCmd makes "bench" and "bench run", which are the same.
func newBenchRunCmd(a *app, use string) *cobra.Command {
	o := &benchOptions{}
	cmd := &cobra.Command{
		Use:   use,
		Short: "Measure what a client does on a cluster: latency, redirects, and what limits it",
		Long: `Makes load on a cluster and reports latency as callers on a schedule see it,
MOVED and ASK redirects by node (compared with the servers' own counts), errors
by kind, and what limited the run.

With --rate the loop is open: request i is sent at start + i/rate whatever
became of those before. Two histograms are kept: service (from send to reply)
and intended (from the due time to the reply). Without --rate each of --workers
sends its next request after its last reply.

The run writes keys of its own prefix with a TTL and deletes them at the end.
Ctrl-C ends it early with a complete report.

Exit codes: 0 done, 1 an assertion failed or no operation succeeded, 2 wrong
usage, 3 the cluster could not be reached or is in use by others.`,
		Example: `  rcctl bench --cluster 127.0.0.1:7000 --rate 2000 --duration 10s --out run.json
  rcctl bench --cluster 127.0.0.1:7000 --workers 50 --mix get=50,set=50 --dist zipf
  rcctl bench --cluster 127.0.0.1:7000 --rate 3000 --assert 'p99<5ms,moved<0.1%,errors=0,rate>=0.99'`,
		Args: argsCheck(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runBench(cmd.Context(), a, o, nil) },
	}
	o.cluster.register(cmd)
	o.register(cmd)
	outputFlag(cmd, &o.output, "text", "json")
	return cmd
}

func (o *benchOptions) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	r := &o.run
	fl.Float64Var(&r.Rate, "rate", 0, "operations per second of an open loop (0: closed loop)")
	fl.DurationVar(&r.Duration, "duration", 10*time.Second, "measured time")
	fl.DurationVar(&r.Warmup, "warmup", 0, "load before it that is not measured")
	fl.StringVar(&o.workers, "workers", "50", "most requests in flight, a `number` or unlimited")
	fl.StringVar(&r.Engine, "engine", bench.EnginePool, "client to measure: pool (this library) or go-redis (plain client, same timeouts)")
	fl.IntVar(&r.Pipeline, "pipeline", 1, "commands sent together")
	fl.BoolVar(&r.AutoPipeline, "auto-pipeline", false, "let go-redis gather commands into pipelines")
	fl.StringVar(&o.mix, "mix", "get=90,set=10", "operations and their weights")
	fl.IntVar(&r.Keys, "keys", 10_000, "number of keys")
	fl.IntVar(&r.ValueSize, "value-size", 64, "bytes per value")
	fl.StringVar(&r.Dist.Name, "dist", bench.DistUniform, "choice of keys: uniform, zipf, hotset or sequential")
	fl.Float64Var(&r.Dist.Theta, "theta", 0.99, "skew of zipf, above 0 and below 1")
	fl.Float64Var(&r.Dist.HotKeys, "hot-keys", 0.01, "share of the keys that are hot, for hotset")
	fl.Float64Var(&r.Dist.HotShare, "hot-share", 0.9, "share of the operations on them, for hotset")
	fl.Uint64Var(&r.Seed, "seed", 0, "makes the run repeatable (default: random, reported)")
	fl.StringVar(&r.Prefix, "prefix", "rcctl-bench", "how the names of the keys start")
	fl.BoolVar(&r.NoPreload, "no-preload", false, "do not write all keys first")
	fl.DurationVar(&o.readTimeout, "read-timeout", 300*time.Millisecond, "read timeout of the client")
	fl.DurationVar(&o.writeTimeout, "write-timeout", 300*time.Millisecond, "write timeout of the client")
	fl.IntVar(&o.poolSize, "pool-size", 100, "most connections per node")
	fl.StringVar(&o.assert, "assert", "", "`clauses` that must hold, or exit 1: 'p99<5ms,moved<0.1%,errors=0,rate>=0.99'")
	fl.BoolVar(&r.Staging, "yes-this-is-staging", false, "run although other clients or keys are there (env RCCTL_STAGING=1)")
	fl.StringVar(&o.out, "out", "", "write the result as JSON to this `file`")
}

// options are what the flags ask for. Errors are usage errors.
func (o *benchOptions) options(a *app) (bench.Options, error) {
	r := o.run
	var errs []error
	check := func(wrong bool, flag string, value any, fix string) {
		if wrong {
			errs = append(errs, fmt.Errorf("--%s %v: %s", flag, value, fix))
		}
	}
	// Zero means the default to the library and nonsense on a command line.
	check(r.Keys == 0, "keys", 0, "want 1 or more")
	check(r.ValueSize == 0, "value-size", 0, "want 1 or more bytes")
	check(r.Pipeline == 0, "pipeline", 0, "want 1 or more")
	check(r.Engine == "", "engine", `""`, "want pool or go-redis")
	check(o.poolSize < 1 || o.poolSize > 10_000, "pool-size", o.poolSize, "want 1 to 10000 connections per node")
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"read-timeout", o.readTimeout}, {"write-timeout", o.writeTimeout}} {
		check(d.value < time.Millisecond || d.value > 10*time.Minute, d.flag, d.value, "want 1ms to 10m, such as 300ms")
	}
	if o.workers == "unlimited" {
		r.Workers = bench.Unlimited
	} else if n, err := strconv.Atoi(o.workers); err != nil || n < 1 {
		check(true, "workers", o.workers, "want a number from 1, or unlimited")
	} else {
		r.Workers = n
	}
	var err error
	if r.Mix, err = bench.ParseMix(o.mix); err != nil {
		errs = append(errs, flagErrors(err))
		r.Mix = nil // Validate would say it again
	}
	if err = r.Validate(); err != nil {
		errs = append(errs, flagErrors(err))
	}
	if err := errors.Join(errs...); err != nil {
		return r, &exitError{exitUsage, err}
	}
	if r.Cluster, err = o.cluster.config(a); err != nil {
		return r, err
	}
	r.Cluster.ReadTimeout, r.Cluster.WriteTimeout, r.Cluster.PoolSize = o.readTimeout, o.writeTimeout, o.poolSize
	r.Cluster.MinIdleConns = min(20, o.poolSize)
	r.Cluster.Logger = slog.New(slog.DiscardHandler) // the report says it all
	r.Staging = r.Staging || a.getenv("RCCTL_STAGING") == "1"
	return r, nil
}

// flagErrors names the flags in errors that name fields.
func flagErrors(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var errs []error
		for _, e := range joined.Unwrap() {
			errs = append(errs, flagErrors(e))
		}
		return errors.Join(errs...)
	}
	var oe *bench.OptionError
	if !errors.As(err, &oe) {
		return err
	}
	return fmt.Errorf("--%s %s: %s", flagName(oe.Option), oe.Value, oe.Fix)
}

// flagName turns ValueSize into value-size and TTLs into ttls.
func flagName(field string) string {
	var b strings.Builder
	lower := false
	for _, r := range field {
		upper := unicode.IsUpper(r)
		if upper && lower {
			b.WriteByte('-')
		}
		lower = !upper
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// runBench runs with a fault, or without one where it is nil.
func runBench(ctx context.Context, a *app, o *benchOptions, fault bench.Fault) error {
	opts, err := o.options(a)
	if err != nil {
		return err
	}
	opts.Fault = fault
	var asserts []bench.Assertion
	if o.assert != "" {
		if asserts, err = bench.ParseAssertions(o.assert); err != nil {
			return usageError("--assert: %w", err)
		}
	}
	out, err := openResultFile(o.out)
	if err != nil {
		return usageError("--out: %w", err)
	}
	defer out.discard()
	line := newProgressLine(a.stderr)
	opts.Progress = line.show
	res, err := bench.Run(ctx, opts)
	line.clear()
	if err != nil {
		return benchError(err)
	}
	res.Version = readVersion().Version
	if err := out.write(res); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if o.output == "json" {
		err = res.WriteJSON(a.stdout)
	} else {
		err = res.WriteText(a.stdout)
	}
	if err != nil {
		return err
	}
	return benchVerdict(res, asserts)
}

func benchError(err error) error {
	if errors.Is(err, bench.ErrOtherTraffic) {
		return fmt.Errorf("%w; a benchmark would disturb them. If this is a staging cluster say so: --yes-this-is-staging, or RCCTL_STAGING=1", err)
	}
	if errors.Is(err, pool.ErrConfig) {
		return &exitError{exitUsage, err}
	}
	return err
}

// benchVerdict is exit code 1 where the result is not what was asked for.
func benchVerdict(res *bench.Result, asserts []bench.Assertion) error {
	var failed []error
	for _, c := range asserts {
		if ok, got := c.Check(res); !ok {
			failed = append(failed, fmt.Errorf("--assert %s: not so, it is %s", c, got))
		}
	}
	if res.Interrupted && len(asserts) > 0 {
		failed = append(failed, errors.New("--assert: the run was interrupted"))
	}
	if len(failed) == 0 && res.Operations == res.Errors && !res.Interrupted {
		failed = append(failed, errors.New("no operation succeeded"))
	}
	if len(failed) > 0 {
		return &exitError{exitFindings, errors.Join(failed...)}
	}
	return nil
}

// A resultFile is written at the end and proven writable at the start, so that
// a run is not lost to a wrong path nor an old result to a failed run.
type resultFile struct {
	path string
	tmp  *os.File
}

func openResultFile(path string) (*resultFile, error) {
	f := &resultFile{path: path}
	if path == "" {
		return f, nil
	}
	fi, err := os.Stat(path)
	if err == nil && fi.IsDir() {
		return nil, fmt.Errorf("%s is a directory: name a file", path)
	}
	if err == nil && !fi.Mode().IsRegular() {
		f.tmp, err = os.OpenFile(path, os.O_WRONLY, 0)
		f.path = ""
		return f, err
	}
	f.tmp, err = os.CreateTemp(filepath.Dir(path), ".rcctl-bench-*")
	return f, err
}

func (f *resultFile) write(res *bench.Result) error {
	if f.tmp == nil {
		return nil
	}
	if err := res.WriteJSON(f.tmp); err != nil {
		return err
	}
	if f.path == "" {
		return nil
	}
	if err := f.tmp.Chmod(0o644); err != nil {
		return err
	}
	if err := f.tmp.Close(); err != nil {
		return err
	}
	err := os.Rename(f.tmp.Name(), f.path)
	if err == nil {
		f.tmp = nil
	}
	return err
}

func (f *resultFile) discard() {
	if f == nil || f.tmp == nil {
		return
	}
	_ = f.tmp.Close()
	if f.path != "" {
		_ = os.Remove(f.tmp.Name())
	}
}
