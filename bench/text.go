package bench

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// WriteText writes the result as a page for people.
func (r *Result) WriteText(w io.Writer) error {
	t := &textReport{r: r}
	t.head()
	t.latency()
	t.errors()
	t.redirects()
	t.timeline()
	t.verdict()
	t.foot()
	_, err := io.WriteString(w, t.b.String())
	return err
}

type textReport struct {
	r *Result
	b strings.Builder
}

func (t *textReport) line(label, format string, args ...any) {
	fmt.Fprintf(&t.b, "%-11s %s\n", label, fmt.Sprintf(format, args...))
}

func (t *textReport) table(rows [][]string) {
	tw := tabwriter.NewWriter(&t.b, 0, 8, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		fmt.Fprintln(tw, strings.Join(row, "\t")+"\t")
	}
	_ = tw.Flush() // a strings.Builder takes everything
}

func (t *textReport) head() {
	o := t.r.Options
	loop := "closed loop"
	if o.Rate > 0 {
		loop = "open loop at " + rateText(o.Rate) + "/s"
	}
	workers := strconv.Itoa(o.Workers) + " workers"
	if o.Workers == Unlimited {
		workers = "requests in flight unlimited"
	}
	t.line("Load", "%s, %s, %s%s", loop, secondsText(o.DurationSeconds), workers, pipelineText(o))
	t.line("Data", "%s; %s keys %s, %s-byte values", o.Mix, thousands(uint64(o.Keys)), distText(o.Dist), thousands(uint64(o.ValueSize)))
	masters, replicas, silent := 0, 0, ""
	for _, n := range t.r.Nodes {
		switch {
		case n.State == noAnswer:
			silent += ", " + n.Addr + " does not answer"
		case n.Role == "master":
			masters++
		case n.Role == "replica":
			replicas++
		}
	}
	c := o.Client
	t.line("Client", "engine %s, %d connections per node, read timeout %s, %d redirects or retries",
		o.Engine, c.PoolSize, time.Duration(c.ReadTimeout)*time.Millisecond, c.MaxRedirects)
	t.line("Cluster", "%s: %s, %s%s", strings.Join(o.Addrs, ","), plural(masters, "master"), plural(replicas, "replica"), silent)
	if t.r.Interrupted {
		t.line("Interrupted", "after %s; the figures cover that time", secondsText(t.r.Seconds))
	}
	t.b.WriteByte('\n')
	if o.Rate > 0 {
		t.line("Rate", "wanted %s/s, achieved %s/s", rateText(t.r.Rate.Wanted), rateText(t.r.Rate.Achieved))
	} else {
		t.line("Rate", "achieved %s/s", rateText(t.r.Rate.Achieved))
	}
	t.line("Operations", "%s in %s; %s hits, %s misses", thousands(t.r.Operations), secondsText(t.r.Seconds), thousands(t.r.Hits), thousands(t.r.Misses))
	if t.r.Dropped > 0 {
		t.line("Dropped", "%s were due and never sent: all workers were busy until the end", thousands(t.r.Dropped))
	}
}

func (t *textReport) latency() {
	l := t.r.Latency
	row := func(name string, p Percentiles) []string {
		if p.Count == 0 {
			return []string{name, "-", "-", "-", "-", "-"}
		}
		return []string{name, usecText(p.P50), usecText(p.P95), usecText(p.P99), usecText(p.P999), usecText(p.Max)}
	}
	rows := [][]string{{"", "p50", "p95", "p99", "p99.9", "max"}, row("service", l.Service)}
	open := t.r.Options.Rate > 0
	if open {
		rows = append(rows, row("intended", l.Intended))
	}
	if l.Failed.Count > 0 {
		rows = append(rows, row("failed", l.Failed))
	}
	t.b.WriteString("\nLatency\n")
	t.table(rows)
	if open {
		t.b.WriteString("  service: from send to reply. intended: from the moment a request was due, as its caller sees it.\n")
	} else {
		t.b.WriteString("  service: from send to reply. A closed loop sends less while a node is slow: callers on a schedule see\n  worse than this; measure them with --rate.\n")
	}
	if l.Failed.Count > 0 {
		t.b.WriteString("  failed: from due time to the error; the other rows are of operations that succeeded.\n")
	}
}

func (t *textReport) errors() {
	t.b.WriteByte('\n')
	if t.r.Errors == 0 {
		t.line("Errors", "none")
		return
	}
	t.line("Errors", "%s (%s %%): %s", thousands(t.r.Errors),
		formatPercent(t.r.Errors, t.r.Operations), kindsText(t.r.ErrorKinds))
	rows := [][]string{{"node", "errors", "timeouts", "broken", "pool timeouts", "rejected", "maxclients", "state"}}
	for _, n := range t.r.Nodes {
		if n.Role != "master" && n.Timeouts+n.NetErrors+n.PoolTimeouts+n.Rejected+n.OwnedErrors == 0 {
			continue
		}
		rows = append(rows, []string{n.Addr, thousands(n.OwnedErrors), thousands(n.Timeouts), thousands(n.NetErrors),
			thousands(n.PoolTimeouts), thousands(n.Rejected), strconv.FormatInt(n.MaxClients, 10), n.State})
	}
	t.table(rows)
	t.b.WriteString("  errors: by the owner of the slot. timeouts, broken, pool timeouts: attempts of the client, retries included.\n")
	t.b.WriteString("  rejected: rejected_connections of the server over the run. Open files of this process: " + t.r.Host.OpenFiles + ".\n")
}

