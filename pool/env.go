package pool

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// settable are the fields that FromURL and FromEnv take, by the name of the
// URL parameter; the environment variable is RCCTL_ and the name in capitals.
var settable = []struct {
	name string
	set  func(*Config, string) error
}{
	{"name", func(c *Config, v string) error { c.Name = v; return nil }},
	{"profile", func(c *Config, v string) error {
		if v == "lan" {
			v = ""
		}
		c.Profile = Profile(v)
		return nil
	}},
	{"pool_size", intField(func(c *Config) *int { return &c.PoolSize })},
	{"min_idle_conns", intField(func(c *Config) *int { return &c.MinIdleConns })},
	{"blocking_pool_size", intField(func(c *Config) *int { return &c.BlockingPoolSize })},
	{"max_retries", intField(func(c *Config) *int { return &c.MaxRetries })},
	{"node_retries", intField(func(c *Config) *int { return &c.NodeRetries })},
	{"dial_timeout", durationField(func(c *Config) *time.Duration { return &c.DialTimeout })},
	{"read_timeout", durationField(func(c *Config) *time.Duration { return &c.ReadTimeout })},
	{"write_timeout", durationField(func(c *Config) *time.Duration { return &c.WriteTimeout })},
	{"pool_timeout", durationField(func(c *Config) *time.Duration { return &c.PoolTimeout })},
	{"conn_max_idle_time", durationField(func(c *Config) *time.Duration { return &c.ConnMaxIdleTime })},
	{"op_budget", durationField(func(c *Config) *time.Duration { return &c.OpBudget })},
	{"boot_timeout", durationField(func(c *Config) *time.Duration { return &c.BootTimeout })},
	{"allow_degraded", func(c *Config, v string) (err error) {
		if c.AllowDegraded, err = strconv.ParseBool(v); err != nil {
			return errors.New("want true or false")
		}
		return nil
	}},
	{"addr_map", func(c *Config, v string) error {
		if c.AddrMap == nil {
			c.AddrMap = make(map[string]string)
		}
		for _, pair := range strings.Split(v, ",") {
			from, to, ok := strings.Cut(pair, "=")
			if !ok {
				return errors.New("want announced=dialed, several separated by commas")
			}
			c.AddrMap[from] = to
		}
		return nil
	}},
}

func intField(p func(*Config) *int) func(*Config, string) error {
	return func(c *Config, v string) (err error) {
		if *p(c), err = strconv.Atoi(v); err != nil {
			return errors.New("want a number")
		}
		return nil
	}
}

func durationField(p func(*Config) *time.Duration) func(*Config, string) error {
	return func(c *Config, v string) (err error) {
		if *p(c), err = time.ParseDuration(v); err != nil {
			return errors.New("want a duration with its unit, such as 300ms")
		}
		return nil
	}
}

// FromURL reads a Config from a URL:
//
//	redis://user:password@host:port?addr=host2:port2&pool_size=50&read_timeout=200ms
//
// The scheme rediss turns TLS on. addr may come several times and names further
// seeds, as in go-redis; several hosts may also be listed with commas. The port
// is 6379 where none is given. Other parameters are the fields of Config in
// lower case with underscores: name, profile (lan or cloud), pool_size,
// min_idle_conns, blocking_pool_size, max_retries, node_retries, dial_timeout, read_timeout,
// write_timeout, pool_timeout, conn_max_idle_time, op_budget, boot_timeout,
// allow_degraded, addr_map. The error matches [ErrConfig], names every bad part
// and never shows the password.
func FromURL(s string) (Config, error) {
	s, more := cutHosts(s)
	u, err := url.Parse(s)
	if err != nil {
		var ue *url.Error // quotes the whole URL, the password in it
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return Config{}, fmt.Errorf("pool: %w: URL: %w", ErrConfig, err)
	}
	var c Config
	var bad badFields
	switch u.Scheme {
	case "redis":
	case "rediss":
		c.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	default:
		bad.add("URL scheme", u.Scheme, "want redis or rediss")
	}
	if u.User != nil {
		c.Username = u.User.Username()
		c.Password, _ = u.User.Password()
		if c.Password == "" { // redis://secret@host
			bad.add("URL user", "(hidden)", "want user:password@ or :password@")
			c.Username = ""
		}
	}
	if u.Path != "" && u.Path != "/" && u.Path != "/0" {
		bad.add("URL path", u.Path, "a cluster has database 0 only; leave it out")
	}
	q := u.Query()
	for _, a := range append(append([]string{u.Host}, more...), q["addr"]...) {
		if a == "" {
			continue
		}
		c.Addrs = append(c.Addrs, withPort(a))
	}
	delete(q, "addr")
	for _, f := range settable {
		if v := q.Get(f.name); v != "" {
			if err := f.set(&c, v); err != nil {
				bad.add(f.name, v, err.Error())
			}
		}
		delete(q, f.name)
	}
	for name := range q {
		bad.add("URL parameter", name, "there is no such field")
	}
	return checked(c, bad)
}

