package doctor

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// MovedReport says who is redirected, where, and by which commands, counted
// by the servers between two samples. Nothing is sent to the cluster but the
// questions for the counters.
type MovedReport struct {
	Schema string      `json:"schema"`
	Kind   string      `json:"kind"` // "moved"
	Total  MovedTotal  `json:"total"`
	Nodes  []MovedNode `json:"nodes"`
	// Clients is who is connected, over all nodes: the suspects.
	Clients       []MovedClient `json:"clients"`
	ClientsReason string        `json:"clients_reason,omitempty"`
	// Verdicts are what the figures mean, in words.
	Verdicts []string `json:"verdicts"`
}

// MovedTotal sums up all nodes that could be counted.
type MovedTotal struct {
	Moved         uint64  `json:"moved"`
	Ask           uint64  `json:"ask"`
	Commands      uint64  `json:"commands"`
	MovedPerSec   float64 `json:"moved_per_second"`
	AskPerSec     float64 `json:"ask_per_second"`
	MovedShare    float64 `json:"moved_share"` // of commands, redirected ones included
	NodesCounted  int     `json:"nodes_counted"`
	NodesUnknown  int     `json:"nodes_unknown"`
	LongestSample float64 `json:"seconds"`
}

// MovedNode is one node's share.
type MovedNode struct {
	Addr    string  `json:"addr"`
	Role    string  `json:"role"` // master, replica, or empty
	Seconds float64 `json:"seconds"`
	// Errors are counts by kind between the samples, Rejected by command the
	// commands that were refused before they ran, redirected ones among them.
	Errors   map[string]uint64 `json:"errors"`
	Rejected map[string]uint64 `json:"rejected"`
	Commands uint64            `json:"commands"` // executed
	// Reason tells why this node could not be counted.
	Reason string `json:"reason,omitempty"`
}

// MovedClient is a kind of client over all nodes.
type MovedClient struct {
	LibName     string `json:"lib_name"`
	LibVer      string `json:"lib_ver"`
	User        string `json:"user"`
	Name        string `json:"name"`
	Connections int    `json:"connections"`
	// Nodes are how many nodes it is connected to: a cluster client knows all.
	Nodes int `json:"nodes"`
	// OnReplicas are its connections to replicas, of which ReadOnly asked for
	// reads there; the others are redirected for every key.
	OnReplicas int    `json:"on_replicas"`
	ReadOnly   int    `json:"read_only"`
	Example    string `json:"example"`
}

// Moved judges the redirects in a snapshot. It is a pure function.
func Moved(s *Snapshot) MovedReport {
	r := MovedReport{Schema: Schema, Kind: "moved", Nodes: []MovedNode{}, Clients: []MovedClient{}, Verdicts: []string{}}
	if s.Cluster == nil {
		r.ClientsReason = s.ClusterReason
		return r
	}
	for _, n := range s.Cluster.each() {
		m := movedNode(n)
		r.Nodes = append(r.Nodes, m)
		if m.Reason != "" {
			r.Total.NodesUnknown++
			continue
		}
		t := &r.Total
		t.NodesCounted++
		t.Moved += m.Errors["MOVED"]
		t.Ask += m.Errors["ASK"]
		t.Commands += m.Commands
		t.MovedPerSec += float64(m.Errors["MOVED"]) / m.Seconds
		t.AskPerSec += float64(m.Errors["ASK"]) / m.Seconds
		t.LongestSample = max(t.LongestSample, m.Seconds)
	}
	if all := r.Total.Moved + r.Total.Commands; all > 0 {
		r.Total.MovedShare = float64(r.Total.Moved) / float64(all)
	}
	r.Clients, r.ClientsReason = suspects(s.Cluster)
	r.Verdicts = verdicts(s.Cluster, &r)
	return r
}

func movedNode(n *Node) MovedNode {
	m := MovedNode{Addr: n.Addr, Seconds: n.Seconds, Errors: map[string]uint64{}, Rejected: map[string]uint64{}}
	switch n.Info.Role() {
	case "master":
		m.Role = "master"
	case "slave":
		m.Role = "replica"
	}
	d, why := n.delta()
	switch {
	case why != "":
		m.Reason = why
	case d.ErrorsDisabled:
		m.Reason = "errorstats are off on the server (RC-S22)"
	case d.Restarted:
		m.Reason = "the server restarted between the samples"
	case d.Reset:
		m.Reason = "the counters were reset between the samples (" + d.ResetEvidence + ")"
	default:
		maps.Copy(m.Errors, d.Errors)
		m.Commands = d.Counters["total_commands_processed"]
		for name, c := range d.Commands {
			if c.Rejected > 0 {
				m.Rejected[name] = c.Rejected
			}
		}
	}
	return m
}

