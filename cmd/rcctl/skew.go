package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/rcctl/rcctl/hashtag"
	"github.com/spf13/cobra"
)

type skewOptions struct {
	cluster clusterFlags
	keys    keyFlags
	scan    scanOptions
	output  string
}

func newSkewCmd(a *app) *cobra.Command {
	var o skewOptions
	cmd := &cobra.Command{
		Use:   "skew [-]",
		Short: "Find hot slots, uneven nodes and tags that pin a keyspace to one slot",
		Long: `Say how evenly keys are spread over slots and nodes, and name the static tags:
hash tags that put 1 % or more of all keys (and at least 10) into one slot.

With --cluster the keys of every slot are counted, and a sample of keys is read
with SCAN for their tags: one node after the other, a replica where one is in
sync, with a pause after each SCAN, and without touching access times or being
in the way of other clients (CLIENT NO-TOUCH and NO-EVICT, where the server
knows them). With --match the shares of tags are shares of the keys that match.

Without --cluster, or with '-', the keys are read from standard input, one a
line; with both, the owners of the slots are asked from the cluster.`,
		Example: `  rcctl skew --cluster 127.0.0.1:7000
  redis-cli --scan | rcctl skew - --cluster 127.0.0.1:7000 -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && args[0] != "-" {
				return usageError("%q: the only argument is '-', for keys on standard input", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSkew(cmd.Context(), a, &o, len(args) == 1)
		},
	}
	o.cluster.register(cmd)
	o.keys.register(cmd)
	o.scan.register(cmd)
	outputFlag(cmd, &o.output, "text", "json")
	return cmd
}

func runSkew(ctx context.Context, a *app, o *skewOptions, stdin bool) error {
	if err := o.scan.check(); err != nil {
		return err
	}
	report := &skewReport{Schema: "rcctl.skew.v1"}
	var failed error
	switch {
	case !o.cluster.given(a):
		if err := report.fromStdin(a, o, nil); err != nil {
			return err
		}
	default:
		c, err := o.cluster.connect(ctx, a)
		if err != nil {
			return err
		}
		defer c.Close()
		owners, err := readOwners(ctx, c.Client())
		if err != nil {
			return err
		}
		if stdin {
			if err := report.fromStdin(a, o, owners); err != nil {
				return err
			}
			break
		}
		failed = report.fromCluster(ctx, c.Client(), o.scan, owners)
		if failed != nil && report.Sampled == 0 {
			return failed
		}
	}
	var err error
	if o.output == "json" {
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(report)
	} else {
		err = report.writeText(a.stdout)
	}
	return errors.Join(err, failed)
}

// A skewReport is the output. The keys of slots and nodes are counted, those of
// tags counted in the sample and scaled up.
type skewReport struct {
	Schema    string     `json:"schema"`
	Keys      int        `json:"keys"`
	Sampled   int        `json:"sampled"`
	SlotsUsed int        `json:"slots_used"`
	Nodes     []skewNode `json:"nodes"`
	Hottest   []skewSlot `json:"hottest_slots"`
	Static    []skewTag  `json:"static_tags"`
}

type skewNode struct {
	Node  string  `json:"node"`
	Slots int     `json:"slots"`
	Keys  int     `json:"keys"`
	Share float64 `json:"share"`
}

type skewSlot struct {
	Slot  int     `json:"slot"`
	Keys  int     `json:"keys"`
	Share float64 `json:"share"`
	Node  string  `json:"node"`
}

type skewTag struct {
	Tag      *string  `json:"tag"`
	TagHex   string   `json:"tag_hex,omitempty"`
	Slot     int      `json:"slot"`
	Keys     int      `json:"keys"`
	Share    float64  `json:"share"`
	Node     string   `json:"node"`
	Examples []string `json:"examples"`
	shown    string
}

func (r *skewReport) fromStdin(a *app, o *skewOptions, owners *slotOwners) error {
	var err error
	skew := hashtag.Analyze(func(yield func(string) bool) {
		stop := errors.New("stop")
		err = o.keys.each(a.stdin, nil)(func(key string) error {
			if !yield(key) {
				return stop
			}
			return nil
		})
	}, owners.owner)
	if err != nil {
		return err
	}
	r.fill(skew, skew, skew.Keys)
	return nil
}

// fill takes slots and nodes from what was counted and tags from the sample,
// for which looked keys were looked at.
func (r *skewReport) fill(counted, sample hashtag.Skew, looked int) {
	r.Keys, r.Sampled, r.SlotsUsed = counted.Keys, sample.Keys, counted.SlotsUsed
	r.Nodes, r.Hottest, r.Static = []skewNode{}, []skewSlot{}, []skewTag{}
	for _, n := range counted.Nodes {
		r.Nodes = append(r.Nodes, skewNode(n))
	}
	for _, s := range counted.Hottest {
		r.Hottest = append(r.Hottest, skewSlot(s))
	}
	for _, t := range sample.Static {
		keys := float64(t.Keys) * float64(counted.Keys) / float64(max(looked, 1))
		st := skewTag{Slot: t.Slot, Keys: int(keys + 0.5), Share: t.Share, Node: t.Node, shown: printable(t.Tag)}
		st.Tag, st.TagHex = jsonText(t.Tag)
		for _, e := range t.Examples {
			st.Examples = append(st.Examples, printable(e))
		}
		r.Static = append(r.Static, st)
	}
}

// owner works on nil too: then no owners are known.
func (o *slotOwners) owner(slot int) string {
	if o == nil {
		return ""
	}
	return o[slot]
}

func (r *skewReport) writeText(w io.Writer) error {
	fmt.Fprintf(w, "%d keys in %d of %d slots, %d looked at for tags\n", r.Keys, r.SlotsUsed, hashtag.Slots, r.Sampled)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	node := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	if len(r.Nodes) > 0 {
		fmt.Fprintf(tw, "\nNODE\tSLOTS\tKEYS\tSHARE\n")
		for _, n := range r.Nodes {
			fmt.Fprintf(tw, "%s\t%d\t%d\t%.1f %%\n", node(n.Node), n.Slots, n.Keys, 100*n.Share)
		}
		tw.Flush()
	}
	if len(r.Hottest) > 0 {
		fmt.Fprintf(tw, "\nHOTTEST SLOT\tKEYS\tSHARE\tNODE\n")
		for _, s := range r.Hottest[:min(len(r.Hottest), 5)] {
			fmt.Fprintf(tw, "%d\t%d\t%.2f %%\t%s\n", s.Slot, s.Keys, 100*s.Share, node(s.Node))
		}
		tw.Flush()
	}
	if len(r.Static) == 0 {
		_, err := fmt.Fprintf(w, "\nno static tags\n")
		return err
	}
	fmt.Fprintf(tw, "\nSTATIC TAG\tSLOT\tKEYS\tSHARE\tNODE\tEXAMPLE\n")
	for _, t := range r.Static {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%.1f %%\t%s\t%s\n", t.shown, t.Slot, t.Keys, 100*t.Share, node(t.Node), t.Examples[0])
	}
	tw.Flush()
	_, err := fmt.Fprintf(w, "\nA static tag keeps its keys on one node. If they need not be used together, drop the\ntag; if they do only in part, put that part in it, or spread it (hashtag.BucketTag).\n")
	return err
}

// scanOptions bound what sampling costs the servers.
type scanOptions struct {
	sample int
	count  int
	pause  time.Duration
	limit  time.Duration
	match  string
}

func (o *scanOptions) register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&o.sample, "sample", 100_000, "look at about this many `keys` for their tags; 0 for all")
	cmd.Flags().IntVar(&o.count, "count", 500, "`keys` looked at by one SCAN")
	cmd.Flags().DurationVar(&o.pause, "pause", 2*time.Millisecond, "rest after each SCAN")
	cmd.Flags().DurationVar(&o.limit, "for", time.Minute, "stop sampling after this long")
	cmd.Flags().StringVar(&o.match, "match", "", "of these keys take only those that match this glob `pattern`")
}

func (o *scanOptions) check() error {
	var bad []error
	add := func(flag string, value any, want string) {
		bad = append(bad, fmt.Errorf("%s %v: want %s", flag, value, want))
	}
	if o.sample < 0 {
		add("--sample", o.sample, "0 or more")
	}
	if o.count < 1 || o.count > 10_000 {
		add("--count", o.count, "1 to 10000")
	}
	if o.pause < 0 || o.pause > time.Second {
		add("--pause", o.pause, "0s to 1s")
	}
	if o.limit <= 0 {
		add("--for", o.limit, "more than 0s")
	}
	if len(bad) > 0 {
		return &exitError{exitUsage, errors.Join(bad...)}
	}
	return nil
}
