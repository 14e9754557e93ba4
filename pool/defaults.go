package pool

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// What the zero values of Config mean.
const (
	defaultPoolSize         = 100
	defaultMinIdleConns     = 20
	defaultBlockingPoolSize = 10
	defaultMaxRetries       = 3
	defaultDialTimeout      = 500 * time.Millisecond
	defaultIOTimeout        = 300 * time.Millisecond
	cloudTimeout            = time.Second
	defaultPoolTimeout      = time.Second
	defaultConnMaxIdleTime  = 5 * time.Minute
	defaultBootTimeout      = 5 * time.Second

	connMaxLifetime       = 30 * time.Minute
	connMaxLifetimeJitter = 3 * time.Minute
	// Our own timer reloads every 10 s; this one needs traffic to notice.
	stateReloadInterval = 30 * time.Second
	maxConcurrentDials  = 8

	// Below this a reply could hardly come in time.
	shedBelow = time.Millisecond

	maxPoolSize   = 10_000
	maxMaxRetries = 16
	maxTimeout    = 10 * time.Minute
)

// badFields collects what is wrong with a Config.
type badFields []string

func (b *badFields) add(field string, value any, fix string) {
	if s, ok := value.(string); ok {
		value = fmt.Sprintf("%q", s)
	}
	*b = append(*b, fmt.Sprintf("%s %v: %s", field, value, fix))
}

func (b badFields) err() error {
	if len(b) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrConfig, strings.Join(b, "; "))
}

// resolve checks the Config and replaces zero values by what they mean. -1 of
// MinIdleConns and MaxRetries becomes 0.
func (c Config) resolve() (Config, error) {
	var bad badFields
	c.resolveIdentity(&bad)
	c.resolvePool(&bad)
	dial, io := defaultDialTimeout, defaultIOTimeout
	switch c.Profile {
	case LAN:
	case Cloud:
		dial, io = cloudTimeout, cloudTimeout
	default:
		bad.add("Profile", string(c.Profile), "want LAN (the zero value) or Cloud")
	}
	if c.OpBudget < 0 {
		bad.add("OpBudget", c.OpBudget, "want above 0, or 0 for no check")
	}
	for _, d := range []struct {
		name string
		p    *time.Duration
		def  time.Duration
	}{
		{"DialTimeout", &c.DialTimeout, dial},
		{"ReadTimeout", &c.ReadTimeout, io},
		{"WriteTimeout", &c.WriteTimeout, io},
		{"PoolTimeout", &c.PoolTimeout, defaultPoolTimeout},
		{"ConnMaxIdleTime", &c.ConnMaxIdleTime, defaultConnMaxIdleTime},
		{"BootTimeout", &c.BootTimeout, defaultBootTimeout},
	} {
		resolveDuration(d.p, d.name, d.def, &bad)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, bad.err()
}

func resolveDuration(p *time.Duration, name string, def time.Duration, bad *badFields) {
	limit := maxTimeout
	if name == "ConnMaxIdleTime" {
		limit = 24 * time.Hour
	}
	switch {
	case *p == 0:
		*p = def
	case *p < time.Millisecond && *p > 0:
		bad.add(name, *p, "below 1ms; durations need a unit, such as 300 * time.Millisecond")
	case *p < 0:
		bad.add(name, *p, fmt.Sprintf("every wait must be bounded; want above 0, or 0 for %s", def))
	case *p > limit:
		bad.add(name, *p, fmt.Sprintf("want at most %s", limit))
	}
}

func (c *Config) resolveIdentity(bad *badFields) {
	if c.Name == "" {
		c.Name = safeName(filepath.Base(os.Args[0]))
	} else if c.Name != safeName(c.Name) {
		bad.add("Name", c.Name, "want letters, digits and . _ - : only (it is sent with CLIENT SETNAME), at most 64")
	}
	if len(c.Addrs) == 0 {
		bad.add("Addrs", c.Addrs, "want at least one host:port of a cluster node")
	}
	for _, a := range c.Addrs {
		if why := badHostPort(a); why != "" {
			bad.add("Addrs", a, why)
		}
	}
	if c.Credentials != nil && (c.Username != "" || c.Password != "") {
		bad.add("Credentials", "(set)", "set either Credentials or Username and Password")
	}
	if c.Username != "" && c.Password == "" && c.Credentials == nil {
		bad.add("Username", c.Username, "Password is empty, and without one no AUTH is sent and commands run as the default user; set Password (any text for a nopass user)")
	}
	for from, to := range c.AddrMap {
		if from == "" || (strings.Contains(from, ":") && net.ParseIP(from) == nil && badHostPort(from) != "") {
			bad.add("AddrMap key", from, "want an announced host:port or host")
		}
		if to == "" || (strings.Contains(to, ":") && net.ParseIP(to) == nil && badHostPort(to) != "") {
			bad.add("AddrMap value", to, "want the host:port or host to dial")
		}
	}
}

func (c *Config) resolvePool(bad *badFields) {
	if c.PoolSize == 0 {
		c.PoolSize = defaultPoolSize
	}
	if c.PoolSize < 0 || c.PoolSize > maxPoolSize {
		bad.add("PoolSize", c.PoolSize, fmt.Sprintf("want 1 to %d connections per node, or 0 for %d", maxPoolSize, defaultPoolSize))
	}
	if c.BlockingPoolSize == 0 {
		c.BlockingPoolSize = defaultBlockingPoolSize
	}
	if c.BlockingPoolSize < 0 || c.BlockingPoolSize > maxPoolSize {
		bad.add("BlockingPoolSize", c.BlockingPoolSize, fmt.Sprintf("want 1 to %d, or 0 for %d", maxPoolSize, defaultBlockingPoolSize))
	}
	switch {
	case c.MinIdleConns == 0:
		c.MinIdleConns = min(defaultMinIdleConns, max(c.PoolSize, 0))
	case c.MinIdleConns == -1:
		c.MinIdleConns = 0
	case c.MinIdleConns < -1:
		bad.add("MinIdleConns", c.MinIdleConns, fmt.Sprintf("want 1 to PoolSize, 0 for %d, -1 for none", defaultMinIdleConns))
	case c.PoolSize > 0 && c.MinIdleConns > c.PoolSize:
		bad.add("MinIdleConns", c.MinIdleConns, fmt.Sprintf("more than PoolSize %d; raise PoolSize or lower this", c.PoolSize))
	}
	switch {
	case c.MaxRetries == 0:
		c.MaxRetries = defaultMaxRetries
	case c.MaxRetries == -1:
		c.MaxRetries = 0
	case c.MaxRetries < -1 || c.MaxRetries > maxMaxRetries:
		bad.add("MaxRetries", c.MaxRetries, fmt.Sprintf("want 1 to %d, 0 for %d, -1 for none", maxMaxRetries, defaultMaxRetries))
	}
	if c.NodeRetries < 0 || c.NodeRetries > maxMaxRetries {
		bad.add("NodeRetries", c.NodeRetries, fmt.Sprintf("want 0 to %d", maxMaxRetries))
	}
}

// probeTimeout bounds a ping of a node that did not answer, and one CLUSTER
// SLOTS: ReadTimeout, but within what finds a stall soon and takes no short
// pause for one.
func (c Config) probeTimeout() time.Duration {
	return min(max(c.ReadTimeout, defaultIOTimeout), cloudTimeout)
}

func badHostPort(s string) string {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" {
		return "want host:port, such as 10.0.0.1:6379"
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n == 0 {
		return "the port is not 1 to 65535"
	}
	return ""
}

// safeName keeps what CLIENT SETNAME takes.
func safeName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-:", r):
			return r
		}
		return '-'
	}, s)
	return s[:min(len(s), 64)]
}

