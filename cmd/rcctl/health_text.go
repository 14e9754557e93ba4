package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rcctl/rcctl/health"
)

// textWidth is how wide text for a terminal is made.
const textWidth = 80

// paint colours words for a terminal.
type paint bool

func (p paint) verdict(v health.Verdict, s string) string {
	if !p {
		return s
	}
	code := map[health.Verdict]string{health.OK: "32", health.Degraded: "33"}[v]
	if code == "" {
		code = "31"
	}
	return "\x1b[1;" + code + "m" + s + "\x1b[0m"
}

// verdictWord is the verdict as text shows it.
func verdictWord(r *health.Report) string {
	if !r.Known {
		return "UNKNOWN"
	}
	return strings.ToUpper(string(r.Verdict))
}

// summary is a report in one line, without anything that changes by itself.
func summary(r *health.Report) string {
	if len(r.Reasons) == 0 {
		return verdictWord(r)
	}
	parts := make([]string, len(r.Reasons))
	for i, x := range r.Reasons {
		parts[i] = strings.TrimSpace(string(x.Code) + " " + x.Node)
		if len(x.Slots) > 0 {
			parts[i] += " slots " + shortRanges(x.Slots)
		}
	}
	return verdictWord(r) + "  " + strings.Join(parts, "; ")
}

// writeHealth writes a report for people: the verdict, what is wrong, and the
// shards.
func writeHealth(w io.Writer, r *health.Report, color bool) {
	p := paint(color)
	canFailOver := 0
	for _, s := range r.Shards {
		if s.CanFailOver {
			canFailOver++
		}
	}
	fmt.Fprintf(w, "%s  %d of 16384 slots served, %d of %d shards can fail over\n",
		p.verdict(r.Verdict, verdictWord(r)), r.Slots.Served, canFailOver, len(r.Shards))
	for _, x := range r.Reasons {
		head := string(x.Code)
		if x.Node != "" {
			head += "  " + x.Node
		}
		if len(x.Slots) > 0 {
			head += "  slots " + shortRanges(x.Slots)
		}
		fmt.Fprintf(w, "\n%s  %s\n", p.verdict(x.Verdict, strings.ToUpper(string(x.Verdict))), head)
		wrapped(w, "  ", x.Detail)
		if x.Fix != "" {
			wrapped(w, "  -> ", x.Fix)
		}
	}
	fmt.Fprintln(w)
	for _, s := range r.Shards {
		fmt.Fprintf(w, "slots %s (%d)\n", shortRanges(s.Slots), countSlots(s.Slots))
		wrapped(w, "  master   ", nodeText(s.Master, false))
		for _, n := range s.Replicas {
			wrapped(w, "  replica  ", nodeText(n, true))
		}
		if len(s.Replicas) == 0 {
			fmt.Fprintln(w, "  no replica")
		}
	}
	if len(r.Slots.Unassigned) > 0 {
		fmt.Fprintf(w, "slots %s (%d)\n  no owner\n", shortRanges(r.Slots.Unassigned), countSlots(r.Slots.Unassigned))
	}
	for i, n := range r.Strays {
		if i == 0 {
			fmt.Fprintln(w, "outside of the shards")
		}
		wrapped(w, "  node     ", nodeText(n, false))
	}
	writeOpenSlots(w, r.Slots)
}

// nodeText is what there is to say about a node.
func nodeText(n health.Node, replica bool) string {
	var about []string
	switch {
	case n.Loading:
		about = append(about, "loading its data")
	case !n.Answered:
		about = append(about, "DOES NOT ANSWER")
	default:
		about = append(about, "answers in "+millis(n.RTT))
	}
	if n.Answered && replica {
		if !n.LinkUp {
			about = append(about, "link DOWN")
		}
		if n.LagBytes >= 0 {
			about = append(about, byteText(n.LagBytes)+" behind")
		}
		if n.Lag > time.Second {
			about = append(about, fmt.Sprintf("silent for %s", n.Lag))
		}
	}
	if n.ClusterDown {
		about = append(about, "refuses: cluster down")
	}
	if n.Failed > 0 {
		about = append(about, fmt.Sprintf("called failed by %d", n.Failed))
	}
	return n.Addr + " " + strings.Join(about, ", ")
}

func writeOpenSlots(w io.Writer, s health.Slots) {
	for _, o := range s.Migrating {
		fmt.Fprintf(w, "slot %d is leaving %s for %s\n", o.Slot, o.Node, o.Other)
	}
	for _, o := range s.Importing {
		fmt.Fprintf(w, "slot %d is coming to %s from %s\n", o.Slot, o.Node, o.Other)
	}
}

// shortRanges are the first ranges, and how many more there are.
func shortRanges(r []health.SlotRange) string {
	const most = 3
	if len(r) <= most {
		return health.FormatRanges(r)
	}
	return fmt.Sprintf("%s and %d more ranges", health.FormatRanges(r[:most]), len(r)-most)
}

func countSlots(r []health.SlotRange) (n int) {
	for _, x := range r {
		n += x.Count()
	}
	return n
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

func byteText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// wrapped writes words in lines of textWidth, behind a prefix that further
// lines replace by spaces. A word that is longer has its own line.
func wrapped(w io.Writer, prefix, text string) {
	line := prefix
	used := 0
	for word := range strings.FieldsSeq(text) {
		if used > 0 && len(line)+1+len(word) > textWidth {
			fmt.Fprintln(w, line)
			line, used = strings.Repeat(" ", len(prefix)), 0
		}
		if used > 0 {
			line += " "
		}
		line += word
		used++
	}
	fmt.Fprintln(w, line)
}
