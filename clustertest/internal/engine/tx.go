package engine

import (
	"bytes"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

func cmdMulti(x *call) {
	if x.c.multi {
		x.err("ERR MULTI calls can not be nested")
		return
	}
	x.c.multi = true
	x.ok()
}

// discard ends the transaction.
func (c *conn) discard() {
	c.multi, c.dirty, c.queue = false, false, nil
	c.unwatch()
}

func cmdDiscard(x *call) {
	if !x.c.multi {
		x.err("ERR DISCARD without MULTI")
		return
	}
	x.c.discard()
	x.ok()
}

func cmdWatch(x *call) {
	if x.c.multi {
		x.err("ERR WATCH inside MULTI is not allowed")
		return
	}
	c := x.c
	if c.watch == nil {
		c.watch = x.ds.newPeer()
	}
	x.n.c.st.on(c.watch, 2, x.args)
	x.ok()
}

func cmdUnwatch(x *call) {
	x.c.unwatch()
	x.ok()
}

// unwatch forgets the watched keys.
func (c *conn) unwatch() { c.watch, c.watchLost = nil, false }

// watchBroken reports whether a watched key was changed. The data engine keeps
// versions of keys; an empty transaction of its own tells.
func (c *conn) watchBroken() bool {
	if c.watchLost {
		return true
	}
	if c.watch == nil {
		return false
	}
	st := c.n.c.st
	st.on(c.watch, 2, []string{"MULTI"})
	return bytes.HasPrefix(st.on(c.watch, 2, []string{"EXEC"}), []byte("*-1"))
}

func cmdExec(x *call) {
	c := x.c
	if !c.multi {
		x.err("ERR EXEC without MULTI")
		return
	}
	defer c.discard()
	if c.dirty {
		x.err("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	if c.watchBroken() {
		x.out = resp.AppendNullArray(x.out, x.proto)
		return
	}
	queue := c.queue
	c.queue = nil
	x.array(len(queue))
	for _, q := range queue {
		inner := x.invokeInner(q.cmd, q.args, call{proto: c.proto, inTx: true, out: x.out})
		x.out = inner.out
		x.proto = c.proto
	}
}
