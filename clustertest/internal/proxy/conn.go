package proxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

// bufferSize is the size of the write buffers. maxKept is the largest buffer
// that is used again for the next command or reply.
const (
	bufferSize = 16 << 10
	maxKept    = 1 << 20
)

// A conn is one client's connection and the one to the node behind it. Two
// goroutines run it: commands reads the client, replies reads the node.
//
// Lock order: wmu and mu are never held together.
type conn struct {
	proxy          *Proxy
	client, server *net.TCPConn
	done           chan struct{} // closed by close
	once           sync.Once

	fromNode   atomic.Bool // another node is on the other side
	raw        atomic.Bool // replication: bytes, not commands
	subscribed atomic.Bool // RESP2 pub/sub messages may come between replies
	proto      atomic.Int32

	wmu      sync.Mutex // guards toClient
	toClient *bufio.Writer

	mu    sync.Mutex // guards queue
	queue queue

	// Used by commands alone.
	toServer      *bufio.Writer
	untracked     bool   // replies cannot be matched any more
	multi, dirty  bool   // inside MULTI; an error was injected there
	listeningPort string // of a replica
}

func newConn(p *Proxy, client, server *net.TCPConn) *conn {
	c := &conn{
		proxy: p, client: client, server: server, done: make(chan struct{}),
		toClient: bufio.NewWriterSize(client, bufferSize),
		toServer: bufio.NewWriterSize(server, bufferSize),
	}
	c.proto.Store(2)
	c.fromNode.Store(p.isNode(client))
	return c
}

// close ends the connection on both sides, by a reset if that is asked for.
func (c *conn) close(reset bool) {
	c.once.Do(func() {
		close(c.done)
		if reset {
			_ = c.client.SetLinger(0)
			_ = c.server.SetLinger(0)
		}
		_ = c.client.Close()
		_ = c.server.Close()
	})
}

// run returns when the connection has ended.
func (c *conn) run() {
	var wg sync.WaitGroup
	wg.Go(c.replies)
	c.commands()
	wg.Wait()
}

// A flushing reader writes out what is buffered for the other side before it
// may block.
type flushing struct {
	io.Reader
	flush func() error
}

func (f flushing) Read(p []byte) (int, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.Reader.Read(p)
}

// commands passes commands on until the client is gone.
func (c *conn) commands() {
	in := resp.NewReader(flushing{c.client, c.toServer.Flush})
	var buf []byte
	for {
		args, raw, err := in.ReadRawCommand(buf[:0])
		if err == nil {
			err = c.command(args, raw)
		}
		switch {
		case err == nil && c.raw.Load():
			_, err = io.Copy(c.server, in)
			c.hangUp(err)
			return
		case errors.Is(err, resp.ErrProtocol):
			c.answer(pending{local: resp.AppendError(nil, "ERR "+err.Error())})
			c.endWith(pending{end: true})
			return
		case err == errReset:
			c.endWith(pending{reset: true})
			return
		case err != nil:
			c.hangUp(err)
			return
		}
		if buf = raw; cap(buf) > maxKept {
			buf = nil
		}
	}
}

// hangUp tells the node that the client is gone: in order, so that answers
// under way still arrive, or by a reset. What remains ends replies.
func (c *conn) hangUp(err error) {
	if err == nil || errors.Is(err, io.EOF) {
		err = c.toServer.Flush()
		if err == nil && c.server.CloseWrite() == nil {
			return
		}
	}
	c.close(true)
}

// errReset ends a connection that a fault resets.
var errReset = errors.New("reset by a fault")

// endWith ends the connection after the answers under way.
func (c *conn) endWith(last pending) {
	err := c.toServer.Flush()
	if err == nil {
		c.answer(last)
		_, err = io.Copy(io.Discard, c.client)
	}
	if err == nil {
		err = c.server.CloseWrite() // what is under way still comes
	}
	if err != nil {
		c.close(true)
	}
}

