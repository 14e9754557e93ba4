package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/rcctl/rcctl/health"
	"github.com/spf13/cobra"
)

type topologyOptions struct {
	cluster clusterFlags
	output  string
}

func newTopologyCmd(a *app) *cobra.Command {
	o := &topologyOptions{}
	cmd := &cobra.Command{
		Use:   "topology",
		Short: "Print shards, slots, replicas, epochs and open slots",
		Long: `Prints who serves what, as the nodes themselves say: every node is asked, and of
two that claim a slot the one with the higher epoch counts. With -o dot it is a
graph for Graphviz.

Exit codes: 0 done (whatever the state of the cluster, see rcctl health), 2
wrong usage, 3 no node told about the cluster.`,
		Example: `  rcctl topology --cluster 127.0.0.1:7000
  rcctl topology --cluster 127.0.0.1:7000 -o dot | dot -Tsvg > cluster.svg`,
		Args: argsCheck(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runTopology(cmd.Context(), a, o) },
	}
	o.cluster.register(cmd)
	outputFlag(cmd, &o.output, "text", "json", "dot")
	return cmd
}

// topologyReport is the part of a health report that is about who is who.
type topologyReport struct {
	Schema string         `json:"schema"`
	Known  bool           `json:"known"`
	Slots  health.Slots   `json:"slots"`
	Shards []health.Shard `json:"shards"`
	Strays []health.Node  `json:"strays"`
}

func runTopology(ctx context.Context, a *app, o *topologyOptions) error {
	h, err := o.cluster.checker(a)
	if err != nil {
		return err
	}
	defer h.Close()
	r, err := o.cluster.report(ctx, h)
	if err != nil {
		return err
	}
	unknown := o.cluster.unknown(r)
	if o.output == "json" {
		t := topologyReport{Schema: "rcctl.topology.v1", Known: r.Known, Slots: r.Slots, Shards: r.Shards, Strays: append([]health.Node{}, r.Strays...)}
		if err := writeJSON(a, t); err != nil {
			return err
		}
		return unknown
	}
	if unknown != nil {
		return unknown
	}
	var b bytes.Buffer
	if o.output == "dot" {
		writeDot(&b, r)
	} else {
		writeTopology(&b, r)
	}
	_, err = b.WriteTo(a.stdout)
	return err
}

func writeTopology(w io.Writer, r *health.Report) {
	for _, s := range r.Shards {
		fmt.Fprintf(w, "slots %s (%d)\n", shortRanges(s.Slots), countSlots(s.Slots))
		memberLine(w, "master", s.Master)
		for _, n := range s.Replicas {
			memberLine(w, "replica", n)
		}
	}
	if len(r.Slots.Unassigned) > 0 {
		fmt.Fprintf(w, "slots %s (%d)\n  no owner\n", shortRanges(r.Slots.Unassigned), countSlots(r.Slots.Unassigned))
	}
	for i, n := range r.Strays {
		if i == 0 {
			fmt.Fprintln(w, "outside of the shards")
		}
		memberLine(w, "node", n)
	}
	writeOpenSlots(w, r.Slots)
}

func memberLine(w io.Writer, role string, n health.Node) {
	id := n.ID
	if id == "" {
		id = "-"
	}
	fmt.Fprintf(w, "  %-7s  %s  %s  epoch %d", role, n.Addr, id[:min(8, len(id))], n.ConfigEpoch)
	if !n.Answered {
		fmt.Fprint(w, "  DOES NOT ANSWER")
	} else if n.Version != "" {
		fmt.Fprint(w, "  "+n.Version)
	}
	fmt.Fprintln(w)
}

// writeDot writes the topology as a graph: replicas point to their masters,
// open slots from where they leave to where they go.
func writeDot(w io.Writer, r *health.Report) {
	fmt.Fprintln(w, "digraph cluster {\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];")
	box := func(n health.Node, text string) {
		style := ""
		if !n.Answered {
			style = ", color=red, fontcolor=red"
		}
		fmt.Fprintf(w, "  %s [label=%s%s];\n", strconv.Quote(n.Addr), strconv.Quote(n.Addr+text), style)
	}
	for _, s := range r.Shards {
		box(s.Master, fmt.Sprintf("\n%s\nepoch %d", shortRanges(s.Slots), s.Master.ConfigEpoch))
		for _, n := range s.Replicas {
			box(n, "")
			fmt.Fprintf(w, "  %s -> %s;\n", strconv.Quote(n.Addr), strconv.Quote(s.Master.Addr))
		}
	}
	for _, n := range r.Strays {
		box(n, "")
	}
	for _, o := range r.Slots.Migrating {
		fmt.Fprintf(w, "  %s -> %s [style=dashed, label=\"slot %d\"];\n", strconv.Quote(o.Node), strconv.Quote(o.Other), o.Slot)
	}
	fmt.Fprintln(w, "}")
}
