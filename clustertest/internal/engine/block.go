package engine

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
	"github.com/rcctl/rcctl/hashtag"
)

// A waiter is a client blocked in a command until one of its keys is written,
// its time is up, its slot leaves, or it is unblocked.
type waiter struct {
	c       *conn
	cmd     *command
	try     []string // the command to try again, in the data engine's words
	args    []string
	ds      *dataset
	keys    []string
	timeout time.Duration // 0: forever
	null    []byte        // answer when the time is up
	began   time.Time
	reply   chan []byte
	done    bool
}

// cmdBlocking runs a blocking command: at once if it can be served, else as a
// waiter.
func cmdBlocking(x *call) {
	var timeout time.Duration
	try := x.args
	at := len(x.args) - 1
	if x.cmd.name == "blmpop" || x.cmd.name == "bzmpop" {
		at = 1
	}
	timeout, msg := parseTimeout(x.args[at])
	if msg != "" {
		x.err(msg)
		return
	}
	if x.cmd.name == "blmpop" {
		try = append([]string{"LMPOP"}, x.args[2:]...)
	}
	x.blockOn(try, x.cmd.keys(nil, x.args), timeout, resp.AppendNullArray(nil, x.proto))
}

func parseTimeout(s string) (time.Duration, string) {
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || math.IsNaN(f) || math.IsInf(f, 0):
		return 0, "ERR timeout is not a float or out of range"
	case f < 0:
		return 0, "ERR timeout is negative"
	case f > math.MaxInt64/2/1e9:
		return 0, "ERR timeout is out of range"
	}
	return time.Duration(math.Ceil(f*1000)) * time.Millisecond, ""
}

// blockOn tries the command and makes the client wait when it found nothing.
func (x *call) blockOn(try, keys []string, timeout time.Duration, null []byte) {
	w := &waiter{c: x.c, cmd: x.cmd, try: try, args: x.args, ds: x.ds, keys: keys, timeout: timeout, null: null, began: x.now}
	if x.cmd.name == "blmove" || x.cmd.name == "brpoplpush" {
		w.keys = keys[:1]
	}
	if reply := w.attempt(x.proto); reply != nil {
		x.out = append(x.out, reply...)
		return
	}
	if x.inTx || x.inScript {
		x.out = append(x.out, null...)
		return
	}
	w.reply = make(chan []byte, 1)
	for _, k := range w.keys {
		x.ds.waiters[k] = append(x.ds.waiters[k], w)
	}
	x.c.waiter, x.block = w, w
}

// attempt runs the command without waiting. nil means that there was nothing.
func (w *waiter) attempt(proto int) []byte {
	ds := w.ds
	ds.raw(proto, "MULTI")
	queued := ds.raw(proto, w.try...)
	if !bytes.HasPrefix(queued, []byte("+QUEUED")) {
		reply := bytes.Clone(queued)
		ds.raw(proto, "DISCARD")
		return reply
	}
	reply := bytes.TrimPrefix(ds.raw(proto, "EXEC"), []byte("*1\r\n"))
	for _, empty := range []string{"*-1\r\n", "$-1\r\n", "_\r\n", "*0\r\n"} {
		if string(reply) == empty {
			return nil
		}
	}
	if w.cmd.name == "xread" || w.cmd.name == "xreadgroup" || proto == 3 {
		reply = (&call{cmd: w.cmd, args: w.args, proto: proto}).appendNative(nil, reply)
	} else {
		reply = bytes.Clone(reply)
	}
	for _, k := range w.cmd.written(nil, w.args) {
		ds.changed(k)
		if e := ds.keys[k]; e != nil && !e.deadline.IsZero() && ds.value("PTTL", k).Int() < 0 {
			ds.setDeadline(e, time.Time{})
		}
	}
	ds.offset += 32
	return reply
}

// finish ends the wait with a reply. The caller holds Cluster.mu.
func (w *waiter) finish(reply []byte) {
	if w.done {
		return
	}
	w.done = true
	for _, k := range w.keys {
		list := slices.DeleteFunc(w.ds.waiters[k], func(o *waiter) bool { return o == w })
		if w.ds.waiters[k] = list; len(list) == 0 {
			delete(w.ds.waiters, k)
		}
	}
	w.c.waiter = nil
	w.reply <- reply
}

// serveReady serves the clients that wait for keys which the last command
// wrote, oldest first.
func (c *Cluster) serveReady() {
	for _, n := range c.nodes {
		ds := n.data
		for len(ds.ready) > 0 {
			key := ds.ready[0]
			ds.ready = ds.ready[1:]
			for _, w := range slices.Clone(ds.waiters[key]) {
				if w.done || w.c.n.down || w.c.n.paused != nil {
					continue
				}
				if reply := w.attempt(w.c.proto); reply != nil {
					w.finish(reply)
				}
			}
		}
	}
}

