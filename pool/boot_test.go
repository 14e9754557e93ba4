package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/pool"
)

// failedNew makes a pool that must fail, in one line and well within its
// BootTimeout. Timeouts that are not set are long.
func failedNew(t *testing.T, cfg pool.Config) error {
	t.Helper()
	cfg.Logger = quiet
	if cfg.DialTimeout == 0 { // an answer comes late on a busy machine
		cfg.DialTimeout = 5 * time.Second
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = 5 * time.Second
	}
	start := time.Now()
	c, err := pool.New(context.Background(), cfg)
	if err == nil {
		_ = c.Close()
		t.Fatal("New succeeded")
	}
	if d := time.Since(start); d > 5500*time.Millisecond {
		t.Errorf("New took %s", d)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error of several lines: %v", err)
	}
	t.Log(err)
	return err
}

func wantInError(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error does not say %q: %v", w, err)
		}
	}
}

func TestNewOnASingleServerNamesTheClientThatFits(t *testing.T) {
	addr := startServer(t)
	err := failedNew(t, pool.Config{Addrs: []string{addr}})
	wantInError(t, err, addr, "redis.NewClient", "not a cluster")
	if !errors.Is(err, pool.ErrNotCluster) {
		t.Errorf("does not match ErrNotCluster: %v", err)
	}
	var ne *pool.NodeError
	if !errors.As(err, &ne) || ne.Addr != addr {
		t.Errorf("no NodeError for %s in %v", addr, err)
	}
}

func TestNewWithWrongCredentialsSaysWhichOnesToCheck(t *testing.T) {
	addr := startServer(t, "--cluster-enabled", "yes", "--requirepass", "secret")
	for _, tc := range []struct {
		name string
		cfg  pool.Config
		want []string
	}{
		{"no password", pool.Config{Addrs: []string{addr}}, []string{"NOAUTH", "Config.Password", "--password-file"}},
		{"wrong password", pool.Config{Addrs: []string{addr}, Password: "wrong"}, []string{"WRONGPASS", "check user name and password"}},
		{"unknown user", pool.Config{Addrs: []string{addr}, Username: "nobody", Password: "x"}, []string{"WRONGPASS"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wantInError(t, failedNew(t, tc.cfg), tc.want...)
		})
	}
}

func TestNewWithTLSAndPlainMixedUpSaysSo(t *testing.T) {
	ca := newCertAuthority(t)
	cert, key := ca.issue("127.0.0.1", "redis.test")
	plain := startServer(t, "--cluster-enabled", "yes")
	tlsOnly := startServer(t, append(ca.tlsDirectives(cert, key, "no"), "--cluster-enabled", "yes")...)
	mutual := startServer(t, append(ca.tlsDirectives(cert, key, "yes"), "--cluster-enabled", "yes")...)
	for _, tc := range []struct {
		name string
		cfg  pool.Config
		want []string
	}{
		{"TLS against a plain port", pool.Config{Addrs: []string{plain}, TLS: &tls.Config{RootCAs: ca.pool}, DialTimeout: time.Second}, []string{"plain port", "--tls"}},
		{"plain against a TLS port", pool.Config{Addrs: []string{tlsOnly}}, []string{"TLS port", "Config.TLS"}},
		{"an unknown CA", pool.Config{Addrs: []string{tlsOnly}, TLS: &tls.Config{ServerName: "redis.test"}}, []string{"--tls-ca"}},
		{"a name that is not in the certificate", pool.Config{Addrs: []string{tlsOnly}, TLS: &tls.Config{RootCAs: ca.pool}}, []string{"TLS.ServerName"}},
		{"no client certificate", pool.Config{Addrs: []string{mutual}, TLS: &tls.Config{RootCAs: ca.pool, ServerName: "redis.test"}}, []string{"client certificate"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wantInError(t, failedNew(t, tc.cfg), tc.want...)
		})
	}
}

func TestNewAtAnAddressThatDoesNotAnswerIsBounded(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := ln.Addr().String()
	_ = ln.Close()
	wantInError(t, failedNew(t, pool.Config{Addrs: []string{refused}}), refused, "connection refused", "nothing listens")
	hole := blackHole(t)
	wantInError(t, failedNew(t, pool.Config{Addrs: []string{hole}, ReadTimeout: 300 * time.Millisecond}), hole, "no answer", "AddrMap")
	wantInError(t, failedNew(t, pool.Config{Addrs: []string{hole}, TLS: &tls.Config{}, DialTimeout: 500 * time.Millisecond}), hole, "TLS: no answer")
	wantInError(t, failedNew(t, pool.Config{Addrs: []string{hole}, ReadTimeout: time.Minute, BootTimeout: 300 * time.Millisecond}),
		"BootTimeout 300ms", hole)
	wantInError(t, failedNew(t, pool.Config{Addrs: []string{"no-such-host.invalid:6379"}}), "no-such-host.invalid", "resolver")
	wantInError(t, failedNew(t, pool.Config{Addrs: []string{refused}, BootTimeout: 200 * time.Millisecond,
		Dialer: func(context.Context, string, string) (net.Conn, error) { select {} }}), "BootTimeout 200ms")
}

func TestNewOnAClusterWithUnservedSlotsNamesThem(t *testing.T) {
	addr := startServer(t, "--cluster-enabled", "yes", "--cluster-require-full-coverage", "no")
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	if err := c.ClusterAddSlotsRange(t.Context(), 100, 16000).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "cluster_state:ok", func() bool { return c.Get(t.Context(), "b").Err() == redis.Nil })
	err := failedNew(t, pool.Config{Addrs: []string{addr}})
	wantInError(t, err, "0-99 16001-16383", "AllowDegraded", "483 of 16384")
	if !errors.Is(err, pool.ErrUnserved) {
		t.Errorf("does not match ErrUnserved: %v", err)
	}
	p, err := pool.New(t.Context(), pool.Config{Addrs: []string{addr}, AllowDegraded: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestAClusterThatIsDownIsToldAsSuch(t *testing.T) {
	addr := startServer(t, "--cluster-enabled", "yes")
	wantInError(t, failedNew(t, pool.Config{Addrs: []string{addr}}), "16384 of 16384 slots")
}

func TestAnEndpointThatIsUnknownIsTheNodeThatWasAsked(t *testing.T) {
	addr := startServer(t, "--cluster-enabled", "yes", "--cluster-preferred-endpoint-type", "unknown-endpoint")
	ownAllSlots(t, &redis.Options{Addr: addr})
	p, err := pool.New(t.Context(), pool.Config{Addrs: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 30 {
		if err := p.Client().Set(t.Context(), "a", 1, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if v, err := p.Client().Get(t.Context(), "a").Int(); err != nil || v != 1 {
			t.Fatal(v, err)
		}
	}
}

func TestConnectionsCarryTheNameOfThePool(t *testing.T) {
	addr := startServer(t, "--cluster-enabled", "yes")
	ownAllSlots(t, &redis.Options{Addr: addr})
	p, err := pool.New(t.Context(), pool.Config{Addrs: []string{addr}, Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	node, err := p.Client().MasterForKey(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	list, err := node.ClientList(t.Context()).Result()
	if err != nil || !strings.Contains(list, " name=rcctl:shop ") {
		t.Errorf("%v\n%s", err, list)
	}
}

func TestAContextThatEndsEndsNew(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := pool.New(ctx, pool.Config{Addrs: []string{blackHole(t)}, ReadTimeout: time.Minute})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Second {
		t.Errorf("%v after %s", err, time.Since(start))
	}
}
