package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/rcctl/rcctl/lockcluster"
	"github.com/spf13/cobra"
)

// newCacheCmd is the parent of the commands that look at what lockcluster
// keeps at a key.
func newCacheCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Look at cached keys of lockcluster: freshness, lease, failures",
		Long: `Looks at a key that the package lockcluster keeps: how long its value is fresh,
who loads it, how often that failed. Takes a lease away from a load that is dead.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("unknown command %q: want inspect or unlock", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCacheInspectCmd(a), newCacheUnlockCmd(a))
	return cmd
}

// cacheKeyFlags say which key is meant, and how it is kept.
type cacheKeyFlags struct {
	cluster    clusterFlags
	plain, hex bool
}

func (f *cacheKeyFlags) register(cmd *cobra.Command) {
	f.cluster.register(cmd)
	cmd.Flags().BoolVar(&f.plain, "plain", false, "the cache has PlainValues: the header is in a key of its own")
	cmd.Flags().BoolVar(&f.hex, "hex", false, "KEY is written in hexadecimal")
}

func (f *cacheKeyFlags) key(arg string) (string, error) {
	if !f.hex {
		return arg, nil
	}
	b, err := hex.DecodeString(arg)
	if err != nil {
		return "", usageError("KEY %q is not hexadecimal: %w", arg, err)
	}
	return string(b), nil
}

func newCacheInspectCmd(a *app) *cobra.Command {
	var f cacheKeyFlags
	var output string
	cmd := &cobra.Command{
		Use:   "inspect KEY",
		Short: "Print freshness, lease and failures of a cached key",
		Long: `Prints what lockcluster keeps at a key beside the value, and changes nothing.
The value itself is not printed. Kinds:

  value      a value
  not found  the loader said that there is no such thing
  none       no value: only a lease, failures, or the mark of an invalidation
  plain      a string that another program wrote (with --plain)
  foreign    another type, which the cache leaves alone
  absent     nothing, or (without --plain) a string that is no record

Exit codes: 0 read, whatever it says; 2 wrong usage; 3 the cluster did not answer.`,
		Example: `  rcctl cache inspect --cluster 127.0.0.1:7000 product:1001
  rcctl cache inspect --cluster 127.0.0.1:7000 product:1001 -o json | jq .lease`,
		Args: argsCheck(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCacheInspect(cmd.Context(), a, &f, output, args[0])
		},
	}
	f.register(cmd)
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

func runCacheInspect(ctx context.Context, a *app, f *cacheKeyFlags, output, arg string) error {
	key, err := f.key(arg)
	if err != nil {
		return err
	}
	c, err := f.cluster.connect(ctx, a)
	if err != nil {
		return err
	}
	defer c.Close()
	rec, _, err := lockcluster.Inspect(ctx, c.Client(), key, f.plain)
	if err != nil && !errors.Is(err, lockcluster.ErrNotFound) {
		return err
	}
	if output == "json" {
		return writeJSON(a, newCacheRecord(key, rec))
	}
	return writeCacheRecord(a, key, rec)
}

// cacheRecord is the JSON of cache inspect. Times are what is left, in
// milliseconds, zero when over.
type cacheRecord struct {
	Key        *string `json:"key"`
	KeyHex     string  `json:"key_hex,omitempty"`
	Kind       string  `json:"kind"`
	Bytes      int     `json:"bytes"`
	FreshMS    int64   `json:"fresh_ms"`
	StaleMS    int64   `json:"stale_ms"`
	LoadMS     int64   `json:"load_ms"`
	Generation int64   `json:"generation"`
	FillID     string  `json:"fill_id,omitempty"`
	Lease      string  `json:"lease,omitempty"`
	LeaseMS    int64   `json:"lease_ms"`
	Waited     bool    `json:"waited"`
	Failures   int     `json:"failures"`
	CoolingMS  int64   `json:"cooling_ms"`
}

func newCacheRecord(key string, r lockcluster.Record) cacheRecord {
	c := cacheRecord{Kind: r.Kind, Bytes: r.Bytes, FreshMS: r.FreshFor.Milliseconds(), StaleMS: r.StaleFor.Milliseconds(),
		LoadMS: r.LoadTime.Milliseconds(), Generation: r.Generation, FillID: r.FillID, Lease: r.Lease,
		LeaseMS: r.LeaseFor.Milliseconds(), Waited: r.Waited, Failures: r.Failures, CoolingMS: r.CoolingFor.Milliseconds()}
	c.Key, c.KeyHex = jsonText(key)
	return c
}

func writeCacheRecord(a *app, key string, r lockcluster.Record) error {
	tw := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(tw, name+"\t"+format+"\n", args...) }
	line("key", "%s", printable(key))
	line("kind", "%s", r.Kind)
	if r.Kind == "value" || r.Kind == "plain" {
		line("bytes", "%d", r.Bytes)
	}
	if r.Kind == "value" || r.Kind == "not found" {
		line("fresh for", "%s", leftOr(r.FreshFor, "over"))
		line("gone in", "%s", leftOr(r.StaleFor, "over"))
		line("loaded in", "%s", r.LoadTime)
		line("generation", "%d", r.Generation)
	}
	if r.FillID != "" {
		line("written by", "%s", r.FillID)
	}
	if r.Lease != "" {
		waiters := "nobody waits"
		if r.Waited {
			waiters = "somebody waits"
		}
		line("lease", "%s for %s, %s", r.Lease, r.LeaseFor, waiters)
	}
	if r.Failures > 0 {
		line("failed loads", "%d in a row, rests for %s", r.Failures, r.CoolingFor)
	}
	return tw.Flush()
}

func leftOr(d time.Duration, over string) string {
	if d == 0 {
		return over
	}
	return d.String()
}

func newCacheUnlockCmd(a *app) *cobra.Command {
	var f cacheKeyFlags
	var token string
	cmd := &cobra.Command{
		Use:   "unlock KEY --token TOKEN",
		Short: "Take the lease of a key away from a load that is dead",
		Long: `Takes the lease of a key away from the load that holds it. The token, which
"rcctl cache inspect" shows, makes sure that no other load is hit. The value that
the load may still bring is refused, and somebody who waits loads.

A lease that nobody renews ends by itself, after a second by default: this is for
long leases.

Exit codes: 0 unlocked; 1 the token holds nothing, or no longer; 2 wrong usage;
3 the cluster did not answer.`,
		Example: `  rcctl cache unlock --cluster 127.0.0.1:7000 product:1001 --token 9f0c1a2b3c4d00000000000a`,
		Args:    argsCheck(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCacheUnlock(cmd.Context(), a, &f, token, args[0])
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&token, "token", "", "`token` of the lease, 24 hexadecimal digits, as inspect shows it")
	return cmd
}

func runCacheUnlock(ctx context.Context, a *app, f *cacheKeyFlags, token, arg string) error {
	key, err := f.key(arg)
	if err != nil {
		return err
	}
	if raw, err := hex.DecodeString(token); err != nil || len(raw) != 12 {
		return usageError("--token %q: want the 24 hexadecimal digits that 'rcctl cache inspect' shows", token)
	}
	c, err := f.cluster.connect(ctx, a)
	if err != nil {
		return err
	}
	defer c.Close()
	err = lockcluster.Unlock(ctx, c.Client(), key, token, f.plain)
	if errors.Is(err, lockcluster.ErrNotHeld) {
		return &exitError{exitFindings, err}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "unlocked %s\n", printable(key))
	return nil
}
