package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/rcctl/rcctl/internal/redisinfo"
	"github.com/redis/go-redis/v9"
)

// sample asks a node everything in one pipeline.
func (n *Node) sample(ctx context.Context, cl *redis.Client) {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	p := cl.Pipeline()
	nodes := p.Do(ctx, "CLUSTER", "NODES")
	slots := p.Do(ctx, "CLUSTER", "SLOTS")
	cinfo := p.Do(ctx, "CLUSTER", "INFO")
	info := p.Do(ctx, "INFO", "everything")
	config := p.Do(ctx, "CONFIG", "GET", "*")
	clients := p.Do(ctx, "CLIENT", "LIST")
	self := p.Do(ctx, "CLIENT", "INFO")
	user := p.Do(ctx, "ACL", "GETUSER", "default")
	needed := map[string]*redis.Cmd{"CLUSTER SLOTS": slots}
	for _, name := range []string{"CLUSTER SHARDS", "READONLY", "READWRITE", "ASKING"} {
		var args []any
		for w := range strings.FieldsSeq(name) {
			args = append(args, w)
		}
		needed[name] = p.Do(ctx, args...)
	}
	_, err := p.Exec(ctx) // every command has its own error, unless none was sent

	n.readView(nodes, err)
	if reply, err := result(slots, err); err != nil {
		n.SlotsReason = denied("CLUSTER SLOTS", err)
	} else if n.Slots, err = redisinfo.ParseSlots(reply); err != nil {
		n.SlotsReason = err.Error()
	}
	if text, err := text(cinfo, err); err != nil {
		n.ClusterInfoReason = denied("CLUSTER INFO", err)
	} else {
		n.ClusterInfo = redisinfo.ParseClusterInfo(text)
	}
	if text, err := text(info, err); err != nil {
		n.InfoReason = denied("INFO", err)
	} else {
		n.Info = redisinfo.ParseInfo(text)
	}
	n.Config, n.ConfigReason = configOf(config, err)
	if text, err := text(clients, err); err != nil {
		n.ClientsReason = denied("CLIENT LIST", err)
	} else {
		n.Clients = groupClients(redisinfo.ParseClientList(text))
	}
	if text, err := text(self, err); err == nil {
		if c := redisinfo.ParseClientList(text); len(c) == 1 {
			n.PeerAddr = c[0].Addr
		}
	}
	for _, name := range sortedKeys(needed) {
		if err := needed[name].Err(); err != nil && strings.HasPrefix(err.Error(), "NOPERM") {
			n.Denied = append(n.Denied, name)
		}
	}
	n.DefaultUser, n.DefaultUserReason = defaultUser(user, err)
}

// result is the reply of a command of a pipeline. When the pipeline was never
// sent, commands have neither a reply nor an error: then it is the pipeline's.
func result(cmd *redis.Cmd, pipeline error) (any, error) {
	v, err := cmd.Result()
	if err == nil && v == nil {
		err = pipeline
	}
	return v, err
}

func text(cmd *redis.Cmd, pipeline error) (string, error) {
	v, err := result(cmd, pipeline)
	if err != nil {
		return "", err
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("the reply is a %T, not a text", v)
	}
	return s, nil
}

func (n *Node) readView(cmd *redis.Cmd, pipeline error) {
	text, err := text(cmd, pipeline)
	if err != nil {
		n.ViewReason = denied("CLUSTER NODES", err)
		return
	}
	list, err := redisinfo.ParseNodes(text)
	if err != nil {
		n.ViewReason = err.Error()
		return
	}
	n.View = make(map[string]redisinfo.Node, len(list))
	for _, v := range list {
		n.View[v.ID] = v
		if v.Has("myself") {
			n.ID = v.ID
		}
	}
}

// denied is the reason why a command gave nothing.
func denied(command string, err error) string {
	if strings.HasPrefix(err.Error(), "NOPERM") {
		return "the user may not run " + command
	}
	return command + ": " + err.Error()
}

// configOf reads CONFIG GET * as RESP2 gives it, without secrets.
func configOf(cmd *redis.Cmd, pipeline error) (map[string]string, string) {
	if _, err := result(cmd, pipeline); err != nil {
		return nil, denied("CONFIG GET", err)
	}
	list, err := cmd.StringSlice()
	if err != nil {
		return nil, denied("CONFIG GET", err)
	}
	m := make(map[string]string, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		if !secret(list[i]) {
			m[list[i]] = list[i+1]
		}
	}
	return m, ""
}