func (t *textReport) redirects() {
	t.b.WriteByte('\n')
	c, s := t.r.Redirects.Client, t.r.Redirects.Server
	if c == (ClientRedirects{}) && s == (ServerRedirects{}) {
		t.line("Redirects", "none: no MOVED, ASK, TRYAGAIN or CLUSTERDOWN, by client and servers")
	} else {
		t.b.WriteString("Redirects\n")
		rows := [][]string{{"answered by", "MOVED client", "server", "ASK client", "server", "TRYAGAIN", "CLUSTERDOWN"}}
		row := func(name string, c ClientRedirects, s ServerRedirects) []string {
			return []string{name, thousands(c.Moved), thousands(s.Moved), thousands(c.Ask), thousands(s.Ask), thousands(c.TryAgain), thousands(c.ClusterDown)}
		}
		for _, n := range t.r.Nodes {
			if n.Client != (ClientRedirects{}) || n.Server != (ServerRedirects{}) || n.Role == "master" {
				rows = append(rows, row(n.Addr, n.Client, n.Server))
			}
		}
		t.table(append(rows, row("sum", c, s)))
	}
	b := t.r.Books
	if b.State == "closed" {
		t.line("Books", "closed: the client saw every MOVED and ASK that the servers sent, from preload to clean-up")
		return
	}
	if c.Moved == s.Moved && c.Ask == s.Ask {
		t.line("Books", "open: the sums agree but the servers' do not cover the whole run")
	} else {
		t.line("Books", "open: client and servers differ; %s unexplained", thousands(b.Unexplained))
	}
	for _, why := range b.Reasons {
		fmt.Fprintf(&t.b, "  - %s\n", why)
	}
}

func (t *textReport) timeline() {
	if len(t.r.Events) > 0 {
		t.b.WriteString("\nTimeline\n")
	}
	for _, e := range t.r.Events {
		fmt.Fprintf(&t.b, "  %8.3f s  %s\n", e.T, e.What)
	}
	f := t.r.Fault
	switch {
	case f == nil:
	case f.Errors == 0:
		t.line("Recovery", "no operation failed after the fault")
	default:
		t.line("Recovery", "operations failed from %.3f s to %.3f s, %.3f s after the fault for the last time", f.FirstError, f.LastError, f.LastError-f.At)
	}
}

func (t *textReport) verdict() {
	t.b.WriteByte('\n')
	t.line("Limited by", "%s", t.r.LimitedBy)
	for _, e := range t.r.Evidence {
		fmt.Fprintf(&t.b, "  - %s\n", e)
	}
}

func (t *textReport) foot() {
	g := t.r.Generator
	t.b.WriteByte('\n')
	t.line("Generator", "%s of %d processors, host %s busy; schedule lag p99 %s; longest queue %s",
		shareText(g.CPUShare), g.GOMAXPROCS, shareText(g.HostCPUShare), usecText(t.r.Schedule.Lag.P99), thousands(uint64(t.r.Schedule.QueuePeak)))
	left := "deleted"
	if t.r.KeysLeft > 0 {
		left = fmt.Sprintf("%s may be left and expire by themselves", thousands(t.r.KeysLeft))
	}
	t.line("Keys", "%s:%012x:*, %s. Repeat with --seed %d", t.r.Options.Prefix, t.r.Options.Seed, left, t.r.Options.Seed)
}

func pipelineText(o Setup) string {
	switch {
	case o.AutoPipeline:
		return ", auto-pipeline"
	case o.Pipeline > 1:
		return fmt.Sprintf(", pipelines of %d", o.Pipeline)
	}
	return ""
}

func distText(d Dist) string {
	switch d.Name {
	case DistZipf:
		return "zipf " + formatFloat(d.Theta)
	case DistHotSet:
		return fmt.Sprintf("hot set (%s of the operations on %s of the keys)", formatFloat(d.HotShare), formatFloat(d.HotKeys))
	}
	return d.Name
}

func secondsText(s float64) string {
	return strconv.FormatFloat(s, 'f', min(1, decimals(s)), 64) + " s"
}

func decimals(s float64) int {
	if s == float64(int64(s)) {
		return 0
	}
	return 1
}

func formatPercent(part, whole uint64) string {
	if whole == 0 {
		return "0"
	}
	return strconv.FormatFloat(float64(part)/float64(whole)*100, 'f', 2, 64)
}

func rateText(f float64) string {
	if f >= 100 || f == float64(int64(f)) {
		return thousands(uint64(f + 0.5))
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

// thousands writes 12345 as 12,345.
func thousands(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