// cutHosts takes the hosts behind the first one out of a URL, whose parser
// knows of one only.
func cutHosts(s string) (string, []string) {
	start := strings.Index(s, "://")
	if start < 0 {
		return s, nil
	}
	start += len("://")
	end := len(s)
	if i := strings.IndexAny(s[start:], "/?#"); i >= 0 {
		end = start + i
	}
	if i := strings.LastIndexByte(s[start:end], '@'); i >= 0 {
		start += i + 1
	}
	hosts := strings.Split(s[start:end], ",")
	return s[:start] + hosts[0] + s[end:], hosts[1:]
}

// FromEnv reads a Config from environment variables: RCCTL_URL (as [FromURL])
// or RCCTL_CLUSTER (seeds, separated by commas); RCCTL_USER, RCCTL_PASSWORD or
// REDISCLI_AUTH; RCCTL_TLS (true or false); and the fields that FromURL takes
// as RCCTL_POOL_SIZE, RCCTL_READ_TIMEOUT and so on, which override the URL's.
// getenv is os.Getenv; variables that are empty count as unset. The error
// matches [ErrConfig] and names every bad variable.
func FromEnv(getenv func(string) string) (Config, error) {
	var c Config
	var bad badFields
	if s := getenv("RCCTL_URL"); s != "" {
		var err error
		if c, err = FromURL(s); err != nil {
			return c, fmt.Errorf("RCCTL_URL: %w", err)
		}
	}
	if s := getenv("RCCTL_CLUSTER"); s != "" {
		c.Addrs = nil
		for _, a := range strings.Split(s, ",") {
			if a = strings.TrimSpace(a); a != "" {
				c.Addrs = append(c.Addrs, withPort(a))
			}
		}
	}
	if s := getenv("RCCTL_USER"); s != "" {
		c.Username = s
	}
	for _, name := range []string{"REDISCLI_AUTH", "RCCTL_PASSWORD"} {
		if s := getenv(name); s != "" {
			c.Password = s
		}
	}
	if s := getenv("RCCTL_TLS"); s != "" {
		on, err := strconv.ParseBool(s)
		switch {
		case err != nil:
			bad.add("RCCTL_TLS", s, "want true or false")
		case !on:
			c.TLS = nil
		case c.TLS == nil:
			c.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		}
	}
	for _, f := range settable {
		name := "RCCTL_" + strings.ToUpper(f.name)
		if v := getenv(name); v != "" {
			if err := f.set(&c, v); err != nil {
				bad.add(name, v, err.Error())
			}
		}
	}
	return checked(c, bad)
}

func checked(c Config, bad badFields) (Config, error) {
	if _, err := c.resolve(); err != nil {
		bad = append(bad, strings.TrimPrefix(err.Error(), ErrConfig.Error()+": "))
	}
	if err := bad.err(); err != nil {
		return Config{}, fmt.Errorf("pool: %w", err)
	}
	return c, nil
}

func withPort(addr string) string {
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return addr
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), "6379")
}