// command decides what happens to one command.
func (c *conn) command(args []string, raw []byte) error {
	name := strings.ToUpper(args[0])
	if c.untracked {
		_, err := c.toServer.Write(raw)
		return err
	}
	f := c.proxy.faults.Match(args, c.fromNode.Load(), c.proxy.keysOf)
	if f.Delay > 0 {
		if err := c.sleep(f.Delay); err != nil {
			return err
		}
	}
	switch {
	case f.Error != "":
		return c.refuse(name, f.Error)
	case f.DropBefore:
		return errReset
	}
	if view := c.proxy.frozen.Load(); view != nil && name == "CLUSTER" && len(args) == 2 && !c.multi {
		if reply, ok := view[c.proto.Load()][strings.ToUpper(args[1])]; ok {
			c.answer(pending{local: reply})
			return nil
		}
	}
	return c.forward(name, args, raw, pending{drop: f.DropAfter, truncate: f.Truncate})
}

// refuse answers an error in place of a command. As with an error of the node,
// an EXEC that is refused ends the transaction, and a command that is refused
// spoils it.
func (c *conn) refuse(name, msg string) error {
	reply := resp.AppendError(nil, msg)
	if name == "EXEC" && c.multi {
		return c.discard(reply)
	}
	c.dirty = c.multi
	c.answer(pending{local: reply})
	return nil
}

// discard ends the transaction on the node and answers something else.
func (c *conn) discard(answer []byte) error {
	c.multi = false
	return c.expect(pending{replies: 1, instead: answer}, resp.AppendCommand(nil, "DISCARD"))
}

// forward sends a command to the node and notes what answer to expect.
func (c *conn) forward(name string, args []string, raw []byte, want pending) error {
	want.replies = 1
	switch name {
	case "MULTI":
		c.multi, c.dirty = true, false
	case "DISCARD", "RESET":
		c.multi = false
	case "EXEC":
		if c.multi && c.dirty {
			// The node does not know of the injected error.
			return c.discard(resp.AppendError(nil, "EXECABORT Transaction discarded because of previous errors."))
		}
		c.multi = false
	case "HELLO":
		if len(args) > 1 && (args[1] == "2" || args[1] == "3") {
			want.proto = int32(args[1][0] - '0')
		}
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE":
		if !c.multi {
			c.subscribed.Store(true)
			want.acks = true
			want.replies = max(1, len(args)-1)
		}
	case "MONITOR":
		c.untracked = true
	case "CLIENT":
		if len(args) > 2 && strings.EqualFold(args[1], "REPLY") && !strings.EqualFold(args[2], "ON") {
			c.untracked = true
			return c.send(raw)
		}
	case "REPLCONF":
		c.fromNode.Store(true)
		if len(args) > 2 && strings.EqualFold(args[1], "listening-port") {
			c.listeningPort = args[2]
		}
	case "PSYNC", "SYNC":
		c.fromNode.Store(true)
		c.raw.Store(true)
		if err := c.send(raw); err != nil {
			return err
		}
		return c.toServer.Flush()
	}
	return c.expect(want, raw)
}

// expect sends a command whose answer the client waits for.
func (c *conn) expect(want pending, raw []byte) error {
	c.mu.Lock()
	c.queue.push(want)
	c.mu.Unlock()
	return c.send(raw)
}

func (c *conn) send(raw []byte) error {
	_, err := c.toServer.Write(raw)
	return err
}

// sleep holds the client's commands back, not those before.
func (c *conn) sleep(d time.Duration) error {
	if err := c.toServer.Flush(); err != nil {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.done:
		return net.ErrClosed
	}
}

// answer gives the proxy's own answer after all that is still to come from the
// node for earlier commands.
func (c *conn) answer(own pending) {
	c.mu.Lock()
	empty := c.queue.empty()
	if !empty {
		c.queue.push(own)
	}
	c.mu.Unlock()
	// With an empty queue replies has nothing to write but pushes, and nobody
	// but this goroutine fills the queue.
	if empty {
		_ = c.deliver(own, true) // the next read finds the error
	}
}

// deliver writes the proxy's own answer, or ends the connection.
func (c *conn) deliver(own pending, flush bool) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if own.reset || own.end {
		_ = c.toClient.Flush() // what came before still arrives
		c.close(own.reset)
		return errReset
	}
	_, err := c.toClient.Write(own.local)
	if err == nil && flush {
		err = c.toClient.Flush()
	}
	return err
}