// suspects are the clients over all nodes by library and user. rcctl's own
// connections are left out.
func suspects(c *Cluster) ([]MovedClient, string) {
	type key struct{ lib, ver, user, name string }
	m := map[key]*MovedClient{}
	why, asked := "", 0
	for _, n := range c.each() {
		if n.Clients == nil {
			why = firstOf(why, n.ClientsReason)
			continue
		}
		asked++
		seen := map[key]bool{}
		for _, g := range n.Clients {
			count := g.Count - g.Ours
			if count <= 0 || (g.Kind != "normal" && g.Kind != "pubsub") {
				continue
			}
			k := key{g.LibName, g.LibVer, g.User, g.Name}
			x := m[k]
			if x == nil {
				x = &MovedClient{LibName: k.lib, LibVer: k.ver, User: k.user, Name: k.name, Example: g.Example}
				m[k] = x
			}
			if !seen[k] {
				seen[k] = true
				x.Nodes++
			}
			x.Connections += count
			if n.Info.Role() == "slave" {
				x.OnReplicas += count
				if g.ReadOnly {
					x.ReadOnly += count
				}
			}
		}
	}
	out := make([]MovedClient, 0, len(m))
	for _, x := range m {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b MovedClient) int {
		return cmp.Or(cmp.Compare(b.Connections, a.Connections), cmp.Compare(a.LibName+a.LibVer+a.User+a.Name, b.LibName+b.LibVer+b.User+b.Name))
	})
	if asked == 0 {
		return out, firstOf(why, "no node could be asked for CLIENT LIST")
	}
	return out, ""
}

// verdicts say what the figures mean.
func verdicts(c *Cluster, r *MovedReport) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	open := 0
	for _, n := range c.answering() {
		open += len(n.View[n.ID].Migrating) + len(n.View[n.ID].Importing)
	}
	var onReplicas uint64
	for _, n := range r.Nodes {
		if n.Role == "replica" {
			onReplicas += n.Errors["MOVED"]
		}
	}
	switch t := r.Total; {
	case t.NodesCounted == 0:
		say("nothing could be counted")
		return out
	case t.Moved == 0 && t.Ask == 0:
		say("no redirect in %.1f s", t.LongestSample)
	case t.MovedShare < movedShare:
		say("MOVED is %s of commands: normal", percent(t.MovedShare))
	case open > 0:
		say("MOVED is %s of commands while slots are on the move: look again when the reshard has ended", percent(t.MovedShare))
	default:
		say("MOVED is %s of commands and no slot is on the move: some client keeps no slot map, or an old one (a single-server client, a proxy or load balancer in front)", percent(t.MovedShare))
	}
	if r.Total.Ask > 0 && open == 0 {
		say("ASK without an open slot in any view: a reshard ended just now")
	}
	if r.Total.Ask > 0 && open > 0 {
		say("ASK comes from %s on the move (RC-C04)", plural(open, "open slot entry"))
	}
	if onReplicas > 0 {
		say("%d MOVED came from replicas: a client reads there without READONLY", onReplicas)
	}
	for _, x := range r.Clients {
		if r.Total.Moved > 0 && len(c.Nodes) > 2 && x.Nodes == 1 && x.Connections > 0 {
			say("suspect: %s (user %s) is connected to one node only, such as %s", firstOf(x.Name, x.LibName, "a client without a name"), firstOf(x.User, "default"), x.Example)
		}
	}
	return out
}

// WriteText writes the report for people.
func (r MovedReport) WriteText(w io.Writer, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	t := &textWriter{w: w, o: o}
	t.line("Redirects counted by the servers in %.1f s: %d MOVED (%.1f/s, %s of commands), %d ASK (%.1f/s)",
		r.Total.LongestSample, r.Total.Moved, r.Total.MovedPerSec, percent(r.Total.MovedShare), r.Total.Ask, r.Total.AskPerSec)
	t.line("")
	t.line("%-24s %-8s %9s %9s  %s", "node", "role", "MOVED", "ASK", "refused commands")
	for _, n := range r.Nodes {
		if n.Reason != "" {
			t.line("%-24s %-8s not counted: %s", n.Addr, n.Role, n.Reason)
			continue
		}
		t.line("%-24s %-8s %9d %9d  %s", n.Addr, n.Role, n.Errors["MOVED"], n.Errors["ASK"], topCounts(n.Rejected, 3))
	}
	t.line("")
	if r.ClientsReason != "" {
		t.para("", "clients", "unknown: "+r.ClientsReason)
	} else {
		t.line("%-28s %-14s %6s %6s  %s", "client (library, name)", "user", "conns", "nodes", "example")
		for i, c := range r.Clients {
			if i == 15 {
				t.line("... and %d more", len(r.Clients)-i)
				break
			}
			t.line("%-28s %-14s %6d %6d  %s", firstOf(strings.Join(strings.Fields(c.LibName+" "+c.LibVer+" "+c.Name), " "), "(unnamed)"), firstOf(c.User, "-"), c.Connections, c.Nodes, c.Example)
		}
		t.line("")
	}
	for _, v := range r.Verdicts {
		t.para("", "verdict", v)
	}
	return t.err
}

func topCounts(m map[string]uint64, n int) string {
	keys := sortedKeys(m)
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(m[b], m[a]) })
	var parts []string
	for i, k := range keys {
		if i == n {
			parts = append(parts, "...")
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}
