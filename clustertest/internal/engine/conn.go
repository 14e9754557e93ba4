package engine

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/rcctl/rcctl/clustertest/internal/fault"
	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

// outputLimit is what a client may leave unread before it is closed, the hard
// limit that Redis has for subscribers.
const outputLimit = 32 << 20

// A conn is one client connection. Its goroutine reads and runs commands; what
// other goroutines deliver (published messages) goes through out.
type conn struct {
	n      *Node
	stats  *stats // of the run of the node that the connection belongs to
	nc     net.Conn
	r      *resp.Reader
	id     int64
	direct bool // of DialDirect: no fault applies, maxclients neither
	born   time.Time
	addr   string

	done chan struct{}
	end  sync.Once

	mu     sync.Mutex // guards out
	out    []byte
	wmu    sync.Mutex // serializes writes
	kick   chan struct{}
	pusher bool // the loop leaves writing to another goroutine
	// pending is the wait for input that a blocking command began.
	pending chan error

	// The rest is guarded by Cluster.mu.
	proto             int
	authed            bool
	name              string
	libName, libVer   string
	readonly, asking  bool
	noEvict, noTouch  bool
	replyOff, skip    bool
	multi, dirty      bool
	queue             []queued
	watch             *server.Peer
	watchLost         bool
	channels, pattern map[string]struct{}
	waiter            *waiter
	lastCmd           string
	lastUsed          time.Time
	commands          int64
	closing           bool // after the reply
	scratch           []string
}

type queued struct {
	cmd  *command
	args []string
}

// serve takes a connection over, or refuses it when the node is down.
func (n *Node) serve(nc net.Conn, direct bool) error {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.down || n.c.closed {
		return refused("tcp")
	}
	now := time.Now()
	c := &conn{n: n, stats: n.stats, nc: nc, r: resp.NewReader(nc), id: n.c.nextConn.Add(1), direct: direct, born: now,
		lastUsed: now, done: make(chan struct{}), kick: make(chan struct{}, 1), proto: 2, addr: nc.RemoteAddr().String()}
	n.stats.connections++
	c.authed = n.conf.password == ""
	n.conns[c] = struct{}{}
	async := direct || n.c.inMemory
	n.c.conns.Add(1)
	if !direct && len(n.conns) > n.conf.maxClients {
		delete(n.conns, c)
		n.stats.rejectedConns++
		go func() {
			defer n.c.conns.Done()
			turnAway(nc)
		}()
		return nil
	}
	if async {
		c.pusher = true
		// A pipe has no buffer: a client that still writes must not keep the
		// replies from being sent.
		c.startPusher()
	}
	go func() {
		defer n.c.conns.Done()
		c.loop()
	}()
	return nil
}

// turnAway tells a client that there is no room. What the client sends is read
// meanwhile: a socket that is closed with unread data loses the message.
func turnAway(nc net.Conn) {
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(time.Second))
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, nc)
	}()
	_, _ = nc.Write([]byte("-ERR max number of clients + cluster connections reached\r\n"))
	if t, ok := nc.(*net.TCPConn); ok {
		_ = t.CloseWrite()
	} else {
		nc.Close()
	}
	<-read
}

// startPusher makes another goroutine write what is in out.
func (c *conn) startPusher() {
	c.n.c.conns.Add(1)
	go func() {
		defer c.n.c.conns.Done()
		for {
			select {
			case <-c.kick:
				if c.write() != nil {
					c.close()
					return
				}
			case <-c.done:
				return
			}
		}
	}()
}

func (c *conn) loop() {
	defer c.forget()
	for {
		if c.pending != nil {
			if c.flush() != nil {
				return
			}
			err := <-c.pending
			c.pending = nil
			if err != nil {
				return
			}
		}
		args, err := c.r.ReadCommand()
		if err != nil {
			if errors.Is(err, resp.ErrProtocol) {
				c.send(resp.AppendError(nil, "ERR "+err.Error()))
				c.write()
			}
			return
		}
		if !c.perform(args) {
			c.write()
			return
		}
		if c.pending == nil && c.r.Buffered() == 0 && c.flush() != nil {
			return
		}
	}
}

// send appends to what is written next.
func (c *conn) send(b []byte) {
	c.mu.Lock()
	c.out = append(c.out, b...)
	c.mu.Unlock()
}

