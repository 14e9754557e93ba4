package pool

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Profile sets what the zero values of Config mean.
type Profile string

const (
	// LAN is for clients and servers in one network: dial 500 ms, read and
	// write 300 ms. It is the zero value.
	LAN Profile = ""
	// Cloud is for networks whose round trips take milliseconds and where a
	// live migration freezes a machine for hundreds of them: dial, read and
	// write 1 s. That leaves the range of 200 to 500 ms in which a stalled
	// node holds few goroutines; the breaker makes up for it.
	Cloud Profile = "cloud"
)

// Config describes a cluster client. Only Addrs is required; every zero value
// is the documented default.
type Config struct {
	// Profile sets the defaults of the timeouts. The zero value is LAN.
	Profile Profile

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
	// BlockingPoolSize is the most connections per node of the pool for
	// blocking commands (see [Cluster.Blocking]), on top of PoolSize once that
	// is used. Zero means 10.
	BlockingPoolSize int
	// MaxRetries is the number of further attempts per command over the whole
	// cluster, redirects included. Zero means 3; -1 means none.
	MaxRetries int

	// NodeRetries is the number of further attempts that the client of one node
	// makes by itself, for each of those above: the two multiply, in time and
	// in executions of one command. Zero means none.
	NodeRetries int

	// DialTimeout bounds one dial, TLS included. Zero means 500 ms (Cloud: 1 s).
	DialTimeout time.Duration
	// ReadTimeout and WriteTimeout bound one read and one write. Zero means
	// 300 ms (Cloud: 1 s).
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

	// OpBudget is how long one command may take at most when the cluster is
	// sick: New refuses a Config whose worst case under a single fault (see
	// [WorstCase.Single]) is longer. Zero refuses nothing.
	OpBudget time.Duration

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
