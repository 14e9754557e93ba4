package health_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// countingDialer counts connections.
type countingDialer struct{ made, open atomic.Int64 }

func (d *countingDialer) wrap(dial dialFunc) dialFunc {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		d.made.Add(1)
		d.open.Add(1)
		return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { d.open.Add(-1) })}, nil
	}
}

type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}
