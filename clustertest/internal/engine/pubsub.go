package engine

import (
	"slices"
	"strings"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

// sets are the subscriptions that a command is about: of channels, or of
// patterns.
func (x *call) sets() (mine *map[string]struct{}, all map[string]map[*conn]struct{}, kind string) {
	if strings.HasPrefix(x.cmd.name, "p") {
		return &x.c.pattern, x.n.patterns, x.cmd.name
	}
	return &x.c.channels, x.n.channels, x.cmd.name
}

func (x *call) pushHead(kind, channel string) {
	x.out = resp.AppendPush(x.out, 3, x.proto)
	x.bulk(kind)
	x.bulk(channel)
}

func cmdSubscribe(x *call) {
	if x.inScript {
		x.err("ERR " + strings.ToUpper(x.cmd.name) + " isn't allowed for a DENY BLOCKING client")
		return
	}
	mine, all, kind := x.sets()
	if *mine == nil {
		*mine = map[string]struct{}{}
	}
	if !x.c.pusher {
		x.c.pusher = true
		x.c.startPusher()
	}
	for _, ch := range x.args[1:] {
		(*mine)[ch] = struct{}{}
		if all[ch] == nil {
			all[ch] = map[*conn]struct{}{}
		}
		all[ch][x.c] = struct{}{}
		x.pushHead(kind, ch)
		x.int(int64(len(x.c.channels) + len(x.c.pattern)))
	}
}

func cmdUnsubscribe(x *call) {
	mine, all, kind := x.sets()
	list := x.args[1:]
	if len(list) == 0 {
		for ch := range *mine {
			list = append(list, ch)
		}
		slices.Sort(list)
		if len(list) == 0 {
			x.out = resp.AppendPush(x.out, 3, x.proto)
			x.bulk(kind)
			x.null()
			x.int(int64(len(x.c.channels) + len(x.c.pattern)))
			return
		}
	}
	for _, ch := range list {
		leave(*mine, all, ch, x.c)
		x.pushHead(kind, ch)
		x.int(int64(len(x.c.channels) + len(x.c.pattern)))
	}
}

func leave(mine map[string]struct{}, all map[string]map[*conn]struct{}, ch string, c *conn) {
	delete(mine, ch)
	delete(all[ch], c)
	if len(all[ch]) == 0 {
		delete(all, ch)
	}
}

func (c *conn) unsubscribeAll() {
	for ch := range c.channels {
		leave(c.channels, c.n.channels, ch, c)
	}
	for p := range c.pattern {
		leave(c.pattern, c.n.patterns, p, c)
	}
}

// cmdPublish delivers to the subscribers of all nodes; the reply counts those
// of this one, as in a real cluster.
func cmdPublish(x *call) {
	channel, msg := x.args[1], x.args[2]
	n := 0
	for _, node := range x.n.c.nodes {
		if node.down || node != x.n && (node.paused != nil || x.n.paused != nil) {
			continue
		}
		got := node.deliver(channel, msg)
		if node == x.n {
			n = got
		}
	}
	x.int(int64(n))
}

func (n *Node) deliver(channel, msg string) int {
	sent := 0
	for c := range n.channels[channel] {
		b := resp.AppendPush(nil, 3, c.proto)
		b = resp.AppendBulk(resp.AppendBulk(resp.AppendBulk(b, "message"), channel), msg)
		c.push(b)
		sent++
	}
	for p, conns := range n.patterns {
		if !globMatch(p, channel, false) {
			continue
		}
		for c := range conns {
			b := resp.AppendPush(nil, 4, c.proto)
			b = resp.AppendBulk(resp.AppendBulk(b, "pmessage"), p)
			b = resp.AppendBulk(resp.AppendBulk(b, channel), msg)
			c.push(b)
			sent++
		}
	}
	return sent
}

func cmdPubsubChannels(x *call) {
	var list []string
	for ch := range x.n.channels {
		if len(x.args) < 3 || globMatch(x.args[2], ch, false) {
			list = append(list, ch)
		}
	}
	slices.Sort(list)
	x.bulks(list)
}

func cmdPubsubNumsub(x *call) {
	x.array(2 * len(x.args[2:]))
	for _, ch := range x.args[2:] {
		x.bulk(ch)
		x.int(int64(len(x.n.channels[ch])))
	}
}

func cmdPubsubNumpat(x *call) { x.int(int64(len(x.n.patterns))) }

// globMatch is the pattern matching of Redis: *, ?, [a-z], [^a], backslash.
func globMatch(p, s string, fold bool) bool {
	if fold {
		p, s = strings.ToLower(p), strings.ToLower(s)
	}
	for len(p) > 0 {
		switch p[0] {
		case '*':
			p = strings.TrimLeft(p, "*")
			if p == "" {
				return true
			}
			for i := 0; i <= len(s); i++ {
				if globMatch(p, s[i:], false) {
					return true
				}
			}
			return false
		case '?':
			if s == "" {
				return false
			}
			p, s = p[1:], s[1:]
		case '[':
			if s == "" {
				return false
			}
			ok, rest := globClass(p[1:], s[0])
			if !ok {
				return false
			}
			p, s = rest, s[1:]
		default:
			if p[0] == '\\' && len(p) > 1 {
				p = p[1:]
			}
			if s == "" || p[0] != s[0] {
				return false
			}
			p, s = p[1:], s[1:]
		}
	}
	return s == ""
}

// globClass matches one byte against what follows '[' and returns the rest of
// the pattern.
func globClass(p string, c byte) (bool, string) {
	not := strings.HasPrefix(p, "^")
	if not {
		p = p[1:]
	}
	match := false
	for len(p) > 0 && p[0] != ']' {
		switch {
		case p[0] == '\\' && len(p) > 1:
			match = match || p[1] == c
			p = p[2:]
		case len(p) > 2 && p[1] == '-':
			lo, hi := min(p[0], p[2]), max(p[0], p[2])
			match = match || lo <= c && c <= hi
			p = p[3:]
		default:
			match = match || p[0] == c
			p = p[1:]
		}
	}
	if p != "" {
		p = p[1:]
	}
	return match != not, p
}
