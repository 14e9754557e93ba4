package pool

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// Config describes a cluster client. Only Addrs is required; every zero value
// is the documented default.
type Config struct {
	// Name names this pool in logs, metrics and CLIENT SETNAME
	// ("rcctl:<name>"). Empty means the program's base name.
	Name string

	// Addrs are seed addresses, host:port, at least one. Two or more on
	// distinct hosts let a process start while one of them is down.
	Addrs []string

	// Username and Password authenticate every connection (ACL user;
	// Username empty means "default").
	Username string
	Password string
	// Credentials, when set, is asked for every new connection instead, so
	// that secrets rotate without a restart.
	Credentials func(ctx context.Context) (username, password string, err error)

	// TLS turns TLS on. An empty ServerName is replaced per node by the host
	// of its announced address.
	TLS *tls.Config

	// AddrMap maps announced host:port (or host) to the address to dial, for
	// NAT and containers. It applies to seeds, topology and redirects alike.
	AddrMap map[string]string

	// Dialer, when set, opens the connections instead of a net.Dialer. AddrMap,
	// TLS and DialTimeout apply to it all the same. It must return when its
	// context ends.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

	// PoolSize is the most connections per node. Zero means 100.
	PoolSize int
	// MinIdleConns is the number of ready connections kept per master. Zero
	// means 20 (PoolSize if that is less); -1 means none.
	MinIdleConns int
	// MaxRetries is the number of further attempts per command over the whole
	// cluster, redirects included. Zero means 3; -1 means none.
	MaxRetries int

	// DialTimeout bounds one dial, TLS included. Zero means 500 ms.
	DialTimeout time.Duration
	// ReadTimeout and WriteTimeout bound one read and one write. Zero means
	// 300 ms.
	ReadTimeout  time.Duration
	WriteTimeout time.Duration
	// PoolTimeout bounds the wait for a free connection. Zero means 1 s.
	PoolTimeout time.Duration
	// ConnMaxIdleTime closes connections idle for longer. Zero means 5 min.
	ConnMaxIdleTime time.Duration

	// Fallback, when set, is asked for a single command, or each command of a
	// pipeline, that ended with [ErrUnavailable]. It may set the command's value
	// and return nil; what it returns is the command's error.
	Fallback func(ctx context.Context, cmd redis.Cmder, err error) error

	// BootTimeout bounds New, whatever its context says. Zero means 5 s.
	BootTimeout time.Duration
	// AllowDegraded lets New succeed with masters that do not answer and slots
	// that nobody serves; what was found is logged as a warning.
	AllowDegraded bool

	// Tune, when set, has the last word on the options given to go-redis. A
	// Dialer set there replaces AddrMap, TLS and the Dialer above.
	Tune func(*redis.ClusterOptions)

	// Logger takes what an operator must know. nil means slog.Default().
	Logger *slog.Logger
}
