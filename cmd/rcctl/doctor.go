package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rcctl/rcctl/internal/doctor"
	"github.com/rcctl/rcctl/sysctl"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

type doctorOptions struct {
	cluster  clusterFlags
	output   string
	strict   bool
	profile  string
	only     []string
	skip     []string
	hostRoot string
	interval time.Duration
	plan     doctor.Plan
}

// profiles of doctor; the first one is none.
var profiles = []string{"none", "dev", "staging", "prod", "high-concurrency"}

func newDoctorCmd(a *app) *cobra.Command {
	o := &doctorOptions{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what will hurt clients of this cluster on this host, with the fix",
		Long: `doctor looks at this host, at the cluster's server processes on it, and at every
node of the cluster. Each line says what it found, in whose scope (process,
network namespace, cgroup, host, node, cluster, path), why it matters and how to
mend it. It changes nothing.

Without --cluster it judges this host and the calling shell only.

Exit codes: 0 ok or warnings, 1 findings that fail (with --strict warnings too),
2 wrong usage, 3 the cluster could not be checked. They are the same for every
output format but nagios, which follows the codes of its plugins.`,
		Example: `  rcctl doctor                                  # this host alone
  rcctl doctor --cluster 10.0.0.1:6379 -o json  # host and cluster, for machines`,
		Args: argsCheck(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), a, o) },
	}
	o.register(cmd)
	o.judging(cmd)
	outputFlag(cmd, &o.output, doctorOutputs...)
	cmd.AddCommand(newDoctorListCmd(a), newDoctorExplainCmd(a), newDoctorGatherCmd(a), newDoctorAnalyzeCmd(a), newDoctorDiffCmd(a),
		newDoctorMovedCmd(a), newDoctorChecklistCmd(a), newDoctorFixCmd(a))
	return cmd
}

// doctorOutputs are the formats of a report.
var doctorOutputs = []string{"text", "short", "json", "prom", "nagios"}

// register adds the flags that say what to look at.
func (o *doctorOptions) register(cmd *cobra.Command) {
	o.cluster.register(cmd)
	fl := cmd.Flags()
	fl.IntVar(&o.plan.PID, "pid", 0, "judge this process as the server (`N`, on this host)")
	fl.StringVar(&o.hostRoot, "host-root", "", "read the host whose root is mounted at `dir`")
	fl.DurationVar(&o.interval, "interval", time.Second, "time between the two samples of counters")
	fl.IntVar(&o.plan.PoolSize, "pool-size", 100, "planned connections per node and process")
	fl.IntVar(&o.plan.Instances, "instances", 1, "planned `number` of application processes")
	fl.DurationVar(&o.plan.DialTimeout, "dial-timeout", 500*time.Millisecond, "planned dial timeout of the clients")
	fl.DurationVar(&o.plan.ReadTimeout, "read-timeout", 300*time.Millisecond, "planned read timeout of the clients")
	fl.DurationVar(&o.plan.WriteTimeout, "write-timeout", 300*time.Millisecond, "planned write timeout of the clients")
	fl.DurationVar(&o.plan.IdleTimeout, "idle-timeout", 5*time.Minute, "planned idle time of pooled connections")
	fl.IntVar(&o.plan.DialerRetries, "dialer-retries", 1, "planned dial attempts of the clients")
}

// judging adds the flags that say how to judge.
func (o *doctorOptions) judging(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&o.strict, "strict", false, "warnings fail too")
	fl.StringSliceVar(&o.only, "only", nil, "run these checks only (`ids`, such as T08,C02)")
	fl.StringSliceVar(&o.skip, "skip", nil, "leave these checks out (`ids`)")
	o.profileFlag(cmd)
}

func (o *doctorOptions) profileFlag(cmd *cobra.Command) {
	o.profile = profiles[0]
	cmd.Flags().Var(choice{&o.profile, profiles}, "profile", "what the cluster is for: prod is stricter about replicas, high-concurrency about the kernel")
}

func runDoctor(ctx context.Context, a *app, o *doctorOptions) error {
	sel := doctor.Selection{Only: o.only, Skip: o.skip}
	if _, err := doctor.Judge(&doctor.Snapshot{}, sel); err != nil {
		return usageError("%w", err)
	}
	s, gerr := o.gather(ctx, a)
	if gerr != nil && s == nil {
		return gerr
	}
	report, err := doctor.Judge(s, sel)
	if err != nil {
		return err
	}
	return o.write(a, report, gerr)
}

// write writes a report and turns it into the exit code.
func (o *doctorOptions) write(a *app, r doctor.Report, gerr error) error {
	var err error
	switch o.output {
	case "json":
		err = doctor.WriteJSON(a.stdout, r)
	case "short":
		err = doctor.WriteShort(a.stdout, r)
	case "prom":
		err = doctor.WriteProm(a.stdout, r)
	case "nagios":
		err = doctor.WriteNagios(a.stdout, r, o.strict)
		if code := r.NagiosCode(o.strict); err == nil && code != 0 {
			return &exitError{code: code}
		}
	default:
		if gerr != nil {
			return gerr // one line says all
		}
		err = doctor.WriteText(a.stdout, r, o.textOptions(a))
	}
	if err != nil {
		return err
	}
	if code := r.ExitCode(o.strict); code != 0 {
		return &exitError{code, gerr}
	}
	return nil
}

// gather takes the snapshot. When the cluster could not be checked, both the
// snapshot and the error are there.
func (o *doctorOptions) gather(ctx context.Context, a *app) (*doctor.Snapshot, error) {
	req := doctor.Request{Timeout: o.cluster.timeout, Interval: o.interval, Plan: o.plan}
	for _, c := range []struct {
		flag string
		bad  bool
	}{{"--timeout", o.cluster.timeout <= 0}, {"--interval", o.interval <= 0}, {"--pool-size", o.plan.PoolSize < 1},
		{"--instances", o.plan.Instances < 1}, {"--pid", o.plan.PID < 0}} {
		if c.bad {
			return nil, usageError("%s: must be above 0", c.flag)
		}
	}
	if o.profile != profiles[0] {
		req.Plan.Profile = o.profile
	}
	if o.hostRoot != "" {
		if _, err := os.Stat(o.hostRoot); err != nil {
			return nil, usageError("--host-root: %w", err)
		}
		req.Reader = sysctl.HostRoot(o.hostRoot)
	}
	if o.cluster.given(a) {
		cfg, err := o.cluster.config(a)
		if err != nil {
			return nil, err
		}
		req.Client = cfg
	}
	s, err := doctor.Gather(ctx, req)
	var ce *doctor.ClusterError
	if err != nil && !errors.As(err, &ce) {
		return nil, usageError("%w", err)
	}
	return s, err
}

func (o *doctorOptions) textOptions(a *app) doctor.TextOptions {
	return doctor.TextOptions{Color: useColor(a, o.cluster.noColor), ASCII: !utf8Locale(a)}
}

// useColor: on a terminal, unless the user said no.
func useColor(a *app, noColor bool) bool {
	return !noColor && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb" && isTerminal(a.stdout)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// utf8Locale: the terminal's character set, as the locale has it.
func utf8Locale(a *app) bool {
	for _, v := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if l := strings.ToUpper(a.getenv(v)); l != "" {
			return strings.Contains(l, "UTF-8") || strings.Contains(l, "UTF8")
		}
	}
	return false
}
