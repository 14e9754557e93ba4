package metrics

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write generated files anew")

const docsFile = "../docs/metrics.md"

// writeDocs is docs/metrics.md.
func writeDocs() string {
	var b strings.Builder
	b.WriteString(`# Metrics

Written from the collectors of package metrics: ` + "`go test ./metrics -run Docs -update`" + `.

Each collector has one more label than the tables show, which tells several of
its kind apart: it stands under the heading. Nodes are named by their announced
address, at most ` + fmt.Sprint(MaxNodes) + ` per collector, then ` + "`other`" + `. There is no label for keys.

Counters of a process (` + "`rcctl_redirects_total`, `rcctl_pool_…`, `rcctl_lockcluster_…`" + `) never go
backwards while the process lives, whatever happens to nodes. Counters of servers
(` + "`rcctl_server_…_total`" + `) begin at zero when the server restarts, when somebody runs
CONFIG RESETSTAT, or when another server takes over the address; Prometheus takes
a drop for a reset, so rate() and increase() are right or too small, and too large
only if a new server at an old address counted more than the old one had.
Roles are no label of counters: a failover does not end a series.
A server that does not answer has no values in that scrape but ` + "`rcctl_server_up 0`" + `.

Alerts are in deploy/prometheus/rules.yml, each with what it means, what to look
at and what to do. Dashboards are in deploy/grafana.
`)
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\nLabel: `%s`\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", g.title, g.owner)
		specs := slices.Clone(g.specs)
		slices.SortFunc(specs, func(a, b *spec) int { return strings.Compare(a.name, b.name) })
		for _, s := range specs {
			labels := ""
			for _, l := range s.labels {
				labels += " `" + l + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s |%s | %s |\n", s.name, s.kind, labels, s.help)
		}
	}
	return b.String()
}

func TestTheDocsListTheMetricsThatThereAre(t *testing.T) {
	want := writeDocs()
	if *update {
		if err := os.WriteFile(docsFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(docsFile)
	if err != nil || string(got) != want {
		t.Errorf("%s is stale (%v): go test ./metrics -run Docs -update", docsFile, err)
	}
}
