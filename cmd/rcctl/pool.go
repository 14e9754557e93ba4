package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rcctl/rcctl/pool"
	"github.com/spf13/cobra"
)

func newPoolCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pool",
		Short: "Size connection pools, and explain what a pool's settings mean",
		Args:  argsCheck(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPoolPlanCmd(a), newPoolExplainCmd(a))
	return cmd
}

// poolFlags are the fields of a pool.Config, as flags.
type poolFlags struct {
	url    string
	values map[string]*string
}

// The flags and the parameters of pool.FromURL that they set.
var poolSettings = []struct{ flag, param, usage string }{
	{"profile", "profile", "`lan or cloud`: the defaults of the timeouts"},
	{"pool-size", "pool_size", "most connections per node, a `number` (default 100)"},
	{"min-idle-conns", "min_idle_conns", "ready connections per master, a `number` (default 20, -1 for none)"},
	{"max-retries", "max_retries", "further attempts per command, a `number` (default 3, -1 for none)"},
	{"node-retries", "node_retries", "further attempts at one node for each of these, a `number`"},
	{"dial-timeout", "dial_timeout", "`duration` of a dial at most (default 500ms)"},
	{"read-timeout", "read_timeout", "`duration` of a read at most (default 300ms)"},
	{"write-timeout", "write_timeout", "`duration` of a write at most (default 300ms)"},
	{"pool-timeout", "pool_timeout", "`duration` of the wait for a connection at most (default 1s)"},
	{"conn-max-idle-time", "conn_max_idle_time", "close connections idle for this `duration` (default 5m)"},
	{"op-budget", "op_budget", "refuse settings with which one command takes longer than this `duration`"},
}

func (f *poolFlags) register(cmd *cobra.Command, without ...string) {
	f.values = make(map[string]*string)
	cmd.Flags().StringVar(&f.url, "url", "", "settings as a `redis:// URL` (env RCCTL_URL)")
	for _, s := range poolSettings {
		if strings.Contains(strings.Join(without, " "), s.flag) {
			continue
		}
		f.values[s.param] = cmd.Flags().String(s.flag, "", s.usage)
	}
}

// config reads the flags, over the URL, over the environment.
func (f *poolFlags) config(a *app) (pool.Config, error) {
	raw := f.url
	if raw == "" {
		raw = a.getenv("RCCTL_URL")
	}
	if raw == "" {
		seeds := a.getenv("RCCTL_CLUSTER")
		if seeds == "" {
			seeds = "127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002"
		}
		raw = "redis://" + seeds
	}
	base, query, _ := strings.Cut(raw, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		return pool.Config{}, usageError("--url: %w", err)
	}
	for param, v := range f.values {
		if *v != "" {
			q.Set(param, *v)
		}
	}
	c, err := pool.FromURL(base + "?" + q.Encode())
	if err != nil {
		return c, &exitError{exitUsage, err}
	}
	return c, nil
}

type poolPlanOptions struct {
	pool   poolFlags
	demand pool.Demand
	output string
}

func newPoolPlanCmd(a *app) *cobra.Command {
	var o poolPlanOptions
	cmd := &cobra.Command{
		Use:   "plan --rate N --p99 DURATION --masters N --instances N",
		Short: "Size the pools for a load, and show what follows from the size",
		Long: `Size the pools for a load by Little's law: commands a second to one master from
one instance, times how long a connection is busy with one, times the headroom.
Shows the connections per node and in total against maxclients, ports and open
files, and what one command costs at worst.

Exit code 1 when the plan cannot work.`,
		Example: "  rcctl pool plan --rate 50000 --p99 2ms --masters 3 --replicas 1 --instances 40 --maxclients 10000",
		Args:    argsCheck(cobra.NoArgs),
		RunE:    func(*cobra.Command, []string) error { return runPoolPlan(a, &o) },
	}
	fl := cmd.Flags()
	fl.Float64Var(&o.demand.Rate, "rate", 0, "commands a second, all instances together")
	fl.DurationVar(&o.demand.P99, "p99", 0, "how long a command takes, p99")
	fl.IntVar(&o.demand.Masters, "masters", 3, "masters")
	fl.IntVar(&o.demand.Replicas, "replicas", 1, "replicas of each master")
	fl.IntVar(&o.demand.Instances, "instances", 1, "processes with a pool")
	fl.IntVar(&o.demand.MaxClients, "maxclients", 10000, "maxclients of the servers")
	fl.Float64Var(&o.demand.Headroom, "headroom", 2, "for bursts and uneven masters: times what is needed on average")
	o.pool.register(cmd, "pool-size", "min-idle-conns")
	outputFlag(cmd, &o.output, "text", "json")
	return cmd
}