// clusterOptions are the options for go-redis that a resolved Config means.
// Tune is not applied yet.
func (c Config) clusterOptions() *redis.ClusterOptions {
	// go-redis takes 0 for its default of 3 and -1 for none.
	maxRedirects := c.MaxRetries
	if maxRedirects == 0 {
		maxRedirects = -1
	}
	nodeRetries := c.NodeRetries
	if nodeRetries == 0 {
		nodeRetries = -1
	}
	o := &redis.ClusterOptions{
		Addrs:      c.Addrs,
		ClientName: "rcctl:" + c.Name,
		Username:   c.Username,
		Password:   c.Password,

		// One layer of retries, over the cluster. Those of the node clients and
		// of the dialer multiply with it.
		MaxRedirects:  maxRedirects,
		MaxRetries:    nodeRetries,
		DialerRetries: 1,

		DialTimeout:           c.DialTimeout,
		ReadTimeout:           c.ReadTimeout,
		WriteTimeout:          c.WriteTimeout,
		ContextTimeoutEnabled: true,

		PoolSize:           c.PoolSize,
		PoolTimeout:        c.PoolTimeout,
		MaxConcurrentDials: min(maxConcurrentDials, c.PoolSize),
		// go-redis' own MinIdleConns dials without HELLO and AUTH, and to
		// replicas and seeds too.
		MinIdleConns: 0,
		// A pool of its own for pipelines would come on top of PoolSize.
		PipelinePoolSize: -1,
		// go-redis closes idle connections when it hands one out, the warm ones
		// too, just when a burst needs them: the housekeeper does it instead.
		ConnMaxIdleTime:       -1,
		ConnMaxLifetime:       connMaxLifetime,
		ConnMaxLifetimeJitter: connMaxLifetimeJitter,

		ClusterStateReloadInterval: stateReloadInterval,

		// With policies every command asks COMMAND first where the ACL forbids
		// it; maintenance notifications and identity cost failing commands in
		// every handshake of servers that do not know them.
		DisableRoutingPolicies:   true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		DisableIdentity:          true,
	}
	if c.Credentials != nil {
		o.CredentialsProviderContext = c.Credentials
	}
	return o
}