// push delivers something that no command of this client asked for.
func (c *conn) push(b []byte) {
	c.mu.Lock()
	c.out = append(c.out, b...)
	full := len(c.out) > outputLimit
	c.mu.Unlock()
	if full {
		go c.abort()
		return
	}
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// flush has what is in out written, by the pusher if there is one.
func (c *conn) flush() error {
	if c.pusher {
		select {
		case c.kick <- struct{}{}:
		default:
		}
		return nil
	}
	return c.write()
}

// write sends what is in out.
func (c *conn) write() error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.mu.Lock()
	b := c.out
	c.out = nil
	c.mu.Unlock()
	if len(b) == 0 {
		return nil
	}
	_, err := c.nc.Write(b)
	c.stats.written.Add(int64(len(b)))
	if cap(b) <= 64<<10 {
		c.mu.Lock()
		if c.out == nil {
			c.out = b[:0]
		}
		c.mu.Unlock()
	}
	return err
}

// close ends the connection in an orderly way, abort with a reset.
func (c *conn) close() { c.end.Do(func() { close(c.done); c.nc.Close() }) }
func (c *conn) abort() { c.end.Do(func() { close(c.done); reset(c.nc) }) }

// reset closes a connection so that the other side sees a reset.
func reset(nc net.Conn) {
	switch t := nc.(type) {
	case *net.TCPConn:
		t.SetLinger(0)
	case *serverPipe:
		t.wasReset.Store(true)
	}
	nc.Close()
}

// forget removes the connection from the node.
func (c *conn) forget() {
	c.close()
	m := c.n.c
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(c.n.conns, c)
	c.unsubscribeAll()
	c.unwatch()
}

// perform runs one command and reports whether the connection goes on.
func (c *conn) perform(args []string) bool {
	m := c.n.c
	var hit fault.Fault
	faulted := c.direct
	m.mu.Lock()
	for c.n.paused != nil || c.n.hold != nil && c.n.hold.applies(c, args) || !faulted && !c.n.faults.Empty() {
		m.mu.Unlock()
		if !c.waitWhileHeld(args) {
			return false
		}
		if !faulted {
			var done, lost bool
			if hit, done, lost = c.fault(args); done || lost {
				return done
			}
			faulted = true
		}
		m.mu.Lock()
	}
	if c.n.down || m.closed {
		m.mu.Unlock()
		return false
	}
	reply, w := c.n.process(c, args)
	closing := c.closing
	switch {
	case spoils(hit):
		reply = bytes.Clone(reply)
	case len(reply) > 0:
		c.send(reply)
	}
	m.mu.Unlock()
	if w != nil {
		if reply, closing = c.await(w); reply == nil {
			return false
		}
		if !spoils(hit) {
			c.send(reply)
		}
	}
	if spoils(hit) {
		c.spoil(hit, reply)
		return false
	}
	return !closing
}

func (c *conn) flags() string {
	var b strings.Builder
	if c.readonly {
		b.WriteByte('r')
	}
	if len(c.channels)+len(c.pattern) > 0 {
		b.WriteByte('P')
	}
	if c.waiter != nil {
		b.WriteByte('b')
	}
	if c.multi {
		b.WriteByte('x')
	}
	if c.watchLost {
		b.WriteByte('d')
	}
	if c.noEvict {
		b.WriteByte('e')
	}
	if c.noTouch {
		b.WriteByte('T')
	}
	if b.Len() == 0 {
		return "N"
	}
	return b.String()
}

// line is the connection's line of CLIENT LIST.
func (c *conn) line(now time.Time) string {
	multi := -1
	if c.multi {
		multi = len(c.queue)
	}
	sec := func(t time.Time) string { return strconv.FormatInt(int64(now.Sub(t)/time.Second), 10) }
	c.mu.Lock()
	pending := len(c.out)
	c.mu.Unlock()
	return "id=" + strconv.FormatInt(c.id, 10) + " addr=" + c.addr + " laddr=" + c.n.listenAddr() +
		" fd=" + strconv.FormatInt(8+c.id, 10) + " name=" + c.name + " age=" + sec(c.born) + " idle=" + sec(c.lastUsed) +
		" flags=" + c.flags() + " db=0 sub=" + strconv.Itoa(len(c.channels)) + " psub=" + strconv.Itoa(len(c.pattern)) +
		" ssub=0 multi=" + strconv.Itoa(multi) + " qbuf=0 qbuf-free=20448 argv-mem=10 multi-mem=0 rbs=16384 rbp=16384" +
		" obl=0 oll=0 omem=" + strconv.Itoa(pending) + " tot-mem=37658 events=r cmd=" + c.lastCmd + " user=default redir=-1 resp=" +
		strconv.Itoa(c.proto) + " lib-name=" + c.libName + " lib-ver=" + c.libVer
}
