package engine

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// A serverPipe is the node's end of a net.Pipe pair. wasReset says how it was
// closed, since a pipe has no reset.
type serverPipe struct {
	net.Conn
	remote   net.Addr
	wasReset atomic.Bool
}

func (s *serverPipe) RemoteAddr() net.Addr { return s.remote }

// A clientPipe is the client's end. Its errors are those of a TCP connection,
// which clients know how to treat.
type clientPipe struct {
	net.Conn
	server        *serverPipe
	local, remote net.Addr
	closed        atomic.Bool
}

func (p *clientPipe) LocalAddr() net.Addr  { return p.local }
func (p *clientPipe) RemoteAddr() net.Addr { return p.remote }

func (p *clientPipe) Close() error {
	p.closed.Store(true)
	return p.Conn.Close()
}

func (p *clientPipe) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	return n, p.translate("read", err)
}

func (p *clientPipe) Write(b []byte) (int, error) {
	n, err := p.Conn.Write(b)
	return n, p.translate("write", err)
}

// The deadlines of a pipe cannot be set once the other side is closed, those of
// a TCP connection can: the next read or write tells.
func (p *clientPipe) SetDeadline(t time.Time) error      { return p.late(p.Conn.SetDeadline(t)) }
func (p *clientPipe) SetReadDeadline(t time.Time) error  { return p.late(p.Conn.SetReadDeadline(t)) }
func (p *clientPipe) SetWriteDeadline(t time.Time) error { return p.late(p.Conn.SetWriteDeadline(t)) }

func (p *clientPipe) late(err error) error {
	if err != nil && p.closed.Load() {
		return &net.OpError{Op: "set", Net: "tcp", Addr: p.remote, Err: net.ErrClosed}
	}
	return nil
}

func (p *clientPipe) translate(op string, err error) error {
	switch {
	case err == nil || errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case p.closed.Load():
		return &net.OpError{Op: op, Net: "tcp", Addr: p.remote, Err: net.ErrClosed}
	case op == "write":
		return &net.OpError{Op: op, Net: "tcp", Addr: p.remote, Err: os.NewSyscallError(op, syscall.EPIPE)}
	case err == io.EOF && p.server.wasReset.Load():
		return &net.OpError{Op: op, Net: "tcp", Addr: p.remote, Err: os.NewSyscallError(op, syscall.ECONNRESET)}
	}
	return err
}

// pipe opens an in-memory connection to the node.
func (n *Node) pipe(network string, direct bool) (net.Conn, error) {
	c, s := net.Pipe()
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(40000 + n.c.nextPort.Add(1)%20000)}
	sp := &serverPipe{Conn: s, remote: local}
	if err := n.serve(sp, direct); err != nil {
		c.Close()
		s.Close()
		return nil, refused(network)
	}
	return &clientPipe{Conn: c, server: sp, local: local, remote: &net.TCPAddr{IP: net.ParseIP(n.ip), Port: n.port}}, nil
}