// defaultUser are the flags of the default user, "on nopass sanitize-payload".
func defaultUser(cmd *redis.Cmd, pipeline error) (string, string) {
	if _, err := result(cmd, pipeline); err != nil {
		return "", denied("ACL GETUSER", err)
	}
	list, err := cmd.Slice()
	if err != nil {
		return "", denied("ACL GETUSER", err)
	}
	for i := 0; i+1 < len(list); i += 2 {
		flags, ok := list[i+1].([]any)
		if list[i] == "flags" && ok {
			words := make([]string, len(flags))
			for i, w := range flags {
				words[i] = fmt.Sprint(w)
			}
			return strings.Join(words, " "), ""
		}
	}
	return "", "ACL GETUSER gave no flags"
}

// clock compares the clocks: the node's time against the middle of the round
// trip.
func (n *Node) clock(ctx context.Context, cl *redis.Client) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	start := time.Now()
	t, err := cl.Time(ctx).Result()
	rtt := time.Since(start)
	if err != nil {
		n.ClockReason = denied("TIME", err)
		return
	}
	n.RTTUsec = append(n.RTTUsec, rtt.Microseconds())
	n.ClockOffsetUsec = t.Sub(start.Add(rtt / 2)).Microseconds()
	n.ClockErrorUsec = rtt.Microseconds() / 2
}

// payloadSizes are one byte (more than once, for the round trip), more than a
// usual, and more than a jumbo frame.
var payloadSizes = []int{1, 1, 1, 1600, 9600, 65536}

// ladder sends larger and larger payloads: a path that drops large packets
// lets small ones through.
func (n *Node) ladder(ctx context.Context, cl *redis.Client) {
	for _, size := range payloadSizes {
		pctx, cancel := context.WithTimeout(ctx, pingTimeout)
		start := time.Now()
		err := cl.Do(pctx, "ECHO", strings.Repeat("x", size)).Err()
		cancel()
		step := Payload{Bytes: size, Usec: time.Since(start).Microseconds()}
		if err != nil {
			step.Error = denied("ECHO", err)
		} else if size == 1 {
			n.RTTUsec = append(n.RTTUsec, step.Usec)
		}
		n.Payloads = append(n.Payloads, step)
		if err != nil {
			return
		}
	}
}

// later takes the second sample.
func (n *Node) later(ctx context.Context, cl *redis.Client, first time.Time) {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	text, err := cl.Do(ctx, "INFO", "everything").Text()
	if err != nil {
		n.LaterReason = denied("INFO", err)
		return
	}
	n.Seconds = time.Since(first).Seconds()
	n.Later = redisinfo.ParseInfo(text)
}

const (
	maxGroups = 40
	maxNames  = 20
)

// groupClients sums CLIENT LIST up: who connects with what, never one line
// per connection.
func groupClients(list []redisinfo.Client) []ClientGroup {
	names := map[string]bool{}
	for _, c := range list {
		names[c.Name] = true
	}
	type key struct {
		kind, lib, ver, user, name string
		resp                       int
		ro                         bool
	}
	m := map[key]*ClientGroup{}
	hosts := map[key]map[string]bool{}
	for _, c := range list {
		k := key{clientKind(c.Flags), c.LibName, c.LibVer, c.User, "", c.Resp, strings.Contains(c.Flags, "r")}
		if len(names) <= maxNames {
			k.name = c.Name // beyond that, names are made up per connection or pod
		}
		g := m[k]
		if g == nil {
			if len(m) >= maxGroups {
				k = key{kind: "normal", lib: "(others)"}
				g = m[k]
			}
			if g == nil {
				g = &ClientGroup{Kind: k.kind, LibName: k.lib, LibVer: k.ver, User: k.user, Name: k.name, Resp: k.resp, ReadOnly: k.ro,
					Example: strings.TrimSpace(c.Addr + " " + c.Name)}
				m[k], hosts[k] = g, map[string]bool{}
			}
		}
		g.Count++
		if c.Name == clientName {
			g.Ours++
		}
		if c.Idle > 300*time.Second {
			g.IdleLong++
		}
		g.MaxOutput, g.MaxTotal = max(g.MaxOutput, c.OutputMem), max(g.MaxTotal, c.TotalMem)
		host, _, _ := net.SplitHostPort(c.Addr)
		hosts[k][host] = true
	}
	out := make([]ClientGroup, 0, len(m))
	for k, g := range m {
		g.Hosts = len(hosts[k])
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b ClientGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.LibName+a.LibVer+a.User+a.Kind+a.Name, b.LibName+b.LibVer+b.User+b.Kind+b.Name))
	})
	return out
}

func clientKind(flags string) string {
	switch {
	case strings.Contains(flags, "O"):
		return "monitor"
	case strings.Contains(flags, "S"):
		return "replica"
	case strings.Contains(flags, "M"):
		return "master"
	case strings.Contains(flags, "P"):
		return "pubsub"
	}
	return "normal"
}