// redirectBlocked unblocks clients whose slot is now served elsewhere.
func (c *Cluster) redirectBlocked() {
	for _, n := range c.nodes {
		for cn := range n.conns {
			w := cn.waiter
			if w == nil || len(w.keys) == 0 {
				continue
			}
			t := n.view()
			slot := hashtag.Slot(w.keys[0])
			owner := int(t.slots[slot])
			_, importing := n.importing[slot]
			switch {
			case t.down(n.conf.fullCoverage):
				w.fail(string(errDownState))
			case owner == n.index || importing || cn.readonly && t.nodes[n.index].master == owner:
			case owner == noNode:
				w.fail(string(errDownUnbound))
			default:
				w.fail(string(n.redirectTo("MOVED", slot, owner)))
			}
		}
	}
}

func (w *waiter) fail(msg string) {
	b := resp.AppendError(nil, msg)
	w.c.n.stats.countError(b)
	w.finish(b)
}

func (n *Node) unblockAll(msg string) {
	for cn := range n.conns {
		if cn.waiter != nil {
			cn.waiter.fail(msg)
		}
	}
}

// await waits for the reply of a blocked command. A nil reply means that the
// client is gone.
func (c *conn) await(w *waiter) (reply []byte, closing bool) {
	if c.write() != nil {
		w.cancel()
		return nil, true
	}
	input := make(chan error, 1)
	c.n.c.conns.Add(1)
	go func() {
		defer c.n.c.conns.Done()
		input <- c.r.Wait()
	}()
	c.pending = input
	var up <-chan time.Time
	if w.timeout > 0 {
		t := time.NewTimer(w.timeout)
		defer t.Stop()
		up = t.C
	}
	for {
		select {
		case reply := <-w.reply:
			return reply, false
		case <-up:
			m := c.n.c
			m.mu.Lock()
			w.finish(w.null) // or it was served just now
			m.mu.Unlock()
		case err := <-input:
			if err != nil {
				w.cancel()
				return nil, true
			}
			// The next command is here; it has to wait.
			input = nil
			c.pending = nil
		case <-c.done:
			w.cancel()
			return nil, true
		}
	}
}

func (w *waiter) cancel() {
	m := w.c.n.c
	m.mu.Lock()
	defer m.mu.Unlock()
	w.finish(nil)
}

func cmdClientUnblock(x *call) {
	id, err := strconv.ParseInt(x.args[2], 10, 64)
	if err != nil {
		x.err("ERR value is not an integer or out of range")
		return
	}
	asError := false
	if len(x.args) > 3 {
		switch strings.ToUpper(x.args[3]) {
		case "ERROR":
			asError = true
		case "TIMEOUT":
		default:
			x.err("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
			return
		}
	}
	for cn := range x.n.conns {
		if cn.id != id || cn.waiter == nil {
			continue
		}
		if asError {
			cn.waiter.fail("UNBLOCKED client unblocked via CLIENT UNBLOCK")
		} else {
			cn.waiter.finish(cn.waiter.null)
		}
		x.int(1)
		return
	}
	x.int(0)
}

// cmdXRead is XREAD and XREADGROUP, with or without BLOCK.
func cmdXRead(x *call) {
	if x.cmd.name == "xread" && !x.allOfType(x.cmd.keys(nil, x.args), "stream") {
		x.err(wrongType) // the data engine finds nothing, and BLOCK waits for ever
		return
	}
	try := slices.Clone(x.args)
	timeout, block, streams := time.Duration(0), false, 0
	for i := 1; i < len(try) && streams == 0; i++ {
		switch strings.ToUpper(try[i]) {
		case "STREAMS":
			streams = i + 1
		case "GROUP":
			i += 2
		case "COUNT":
			i++
		case "BLOCK":
			if i+1 >= len(try) {
				continue
			}
			ms, err := strconv.ParseInt(try[i+1], 10, 64)
			switch {
			case err != nil:
				x.err("ERR timeout is not an integer or out of range")
				return
			case ms < 0:
				x.err("ERR timeout is negative")
				return
			}
			block, timeout = true, time.Duration(ms)*time.Millisecond
			i++
		}
	}
	if !block || streams == 0 || (len(try)-streams)%2 != 0 {
		runNative(x)
		return
	}
	if x.inScript {
		x.err("ERR " + strings.ToUpper(x.cmd.name) + " command is not allowed with BLOCK option from scripts")
		return
	}
	keys := try[streams : streams+(len(try)-streams)/2]
	for i, id := range try[streams+len(keys):] {
		if id == "$" { // what is last now, also when it is tried again
			try[streams+len(keys)+i] = x.lastID(keys[i])
		}
	}
	x.blockOn(try, slices.Clone(keys), timeout, resp.AppendNullArray(nil, x.proto))
}

func (x *call) lastID(key string) string {
	if v := x.ds.value("XREVRANGE", key, "+", "-", "COUNT", "1"); len(v.Elems) == 1 {
		return v.Elems[0].Elems[0].Str
	}
	return "0-0"
}