func runPoolPlan(a *app, o *poolPlanOptions) error {
	if o.demand.Rate == 0 || o.demand.P99 == 0 {
		return usageError("give --rate (commands a second) and --p99 (how long one takes, such as 2ms)")
	}
	cfg, err := o.pool.config(a)
	if err != nil {
		return err
	}
	p, err := cfg.Plan(o.demand)
	if errors.Is(err, pool.ErrConfig) {
		return &exitError{exitUsage, err}
	}
	if err != nil {
		return err
	}
	if o.output == "json" {
		err = json.NewEncoder(a.stdout).Encode(newPoolPlanJSON(p, o.demand))
	} else {
		err = writePoolPlan(a.stdout, p, o.demand)
	}
	if err == nil && len(p.Problems) > 0 {
		return &exitError{code: exitFindings}
	}
	return err
}

func writePoolPlan(w io.Writer, p pool.Plan, d pool.Demand) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, value, why string) { fmt.Fprintf(tw, "%s\t%s\t%s\n", name, value, why) }
	perNode := d.Rate / float64(d.Instances) / float64(d.Masters)
	row("PoolSize", strconv.Itoa(p.PoolSize), fmt.Sprintf("%.0f/s to a master from an instance x %s = %.2f busy, x %g and bursts, at least 10", perNode, d.P99, p.Busy, d.Headroom))
	row("MinIdleConns", strconv.Itoa(p.MinIdleConns), "kept ready per master")
	row("connections", strconv.Itoa(p.Conns.PerProcess), "per instance, to all masters, at most")
	row("", strconv.Itoa(p.AtServer), fmt.Sprintf("at a master, its replicas included; maxclients is %d (%.0f %%)", p.MaxClients, 100*float64(p.AtServer)/float64(p.MaxClients)))
	row("", strconv.Itoa(p.Conns.Total), "in total")
	row("ports", strconv.Itoa(p.Ports), "local ports of an instance towards one node (net.ipv4.ip_local_port_range; per host: times the instances on it)")
	row("nofile", strconv.Itoa(p.NoFile), "open files of an instance: twice the connections, since a failover doubles a pool for a while")
	row("waiting", strconv.Itoa(p.Waiting), "callers of an instance that a stalled master holds until its breaker opens")
	writeWorst(row, p.Worst)
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, s := range p.Problems {
		fmt.Fprintf(w, "problem: %s\n", s)
	}
	for _, s := range p.Notes {
		fmt.Fprintf(w, "note: %s\n", s)
	}
	for _, s := range p.Conns.Apart {
		fmt.Fprintf(w, "on top: %s\n", s)
	}
	return nil
}

func writeWorst(row func(name, value, why string), w pool.WorstCase) {
	ms := func(d time.Duration) string { return d.Round(time.Millisecond).String() }
	row("worst case", ms(w.BlackHole.Time), "one command, packets to the node vanish")
	row("", ms(w.Stalled.Time), fmt.Sprintf("the node stalls; runs up to %d times", w.Stalled.Executions))
	row("", ms(w.PoolFull.Time), "no connection becomes free")
	row("", ms(w.AllBad.Time), "everything takes as long as it may")
}

type costJSON struct {
	Ms         float64 `json:"ms"`
	Executions int     `json:"executions"`
}

type worstJSON struct {
	BlackHole costJSON `json:"black_hole"`
	Stalled   costJSON `json:"stalled"`
	PoolFull  costJSON `json:"pool_full"`
	AllBad    costJSON `json:"all_bad"`
}

func newWorstJSON(w pool.WorstCase) worstJSON {
	c := func(c pool.Cost) costJSON {
		return costJSON{float64(c.Time) / float64(time.Millisecond), c.Executions}
	}
	return worstJSON{c(w.BlackHole), c(w.Stalled), c(w.PoolFull), c(w.AllBad)}
}

