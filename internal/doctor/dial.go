package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rcctl/rcctl/internal/redisinfo"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Why a node cannot be reached.
const (
	kindRefused    = "refused"
	kindTimeout    = "timeout"
	kindTLS        = "tls"
	kindAuth       = "auth"
	kindProtocol   = "protocol"
	kindNetwork    = "network"
	kindLoading    = "loading"
	kindNotCluster = "not a cluster"
)

// clientName is the name of our connections in CLIENT LIST.
const clientName = "rcctl-doctor"

// failure is a reason in one line, and its kind.
type failure struct{ kind, text string }

// dialer opens connections to single nodes, as the cluster's clients do:
// address map, TLS, credentials.
type dialer struct {
	req     Request
	timeout time.Duration
	name    string       // the node's announced endpoint: its host is in the certificate
	local   atomic.Value // string: our end of the last connection
	cert    atomic.Pointer[x509.Certificate]
	dialed  atomic.Bool // TCP worked
	inTLS   atomic.Bool // in the TLS handshake: it is what failed
}

func newDialer(req Request, timeout time.Duration) *dialer {
	return &dialer{req: req, timeout: min(timeout, req.Timeout)}
}

// target is the address to dial for an announced one.
func (d *dialer) target(addr string) string { return MapAddr(d.req.Client.AddrMap, addr) }

// MapAddr is where package pool dials for an announced address: what its
// AddrMap has for host:port, else for the host, else the address itself. An
// entry without a port keeps the announced one.
func MapAddr(m map[string]string, announced string) string {
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

func (d *dialer) localAddr() string {
	s, _ := d.local.Load().(string)
	return s
}

// certOf is the certificate of the last connection as the snapshot keeps it,
// and whether it is valid for the host that clients are sent to.
func (d *dialer) certOf(addr string) *Cert {
	c := d.cert.Load()
	if c == nil {
		return nil
	}
	host, _, _ := net.SplitHostPort(addr)
	out := &Cert{NotAfter: c.NotAfter, Names: c.DNSNames, Covers: c.VerifyHostname(host) == nil}
	for _, ip := range c.IPAddresses {
		out.Names = append(out.Names, ip.String())
	}
	return out
}

func (d *dialer) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.target(addr))
	if err != nil {
		return nil, err
	}
	d.dialed.Store(true)
	d.local.Store(c.LocalAddr().String())
	if d.req.Client.TLS == nil {
		return c, nil
	}
	cfg := d.req.Client.TLS.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(cmp.Or(d.name, addr))
	}
	t := tls.Client(c, cfg)
	d.inTLS.Store(true)
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, err
	}
	d.inTLS.Store(false)
	if peers := t.ConnectionState().PeerCertificates; len(peers) > 0 {
		d.cert.Store(peers[0])
	}
	return t, nil
}

// client is a client of one node that retries nothing and follows nothing.
func (d *dialer) client(addr string) *redis.Client {
	o := &redis.Options{
		Addr: addr, Dialer: d.dial, Protocol: 2, ClientName: clientName,
		Username: d.req.Client.Username, Password: d.req.Client.Password,
		MaxRetries: -1, DialerRetries: 1, DialTimeout: d.timeout,
		ReadTimeout: min(replyTimeout, d.req.Timeout), WriteTimeout: min(replyTimeout, d.req.Timeout),
		ContextTimeoutEnabled: true, PoolSize: 1, PipelinePoolSize: -1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if f := d.req.Client.Credentials; f != nil {
		o.CredentialsProviderContext = f
	}
	return redis.NewClient(o)
}

// explain turns an error into a reason that says what to do.
func (d *dialer) explain(addr string, err error) failure {
	at := addr
	if t := d.target(addr); t != addr {
		at += " (dialed as " + t + ")"
	}
	f := func(kind, format string, args ...any) failure {
		return failure{kind, at + ": " + fmt.Sprintf(format, args...)}
	}
	text := err.Error()
	var rerr redis.Error
	var ne net.Error
	timeout := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || (errors.As(err, &ne) && ne.Timeout())
	var dns *net.DNSError
	switch {
	case errors.As(err, &rerr):
		return d.explainReply(f, text)
	case errors.As(err, &dns):
		return f(kindNetwork, "the name does not resolve (%s): check it, or give an address", dns.Err)
	case d.inTLS.Load() && timeout:
		return f(kindTLS, "no answer to the TLS handshake: a plain port, or a server that hangs: try without --tls, or give the server's tls-port")
	case d.inTLS.Load() && (errors.As(err, new(tls.RecordHeaderError)) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return f(kindTLS, "no TLS there, the port speaks plain Redis: run without --tls, or give the server's tls-port")
	case d.inTLS.Load():
		return f(kindTLS, "%s: check --tls-ca, --tls-server-name and the client certificate", strings.TrimPrefix(text, "tls: "))
	case errors.Is(err, syscall.ECONNREFUSED):
		return f(kindRefused, "connection refused: no server listens there; check the address, or start the server")
	case timeout && !d.dialed.Load():
		return f(kindTimeout, "no answer to the connection attempt within %v: check the address, the route and the firewall", d.timeout)
	case timeout:
		return f(kindTimeout, "connected, but no answer to PING: the server hangs, or is not Redis")
	case d.dialed.Load() && d.req.Client.TLS == nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return f(kindTLS, "the server closed the connection at once: if it is a TLS port add --tls, otherwise look into its log")
	case strings.Contains(text, "redis: "):
		return f(kindProtocol, "the answer is not the Redis protocol (%s): check the port", strings.TrimPrefix(text, "redis: "))
	}
	return f(kindNetwork, "%s", text)
}

func (d *dialer) explainReply(f func(kind, format string, args ...any) failure, text string) failure {
	word, _, _ := strings.Cut(text, " ")
	switch {
	case word == "WRONGPASS":
		return f(kindAuth, "wrong user or password: check --user, and RCCTL_PASSWORD or --password-file")
	case word == "NOAUTH":
		return f(kindAuth, "the server wants a password: set RCCTL_PASSWORD or give --password-file")
	case word == "NOPERM":
		return f(kindAuth, "the user may not do this (%s): give one with +cluster +info +ping", text)
	case word == "LOADING" || word == "MASTERDOWN" || word == "BUSY":
		return f(kindLoading, "%s: wait until it is ready", text)
	case strings.Contains(text, "cluster support disabled"):
		return f(kindNotCluster, "%s", singleServer)
	case strings.Contains(text, "protected mode") || word == "DENIED":
		return f(kindAuth, "the server is in protected mode: it takes connections from its own host only until it has a password or bind")
	case strings.Contains(text, "max number of clients"):
		return f(kindNetwork, "the server has no connection left (maxclients): raise maxclients and nofile, or close clients")
	}
	return f(kindProtocol, "%s", text)
}

const singleServer = "a single server, not a cluster: use redis.NewClient for it (redis.NewFailoverClient behind Sentinel), or give --cluster the address of a cluster node"

func notCluster(addr string, info redisinfo.Info) failure {
	name, version := info.Version()
	return failure{kindNotCluster, fmt.Sprintf("%s: %s (%s %s, mode %s)", addr, singleServer, name, version, info.String("redis_mode"))}
}
