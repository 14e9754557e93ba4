package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// dialer opens connections: to the address the AddrMap says, with TLS for the
// announced name, within DialTimeout, and not after Close.
type dialer struct {
	cfg  Config
	life context.Context
	// hostFor names the host of a node that announced none, by its port.
	hostFor func(port string) string
	base    func(ctx context.Context, network, addr string) (net.Conn, error)
}

func newDialer(cfg Config, life context.Context, hostFor func(string) string) *dialer {
	d := &dialer{cfg: cfg, life: life, hostFor: hostFor, base: cfg.Dialer}
	if d.base == nil {
		d.base = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	return d
}

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.DialTimeout)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()

	announced := completeHost(addr, d.hostFor)
	conn, err := d.base(ctx, network, mapAddr(d.cfg.AddrMap, announced))
	if err != nil {
		var op *net.OpError
		if !errors.As(err, &op) { // a Dialer's own error: a failed dial all the same
			err = &net.OpError{Op: "dial", Net: network, Err: err}
		}
		return nil, err
	}
	if d.cfg.TLS == nil {
		return conn, nil
	}
	tc := tls.Client(conn, d.tlsConfig(announced))
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Addr: conn.RemoteAddr(), Err: &tlsError{err}}
	}
	return tc, nil
}

// failedConn is a dial that failed. go-redis counts failed dials per pool, never
// forgets them, and once PoolSize have failed it refuses to dial for up to a
// second after the node is back. A connection whose first write fails reports
// the same error to the same caller without that count.
type failedConn struct{ err error }

func (c *failedConn) Read([]byte) (int, error)         { return 0, c.err }
func (c *failedConn) Write([]byte) (int, error)        { return 0, c.err }
func (c *failedConn) Close() error                     { return nil }
func (c *failedConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *failedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *failedConn) SetDeadline(time.Time) error      { return nil }
func (c *failedConn) SetReadDeadline(time.Time) error  { return nil }
func (c *failedConn) SetWriteDeadline(time.Time) error { return nil }

// dialNode dials for the cluster client: not at all while the node's breaker
// is open, since callers that queue for a dial have passed the hook already.
func (c *core) dialNode(ctx context.Context, network, addr string) (net.Conn, error) {
	n := c.nodes.get(addr)
	if n.breaker.Open() {
		return &failedConn{n.refusal}, nil
	}
	conn, err := c.dialer.dial(ctx, network, addr)
	if err != nil {
		return &failedConn{limitHint(err)}, nil
	}
	return conn, nil
}

// limitHint names the limit of this host that a dial ran into.
func limitHint(err error) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EADDRNOTAVAIL) {
		fix, _ := diagnoseNet(err, Config{})
		return fmt.Errorf("%w: %s", err, fix)
	}
	return err
}

// tlsError marks a failed TLS handshake.
type tlsError struct{ err error }

func (e *tlsError) Error() string { return "TLS handshake: " + e.err.Error() }
func (e *tlsError) Unwrap() error { return e.err }

// Timeout makes the error a timeout where the handshake ran into one.
func (e *tlsError) Timeout() bool { return isTimeout(e.err) }

// completeHost fills in a host that a redirect left empty ("MOVED 1 :7000") or
// unknown ("?"): hostFor names the host of the node on that port.
func completeHost(addr string, hostFor func(port string) string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || (host != "" && host != "?") {
		return addr
	}
	if h := hostFor(port); h != "" {
		return net.JoinHostPort(h, port)
	}
	return addr
}

func (d *dialer) tlsConfig(announced string) *tls.Config {
	c := d.cfg.TLS.Clone()
	if c.ServerName == "" {
		c.ServerName, _, _ = net.SplitHostPort(announced)
	}
	return c
}

// mapAddr is where to dial for an announced address: the entry for host:port,
// else the one for the host, else the address itself. A value without a port
// keeps the announced one.
func mapAddr(m map[string]string, announced string) string {
	if len(m) == 0 {
		return announced
	}
	host, port, err := net.SplitHostPort(announced)
	if err != nil {
		return announced
	}
	to, ok := m[announced]
	if !ok {
		if to, ok = m[host]; !ok {
			return announced
		}
	}
	if _, _, err := net.SplitHostPort(to); err != nil {
		return net.JoinHostPort(to, port)
	}
	return to
}
