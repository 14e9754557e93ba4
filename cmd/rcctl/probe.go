package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/rcctl/rcctl/health"
	"github.com/rcctl/rcctl/internal/doctor"
	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
)

// checker makes a checker for the cluster of the flags. Its reports are never
// old ones.
func (f *clusterFlags) checker(a *app) (*health.Checker, error) {
	cfg, err := f.config(a)
	if err != nil {
		return nil, err
	}
	h, err := health.New(health.Config{
		Options: probeOptions(cfg),
		// A round is up to four waves of probes.
		Timeout: min(max(f.timeout/4, 10*time.Millisecond), time.Second),
		MaxAge:  -1,
	})
	if err != nil {
		return nil, usageError("%w", err)
	}
	return h, nil
}

// probeOptions are the options of probes, which dial as package pool does.
func probeOptions(cfg pool.Config) *redis.ClusterOptions {
	return &redis.ClusterOptions{
		Addrs:     cfg.Addrs,
		Username:  cfg.Username,
		Password:  cfg.Password,
		TLSConfig: cfg.TLS,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, network, doctor.MapAddr(cfg.AddrMap, addr))
			if err != nil || cfg.TLS == nil {
				return conn, err
			}
			c := cfg.TLS.Clone()
			if c.ServerName == "" {
				c.ServerName, _, _ = net.SplitHostPort(addr)
			}
			tc := tls.Client(conn, c)
			if err := tc.HandshakeContext(ctx); err != nil {
				_ = conn.Close()
				return nil, fmt.Errorf("TLS handshake: %w", err)
			}
			return tc, nil
		},
	}
}

// report asks the cluster once, within --timeout.
func (f *clusterFlags) report(ctx context.Context, h *health.Checker) (*health.Report, error) {
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	r, err := h.Report(bounded)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("no answer within --timeout %s", f.timeout)
	}
	return r, err
}

// unknown is the error of a report that nobody told the topology for: what the
// first address said and which flag may help. nil if the topology is known.
func (f *clusterFlags) unknown(r *health.Report) error {
	if r.Known {
		return nil
	}
	if len(r.Reasons) == 0 {
		return errors.New("the cluster cannot be judged: no address answers")
	}
	first := r.Reasons[0]
	msg := fmt.Sprintf("%s: %s", first.Node, first.Detail)
	if first.Fix != "" {
		msg += ": " + first.Fix
	}
	switch {
	case first.Code == health.CodeAuth:
		msg += " (--user, --password-file or RCCTL_PASSWORD)"
	case strings.Contains(first.Fix, "turn TLS on"):
		msg += " (--tls)"
	case strings.Contains(first.Fix, "turn TLS off"):
		msg += " (without --tls)"
	}
	if n := len(r.Reasons) - 1; n > 0 {
		msg += fmt.Sprintf(" (and %d more)", n)
	}
	return errors.New(msg)
}
