package bench

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
)

// The documented defaults of pool.Config, for the clients that are not made by
// that package.
func withPoolDefaults(c pool.Config) pool.Config {
	num := func(p *int, def int) {
		switch *p {
		case 0:
			*p = def
		case -1:
			*p = 0
		}
	}
	dur := func(p *time.Duration, def time.Duration) {
		if *p == 0 {
			*p = def
		}
	}
	num(&c.PoolSize, 100)
	num(&c.MinIdleConns, 20)
	num(&c.MaxRetries, 3)
	dur(&c.DialTimeout, 500*time.Millisecond)
	dur(&c.ReadTimeout, 300*time.Millisecond)
	dur(&c.WriteTimeout, 300*time.Millisecond)
	dur(&c.PoolTimeout, time.Second)
	dur(&c.ConnMaxIdleTime, 5*time.Minute)
	dur(&c.BootTimeout, 5*time.Second)
	return c
}

// dialer dials announced addresses as pool.Config says: mapped, with TLS under
// the announced name.
func dialer(c pool.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		if to, ok := c.AddrMap[addr]; ok {
			addr = to
		} else if to, ok := c.AddrMap[host]; ok {
			addr = to
			if _, _, err := net.SplitHostPort(to); err != nil {
				addr = net.JoinHostPort(to, port)
			}
		}
		ctx, cancel := context.WithTimeout(ctx, c.DialTimeout)
		defer cancel()
		dial := c.Dialer
		if dial == nil {
			dial = (&net.Dialer{}).DialContext
		}
		conn, err := dial(ctx, network, addr)
		if err != nil || c.TLS == nil {
			return conn, err
		}
		return handshake(ctx, conn, c.TLS, host)
	}
}

func handshake(ctx context.Context, conn net.Conn, cfg *tls.Config, host string) (net.Conn, error) {
	cfg = cfg.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	t := tls.Client(conn, cfg)
	if err := t.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("TLS handshake with %s: %w", host, err)
	}
	return t, nil
}

// nodeClient is a client of one node for questions beside the load: few
// connections, no retries, every call bounded by its context.
func nodeClient(c pool.Config, addr, name string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, ClientName: name, Dialer: dialer(c),
		Username: c.Username, Password: c.Password, CredentialsProviderContext: c.Credentials,
		PoolSize: 2, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: 500 * time.Millisecond, ReadTimeout: sampleTimeout, WriteTimeout: sampleTimeout,
		ContextTimeoutEnabled: true, DisableIdentity: true,
	})
}
