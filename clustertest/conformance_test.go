package clustertest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

var update = flag.Bool("update", false, "record the replies of the real server and rewrite the golden files")

const (
	scriptDir       = "testdata/conformance"
	recordedReplies = "testdata/conformance_real.golden"
	allowedGolden   = "testdata/conformance_differences.golden"
)

// TestEmbeddedAnswersAsTheRealServerDoes runs the same script of commands on
// the embedded backend and on redis-server 7.0 and compares every reply. The
// differences that are allowed stand in a golden list, each with its reason: a
// new one fails, and so does one that is gone. Without a redis-server the
// replies that were recorded from one are compared.
func TestEmbeddedAnswersAsTheRealServerDoes(t *testing.T) {
	steps := readScript(t)
	replies := 0
	for _, s := range steps {
		if s.control == "" && !s.sendOnly {
			replies++
		}
	}
	if replies < 500 {
		t.Fatalf("the script has %d replies, at least 500 are promised", replies)
	}
	real := realReplies(t, steps)
	embedded := runScript(t, clustertest.Embedded{}, steps)
	allowed := readAllowed(t)

	var list strings.Builder
	differ := 0
	for i, s := range steps {
		id := s.id
		reason, listed := allowed[id]
		switch {
		case real[i] == embedded[i]:
			if listed && !*update {
				t.Errorf("%s: no longer differs; remove it from %s", id, allowedGolden)
			}
			continue
		case !listed && !*update:
			t.Errorf("%s: a new difference\n real:     %s\n embedded: %s", id, real[i], embedded[i])
		case listed && reason.embedded != embedded[i] && !*update:
			t.Errorf("%s: another difference than the one allowed\n real:     %s\n embedded: %s\n allowed:  %s", id, real[i], embedded[i], reason.embedded)
		}
		differ++
		if !listed {
			reason.reason = "NO REASON YET"
		}
		fmt.Fprintf(&list, "%s\n  real:     %s\n  embedded: %s\n  reason:   %s\n", id, real[i], embedded[i], reason.reason)
	}
	t.Logf("%d replies, %d identical, %d allowed to differ", replies, replies-differ, differ)
	if *update {
		if err := os.WriteFile(allowedGolden, []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for id, a := range allowed {
		if a.reason == "" || strings.HasPrefix(a.reason, "NO REASON") {
			t.Errorf("%s: the list gives no reason", id)
		}
		if !slices.ContainsFunc(steps, func(s step) bool { return s.id == id }) {
			t.Errorf("%s: in %s, not in the script", id, allowedGolden)
		}
	}
}

// A step is one reply that is compared.
type step struct {
	id       string
	conn     string // label: node, "." and a name; "3:" before it for RESP3
	args     []string
	sendOnly bool
	readOnly bool
	unsorted bool   // the order of a flat reply does not matter
	shape    bool   // only the types are compared
	control  string // not a command: something done to the cluster
}

// readScript reads the script. A line is a step:
//
//	m0 GET {b}k       a command on the first master and its reply
//	m0.x GET {b}k     on another connection
//	3:m0 GET {b}k     on a RESP3 connection
//	>m0.x BLPOP l 0   send only          <m0.x  read one reply
//	?m0 SMEMBERS s    in any order       ~m0 TIME  compare the shape only
//	! settle          wait for agreement
//
// Replicas are r0, r1, r2. $ID0, $HOST0 and $PORT0 stand for a node.
func readScript(t *testing.T) []step {
	files, err := filepath.Glob(filepath.Join(scriptDir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	slices.Sort(files)
	var steps []step
	seen := map[string]int{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		section := strings.TrimSuffix(filepath.Base(f), ".txt")
		steps = append(steps, step{control: "fresh"})
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			s := parseStep(t, f, line)
			s.id = section + ": " + line
			if seen[s.id]++; seen[s.id] > 1 {
				s.id += fmt.Sprintf(" (%d)", seen[s.id])
			}
			steps = append(steps, s)
		}
	}
	return steps
}

func parseStep(t *testing.T, file, line string) step {
	var s step
	if rest, ok := strings.CutPrefix(line, "! "); ok {
		return step{control: rest}
	}
	for {
		switch line[0] {
		case '>':
			s.sendOnly = true
		case '<':
			s.readOnly = true
		case '?':
			s.unsorted = true
		case '~':
			s.shape = true
		default:
			words, err := resp.NewReader(strings.NewReader(line + "\r\n")).ReadCommand()
			if err != nil {
				t.Fatalf("%s: %q: %v", file, line, err)
			}
			s.conn, s.args = words[0], words[1:]
			return s
		}
		line = line[1:]
	}
}

type difference struct{ embedded, reason string }

func readAllowed(t *testing.T) map[string]difference {
	text, err := os.ReadFile(allowedGolden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	allowed := map[string]difference{}
	id := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "  ") {
			id = line
			continue
		}
		d := allowed[id]
		if v, ok := strings.CutPrefix(line, "  embedded: "); ok {
			d.embedded = v
		} else if v, ok := strings.CutPrefix(line, "  reason:   "); ok {
			d.reason = v
		}
		allowed[id] = d
	}
	return allowed
}

// realReplies runs the script on a real cluster, or returns what was recorded
// from one when there is no server here.
func realReplies(t *testing.T, steps []step) []string {
	backend := clustertest.Processes{}
	c, err := clustertest.Start(t.Context(), conformanceOptions(backend))
	if err == nil {
		version, _ := c.Nodes()[0].Client().Info(t.Context(), "server").Result()
		if cerr := c.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		if !strings.Contains(version, "redis_version:7.0.") {
			err = fmt.Errorf("%w of version 7.0", clustertest.ErrNoServer)
		}
	}
	if err == nil {
		replies := runScript(t, backend, steps)
		if *update {
			var b strings.Builder
			for i, s := range steps {
				fmt.Fprintf(&b, "%s\n  %s\n", s.id, replies[i])
			}
			if err := os.WriteFile(recordedReplies, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return replies
	}
	if !errors.Is(err, clustertest.ErrNoServer) || os.Getenv("RCCTL_REQUIRE_REDIS") == "1" || *update {
		t.Fatal(err)
	}
	t.Logf("%v: compared with recorded replies", err)
	text, err := os.ReadFile(recordedReplies)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	recorded := map[string]string{}
	for i := 0; i+1 < len(lines); i += 2 {
		recorded[lines[i]] = strings.TrimPrefix(lines[i+1], "  ")
	}
	replies := make([]string, len(steps))
	for i, s := range steps {
		r, ok := recorded[s.id]
		if !ok {
			t.Fatalf("%s: not recorded; run with -update where redis-server 7.0 is installed", s.id)
		}
		replies[i] = r
	}
	return replies
}

func conformanceOptions(b clustertest.Backend) clustertest.Options {
	return clustertest.Options{Backend: b, Replicas: 1, NodeTimeout: 2 * time.Second,
		Config: map[string]string{"appendonly": "no"}}
}

// A player runs the script on one cluster.
type player struct {
	t     *testing.T
	c     *clustertest.Cluster
	conns map[string]*playerConn
	names *strings.Replacer
}

type playerConn struct {
	net.Conn
	r *resp.Reader
}

func runScript(t *testing.T, b clustertest.Backend, steps []step) []string {
	replies := make([]string, len(steps))
	var p *player
	for i, s := range steps {
		if s.control == "fresh" { // every section has a cluster of its own
			if p != nil {
				p.close()
			}
			p = newPlayer(t, b)
			replies[i] = "done"
			continue
		}
		replies[i] = p.play(s)
	}
	p.close()
	return replies
}

func newPlayer(t *testing.T, b clustertest.Backend) *player {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := clustertest.Start(ctx, conformanceOptions(b))
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t: t, c: c, conns: map[string]*playerConn{}}
	var pairs []string
	for i, n := range c.Nodes() {
		host, port, _ := net.SplitHostPort(n.Addr())
		bus := fmt.Sprint(atoi(port) + 10000)
		pairs = append(pairs, n.ID(), fmt.Sprintf("<id%d>", i), n.Addr()+"@"+bus, fmt.Sprintf("<addr%d>@<bus%d>", i, i),
			n.Addr(), fmt.Sprintf("<addr%d>", i))
		for _, f := range []string{":%s ", ":%s]", "%q", " :%s"} { // a port that is a whole reply or element
			pairs = append(pairs, fmt.Sprintf(f, port), fmt.Sprintf(strings.Replace(f, "%q", "\"%s\"", 1), fmt.Sprintf("<port%d>", i)))
		}
		if i == len(c.Nodes())-1 {
			pairs = append(pairs, host, "<host>")
		}
	}
	p.names = strings.NewReplacer(pairs...)
	// Masters that share a config epoch, which a real server resolves after a
	// while by itself, could take a moved slot back from each other.
	if err := p.await(p.distinctEpochs); err != nil {
		t.Fatalf("config epochs: %v", err)
	}
	return p
}

// distinctEpochs reports whether all nodes see a different config epoch on
// each master.
func (p *player) distinctEpochs() bool {
	for _, n := range p.c.Nodes() {
		seen := map[string]bool{}
		for line := range strings.Lines(n.Client().ClusterNodes(p.t.Context()).Val()) {
			f := strings.Fields(line)
			if len(f) < 8 || !strings.Contains(f[2], "master") {
				continue
			}
			if seen[f[6]] {
				return false
			}
			seen[f[6]] = true
		}
	}
	return true
}

func (p *player) close() {
	for _, c := range p.conns {
		c.Close()
	}
	if err := p.c.Close(); err != nil {
		p.t.Error(err)
	}
}

func (p *player) node(label string) *clustertest.Node {
	i := int(label[1] - '0')
	if label[0] == 'r' {
		i += 3
	}
	return p.c.Nodes()[i]
}

// conn opens the connection of a label at its first use.
func (p *player) conn(label string) *playerConn {
	if c := p.conns[label]; c != nil {
		return c
	}
	name := strings.TrimPrefix(label, "3:")
	o := p.c.ClientOptions()
	dial := o.Dialer
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	nc, err := dial(p.t.Context(), "tcp", p.node(name).Addr())
	if err != nil {
		p.t.Fatalf("%s: %v", label, err)
	}
	c := &playerConn{nc, resp.NewReader(nc)}
	p.conns[label] = c
	if name != label {
		p.send(c, []string{"HELLO", "3"})
		p.read(c)
	}
	return c
}

func (p *player) send(c *playerConn, args []string) {
	c.SetDeadline(time.Now().Add(5 * time.Second))
	// An error shows up when the reply is read.
	_, _ = c.Write(resp.AppendCommand(nil, args...))
}

func (p *player) read(c *playerConn) resp.Value {
	c.SetDeadline(time.Now().Add(5 * time.Second))
	v, err := c.r.ReadReply()
	if err != nil {
		return resp.Value{Kind: '-', Str: "(no reply)"}
	}
	return v
}

func (p *player) play(s step) string {
	if s.control != "" {
		return p.control(s.control)
	}
	c := p.conn(s.conn)
	if !s.readOnly {
		args := slices.Clone(s.args)
		for i := range args {
			args[i] = p.expand(args[i])
		}
		p.send(c, args)
		if s.sendOnly {
			p.awaitBlocked(s)
			return "sent"
		}
	}
	return strings.TrimSuffix(p.names.Replace(render(p.read(c), s)+" "), " ")
}

// awaitBlocked waits until the command that was sent blocks its client, or is
// done, so that the next step comes after it on both backends.
func (p *player) awaitBlocked(s step) {
	label := strings.TrimPrefix(s.conn, "3:")
	if !strings.HasPrefix(strings.ToUpper(s.args[0]), "B") && !strings.HasPrefix(strings.ToUpper(s.args[0]), "X") {
		return
	}
	deadline := time.Now().Add(5 * time.Second)
	for time.Now().Before(deadline) {
		info, err := p.node(label).Client().Info(p.t.Context(), "clients").Result()
		if err == nil && !strings.Contains(info, "blocked_clients:0\r\n") {
			return
		}
	}
	p.t.Errorf("%s: the client does not block", s.id)
}

var nodeVar = regexp.MustCompile(`\$(ID|HOST|PORT)([0-9])`)

func (p *player) expand(arg string) string {
	return nodeVar.ReplaceAllStringFunc(arg, func(v string) string {
		m := nodeVar.FindStringSubmatch(v)
		n := p.c.Nodes()[atoi(m[2])]
		host, port, _ := net.SplitHostPort(n.Addr())
		return map[string]string{"ID": n.ID(), "HOST": host, "PORT": port}[m[1]]
	})
}

// control does something to the cluster.
func (p *player) control(what string) string {
	words := strings.Fields(what)
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	var err error
	switch words[0] {
	case "settle":
		err = p.c.WaitReady(ctx)
	case "failover":
		if err = p.c.Failover(ctx, p.node(words[1])); err == nil {
			err = p.c.WaitReady(ctx)
		}
	case "sync": // until a replica has what its master has
		err = p.await(func() bool {
			n := p.node(words[1])
			return n.Client().Wait(ctx, 1, time.Second).Val() >= 1
		})
	case "config": // cluster-wide
		for _, n := range p.c.Nodes() {
			err = errors.Join(err, n.Client().ConfigSet(ctx, words[1], words[2]).Err())
		}
	case "state": // until a node says that the cluster is ok, or fail
		err = p.await(func() bool {
			return strings.Contains(p.node(words[1]).Client().ClusterInfo(ctx).Val(), "cluster_state:"+words[2])
		})
	case "sleep-expired": // until a key is gone
		err = p.await(func() bool {
			return p.node(words[1]).Client().Exists(ctx, words[2]).Val() == 0
		})
	default:
		err = fmt.Errorf("unknown control %q", what)
	}
	if err != nil {
		p.t.Fatalf("! %s: %v", what, err)
	}
	return "done"
}

func (p *player) await(ok func() bool) error {
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			return errors.New("did not come true in 10 s")
		}
	}
	return nil
}

// render writes a reply on one line.
func render(v resp.Value, s step) string {
	if s.unsorted {
		if v.Kind == '*' && len(v.Elems) == 2 && len(v.Elems[1].Elems) > 0 { // a cursor and a list
			slices.SortFunc(v.Elems[1].Elems, byText)
		}
		slices.SortFunc(v.Elems, byText)
	}
	var b strings.Builder
	renderTo(&b, v, s.shape)
	return b.String()
}

func byText(a, b resp.Value) int {
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

func renderTo(b *strings.Builder, v resp.Value, shape bool) {
	switch {
	case v.Null:
		b.WriteString(string(v.Kind) + "null")
	case v.Kind == '*' || v.Kind == '%' || v.Kind == '~' || v.Kind == '>':
		b.WriteByte(v.Kind)
		b.WriteByte('[')
		for i, e := range v.Elems {
			if i > 0 {
				b.WriteByte(' ')
			}
			renderTo(b, e, shape)
		}
		b.WriteByte(']')
	case shape && v.Kind != '-':
		b.WriteString(string(v.Kind) + "...")
	case v.Kind == '$' || v.Kind == '=':
		fmt.Fprintf(b, "%c%q", v.Kind, v.Str)
	default:
		b.WriteByte(v.Kind)
		b.WriteString(v.Str)
	}
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}
