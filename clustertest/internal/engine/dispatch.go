package engine

import (
	"bytes"
	"strings"
	"time"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

// A handler runs one command and appends its reply to x.out.
type handler func(x *call)

// A call is one command that runs.
type call struct {
	n     *Node
	c     *conn
	cmd   *command
	args  []string
	ds    *dataset
	proto int
	out   []byte
	now   time.Time
	// inTx and inScript: nothing may block, and the reply is part of another.
	inTx, inScript bool
	// block is set by a command that waits: its reply comes later.
	block *waiter
	// counted: the errors in out were counted already.
	counted bool
}

// err answers an error.
func (x *call) err(msg string) { x.out = resp.AppendError(x.out, msg) }

// process runs one command of a client: the checks of processCommand in
// redis-server 7.0, in their order. The reply is valid until the next call.
func (n *Node) process(c *conn, args []string) ([]byte, *waiter) {
	now := time.Now()
	n.c.st.expire(now)
	c.lastUsed = now
	c.commands++
	n.stats.input += int64(len(args)) * 8
	cmd, parent := table().lookup(args)
	x := &n.stats.scratch
	*x = call{n: n, c: c, cmd: cmd, args: args, ds: n.data, proto: c.proto, now: now, out: x.out[:0]}
	wasAsking := c.asking
	if why := n.refuse(x, parent); why != "" {
		n.reject(x, why)
	} else if c.multi && !runsInMulti(cmd.name) {
		if !c.dirty { // else EXEC runs none of them
			c.queue = append(c.queue, queued{cmd, args})
		}
		x.out = append(x.out, "+QUEUED\r\n"...)
	} else {
		n.invoke(x)
	}
	if !c.multi && (cmd == nil || cmd.name != "asking") && wasAsking {
		c.asking = false
	}
	n.c.serveReady()
	if cmd != nil {
		c.lastCmd = cmd.name
	}
	if c.replyOff || c.skip && (cmd == nil || cmd.name != "client|reply") {
		c.skip = false
		x.out = x.out[:0]
	}
	return x.out, x.block
}

func runsInMulti(name string) bool {
	switch name {
	case "exec", "discard", "multi", "watch", "quit", "reset":
		return true
	}
	return false
}

// refuse says why a command may not run here and now, or "".
func (n *Node) refuse(x *call, parent *command) string {
	c, cmd := x.c, x.cmd
	switch {
	case parent != nil:
		return "ERR unknown subcommand '" + clip(x.args[1], 128) + "'. Try " + strings.ToUpper(parent.name) + " HELP."
	case cmd == nil:
		return unknownCommand(x.args)
	case !cmd.arityOK(x.args):
		return "ERR wrong number of arguments for '" + cmd.name + "' command"
	case !c.authed && cmd.flags&flagNoAuth == 0:
		return "NOAUTH Authentication required."
	}
	q := request{migrate: cmd.name == "migrate", write: cmd.flags&flagWrite != 0}
	c.scratch = c.scratch[:0]
	if cmd.name == "exec" {
		for _, k := range c.queue {
			c.scratch = k.cmd.keys(c.scratch, k.args)
			q.write = q.write || k.cmd.flags&flagWrite != 0
			q.migrate = q.migrate || k.cmd.name == "migrate"
		}
	} else {
		c.scratch = cmd.keys(c.scratch, x.args)
	}
	q.keys = c.scratch
	if len(q.keys) > 0 {
		asking := c.asking || cmd.name == "restore-asking"
		if to := n.route(q, asking, c.readonly); to != "" {
			return string(to)
		}
	}
	if q.write && n.isReplica() && n.conf.replicaRO && n.frozen == nil {
		return "READONLY You can't write against a read only replica."
	}
	if c.proto == 2 && len(c.channels)+len(c.pattern) > 0 && !allowedWhileSubscribed(cmd.name) {
		return "ERR Can't execute '" + cmd.name + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
	}
	if c.multi && cmd.flags&flagNoMulti != 0 {
		return "ERR Command not allowed inside a transaction"
	}
	return ""
}

func allowedWhileSubscribed(name string) bool {
	switch name {
	case "ping", "subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe", "quit", "reset":
		return true
	}
	return false
}

func unknownCommand(args []string) string {
	var b strings.Builder
	for _, a := range args[1:] {
		if b.Len() >= 128 {
			break
		}
		b.WriteString("'" + clip(a, 128-b.Len()) + "' ")
	}
	return "ERR unknown command '" + clip(args[0], 128) + "', with args beginning with: " + b.String()
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// reject answers an error for a command that did not run. It spoils the
// transaction that the command is part of.
func (n *Node) reject(x *call, why string) {
	c := x.c
	if x.cmd != nil {
		n.stats.command(x.cmd).rejected++
	}
	redirected := strings.HasPrefix(why, "MOVED ") || strings.HasPrefix(why, "ASK ") ||
		strings.HasPrefix(why, "CLUSTERDOWN ") || strings.HasPrefix(why, "TRYAGAIN ") || strings.HasPrefix(why, "CROSSSLOT ")
	switch {
	case x.cmd == nil || x.cmd.name != "exec":
		if c.multi {
			c.dirty = true
		}
	case redirected:
		c.discard()
	default:
		why = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(why, "ERR ")
		c.discard()
	}
	x.err(why)
	n.stats.countError(x.out)
}

// invoke runs a command and counts it.
func (n *Node) invoke(x *call) {
	s := n.stats.command(x.cmd)
	at := len(x.out)
	if x.cmd.flags&flagReadonly != 0 && x.cmd.native {
		n.stats.keys = x.cmd.keys(n.stats.keys[:0], x.args)
		for _, k := range n.stats.keys {
			x.access(x.ds.has(k))
		}
	}
	x.cmd.run(x)
	took := time.Since(x.now)
	n.stats.processed++
	s.calls++
	s.usec += took.Microseconds()
	s.latency.record(took)
	if len(x.out) > at && x.out[at] == '-' {
		s.failed++
		if !x.counted {
			n.stats.countError(x.out[at:])
		}
	}
	x.counted = false
	if n.conf.slowerThan >= 0 && took >= n.conf.slowerThan {
		n.slow.add(x, took)
	}
}

// runNative hands the command to the data engine.
func runNative(x *call) {
	if why := strict(x); why != "" {
		x.err(why)
		return
	}
	if x.cmd.flags&flagWrite == 0 {
		x.out = x.appendNative(x.out, x.native())
		return
	}
	var before time.Time
	switch x.cmd.name {
	case "rename", "renamenx", "copy":
		if e := x.ds.keys[x.args[1]]; e != nil {
			before = e.deadline
		}
	}
	reply := x.native()
	x.out = x.appendNative(x.out, reply)
	switch {
	case reply[0] == '-', x.cmd.name == "set" && !setApplied(x.args[3:], reply), mayRefuse[x.cmd.name] && string(reply) == ":0\r\n":
		return // nothing was written, no time to live has changed
	case combines[x.cmd.name] && string(reply) == ":0\r\n":
		x.ds.raw(2, "DEL", x.args[1]) // the data engine keeps empty sets
	}
	x.wrote(before)
}

// mayRefuse are the commands whose 0 means that they did nothing.
var mayRefuse = map[string]bool{"copy": true, "msetnx": true, "renamenx": true, "setnx": true}

// setApplied tells from the reply whether SET stored the value.
func setApplied(opts []string, reply []byte) bool {
	null := bytes.HasPrefix(reply, []byte("$-1")) || reply[0] == '_'
	switch {
	case !hasOption(opts, "GET"):
		return !null
	case hasOption(opts, "NX"):
		return null
	case hasOption(opts, "XX"):
		return !null
	}
	return true
}

// wrote brings index, deadlines and the replication offset up to date.
func (x *call) wrote(before time.Time) {
	var buf [4]string
	for _, k := range x.cmd.written(buf[:0], x.args) {
		x.ds.changed(k)
	}
	x.ds.ttlEffect(x.cmd, x.args, before, x.now)
	for _, a := range x.args {
		x.ds.offset += int64(len(a)) + 5
	}
	x.ds.offset += 4
}

// notEmulated answers for a command that exists in Redis 7.0 but not here.
func notEmulated(x *call) {
	x.err("ERR '" + x.cmd.name + "' is not emulated by the embedded cluster")
}

// invokeArgs runs further commands inside a transaction or a script.
func (x *call) invokeInner(cmd *command, args []string, inner call) call {
	inner.n, inner.c, inner.cmd, inner.args = x.n, x.c, cmd, args
	inner.ds, inner.now = x.n.data, x.now
	x.n.invoke(&inner)
	return inner
}