type poolPlanJSON struct {
	Schema       string    `json:"schema"`
	PoolSize     int       `json:"pool_size"`
	MinIdleConns int       `json:"min_idle_conns"`
	Busy         float64   `json:"busy"`
	PerInstance  int       `json:"connections_per_instance"`
	AtServer     int       `json:"connections_at_master"`
	Total        int       `json:"connections_total"`
	MaxClients   int       `json:"maxclients"`
	Ports        int       `json:"ports"`
	NoFile       int       `json:"nofile"`
	Waiting      int       `json:"waiting"`
	Worst        worstJSON `json:"worst_case"`
	Problems     []string  `json:"problems"`
	Notes        []string  `json:"notes"`
	OnTop        []string  `json:"on_top"`
}

func newPoolPlanJSON(p pool.Plan, d pool.Demand) poolPlanJSON {
	return poolPlanJSON{
		Schema: "rcctl.pool.plan.v1", PoolSize: p.PoolSize, MinIdleConns: p.MinIdleConns, Busy: p.Busy,
		PerInstance: p.Conns.PerProcess, AtServer: p.AtServer, Total: p.Conns.Total, MaxClients: p.MaxClients,
		Ports: p.Ports, NoFile: p.NoFile, Waiting: p.Waiting, Worst: newWorstJSON(p.Worst),
		Problems: orEmpty(p.Problems), Notes: orEmpty(p.Notes), OnTop: orEmpty(p.Conns.Apart),
	}
}

// orEmpty makes a list that is never null in JSON.
func orEmpty(s []string) []string { return append([]string{}, s...) }

type poolExplainOptions struct {
	pool   poolFlags
	output string
}

func newPoolExplainCmd(a *app) *cobra.Command {
	var o poolExplainOptions
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Show the options that settings lead to, why, and the worst case",
		Long: `Show the options that go-redis gets from settings, where each comes from and
why it is what it is, what the pool does by itself, and what one command costs at
worst, with plain go-redis and the same settings beside it.`,
		Example: `  rcctl pool explain
  rcctl pool explain --url 'redis://app:secret@10.0.0.1:6379?pool_size=50' --node-retries 3`,
		Args: argsCheck(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return runPoolExplain(a, &o) },
	}
	o.pool.register(cmd)
	outputFlag(cmd, &o.output, "text", "json")
	return cmd
}

func runPoolExplain(a *app, o *poolExplainOptions) error {
	cfg, err := o.pool.config(a)
	if err != nil {
		return err
	}
	e, err := cfg.Explain()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if o.output == "json" {
		return json.NewEncoder(a.stdout).Encode(struct {
			Schema   string         `json:"schema"`
			Settings []pool.Setting `json:"settings"`
			Worst    worstJSON      `json:"worst_case"`
			GoRedis  worstJSON      `json:"worst_case_go_redis"`
			Notes    []string       `json:"notes"`
		}{"rcctl.pool.explain.v1", e.Settings, newWorstJSON(e.Worst), newWorstJSON(e.GoRedis), orEmpty(e.Notes)})
	}
	return writePoolExplain(a.stdout, e)
}

func writePoolExplain(w io.Writer, e pool.Explanation) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SETTING\tVALUE\tFROM\tWHY")
	for _, s := range e.Settings {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", s.Name, s.Value, s.Origin, s.Why)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	tw = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "WORST CASE OF ONE COMMAND\tTIME\tRUNS\tPLAIN GO-REDIS\tRUNS")
	for _, r := range []struct {
		name        string
		ours, plain pool.Cost
	}{
		{"black hole: packets to the node vanish", e.Worst.BlackHole, e.GoRedis.BlackHole},
		{"stalled: the node answers nothing in time", e.Worst.Stalled, e.GoRedis.Stalled},
		{"pool full: no connection becomes free", e.Worst.PoolFull, e.GoRedis.PoolFull},
		{"all bad: everything takes as long as it may", e.Worst.AllBad, e.GoRedis.AllBad},
	} {
		fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%d\n", r.name, r.ours.Time.Round(time.Millisecond), r.ours.Executions,
			r.plain.Time.Round(time.Millisecond), r.plain.Executions)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, n := range e.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	return nil
}
