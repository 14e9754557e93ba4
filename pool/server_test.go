package pool_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/pool"
)

// startServer runs one redis-server on a loopback address of its own with
// further directives and returns its host:port; "{port}" in a directive is
// replaced. It answers TCP when startServer returns.
func startServer(t testing.TB, directives ...string) string {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("RCCTL_REQUIRE_REDIS") == "1" {
			t.Fatal("no redis-server, and RCCTL_REQUIRE_REDIS=1")
		}
		t.Skip("no redis-server on PATH")
	}
	host := fmt.Sprintf("127.71.%d.%d", os.Getpid()%250+1, time.Now().UnixNano()%250+1)
	port := freePort(t, host)
	args := []string{"--bind", host, "--bind-source-addr", host, "--protected-mode", "no", "--save", "", "--dir", t.TempDir(), "--enable-debug-command", "yes"}
	plain := true
	for _, d := range directives {
		if d == "--tls-port" {
			plain = false
		}
	}
	if plain {
		args = append(args, "--port", port)
	}
	for _, d := range directives {
		if d == "{port}" {
			d = port
		}
		args = append(args, d)
	}
	cmd := exec.Command(bin, args...)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
	})
	addr := net.JoinHostPort(host, port)
	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			_ = conn.Close()
			return addr
		}
		if time.Now().After(deadline) {
			out, _ := os.ReadFile(log.Name())
			t.Fatalf("redis-server does not listen at %s: %v\n%s", addr, err, out)
		}
		waitABit()
	}
}

// waitABit paces a loop that polls a condition.
func waitABit() { <-time.After(5 * time.Millisecond) }

func freePort(t testing.TB, host string) string {
	t.Helper()
	for i := range 200 {
		port := 20000 + (int(time.Now().UnixNano()/1000)+i*37)%2000
		ln, err := net.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(port)))
		if err == nil {
			_ = ln.Close()
			return fmt.Sprint(port)
		}
	}
	t.Fatal("no free port")
	return ""
}

// ownAllSlots makes a cluster-enabled server a cluster of one.
func ownAllSlots(t testing.TB, opt *redis.Options) {
	t.Helper()
	c := redis.NewClient(opt)
	defer c.Close()
	ctx := t.Context()
	if err := c.ClusterAddSlotsRange(ctx, 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "cluster_state:ok", func() bool {
		return c.ClusterCountKeysInSlot(ctx, 0).Err() == nil && c.Get(ctx, "x").Err() == redis.Nil
	})
}

func eventually(t testing.TB, within time.Duration, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !cond(); waitABit() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

// blackHole listens and never answers anything.
func blackHole(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(io.Discard, conn)
			}()
		}
	}()
	t.Cleanup(func() { _ = ln.Close() })
	return ln.Addr().String()
}

// a certAuthority makes certificates for tests.
type certAuthority struct {
	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
	n    int64
}

func newCertAuthority(t testing.TB) *certAuthority {
	t.Helper()
	ca := &certAuthority{t: t, dir: t.TempDir(), pool: x509.NewCertPool()}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	ca.key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &ca.key.PublicKey, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	if ca.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	ca.pool.AddCert(ca.cert)
	ca.write("ca.crt", "CERTIFICATE", der)
	return ca
}

func (ca *certAuthority) write(name, kind string, der []byte) string {
	ca.t.Helper()
	p := filepath.Join(ca.dir, name)
	if err := os.WriteFile(p, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		ca.t.Fatal(err)
	}
	return p
}

// issue makes a certificate for DNS names and IPs and returns its files.
func (ca *certAuthority) issue(names ...string) (certFile, keyFile string) {
	ca.t.Helper()
	ca.n++
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(ca.n + 1), Subject: pkix.Name{CommonName: "node"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
		} else {
			tmpl.DNSNames = append(tmpl.DNSNames, n)
		}
	}
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	der, err := x509.CreateCertificate(rand.Reader, tmpl, ca.cert, &key.PublicKey, ca.key)
	if err != nil {
		ca.t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		ca.t.Fatal(err)
	}
	return ca.write(fmt.Sprintf("n%d.crt", ca.n), "CERTIFICATE", der), ca.write(fmt.Sprintf("n%d.key", ca.n), "EC PRIVATE KEY", keyDER)
}

func (ca *certAuthority) keyPair(certFile, keyFile string) tls.Certificate {
	ca.t.Helper()
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		ca.t.Fatal(err)
	}
	return pair
}

// tlsDirectives make a server listen with TLS only.
func (ca *certAuthority) tlsDirectives(certFile, keyFile, authClients string) []string {
	return []string{"--port", "0", "--tls-port", "{port}", "--tls-cert-file", certFile, "--tls-key-file", keyFile,
		"--tls-ca-cert-file", filepath.Join(ca.dir, "ca.crt"), "--tls-auth-clients", authClients}
}

// patient is a Config whose timeouts are longer than the pauses of a busy
// machine, for tests that are not about time.
func patient(cfg pool.Config) pool.Config {
	cfg.Logger = quiet
	cfg.DialTimeout, cfg.ReadTimeout, cfg.WriteTimeout, cfg.PoolTimeout = 10*time.Second, 10*time.Second, 10*time.Second, 10*time.Second
	cfg.BootTimeout = 20 * time.Second
	return cfg
}

var quiet = slog.New(slog.DiscardHandler)

type goRedisLog struct{}

func (goRedisLog) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(goRedisLog{}) // every failed dial is a line
	os.Exit(m.Run())
}
