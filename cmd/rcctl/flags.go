package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rcctl/rcctl/pool"
	"github.com/spf13/cobra"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value   *string
	allowed []string
}

func (c choice) String() string { return *c.value }
func (c choice) Type() string   { return strings.Join(c.allowed, "|") }
func (c choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("want one of %s", strings.Join(c.allowed, ", "))
	}
	*c.value = s
	return nil
}

// outputFlag adds -o with its formats; the first one is the default.
func outputFlag(cmd *cobra.Command, p *string, formats ...string) {
	*p = formats[0]
	cmd.Flags().VarP(choice{p, formats}, "output", "o", "output format")
}

// clusterFlags say which cluster a command talks to, and how. They are the
// same on every command that does.
type clusterFlags struct {
	addrs        []string
	user         string
	passwordFile string
	tls          bool
	tlsCA        string
	tlsCert      string
	tlsKey       string
	serverName   string
	addrMap      []string
	timeout      time.Duration
	noColor      bool
}

func (f *clusterFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringSliceVar(&f.addrs, "cluster", nil, "seed addresses, `host:port`, separated by commas (env RCCTL_CLUSTER)")
	fl.StringVar(&f.user, "user", "", "ACL `name` (default: the default user)")
	fl.StringVar(&f.passwordFile, "password-file", "", "`file` with the password (env RCCTL_PASSWORD or REDISCLI_AUTH)")
	fl.BoolVar(&f.tls, "tls", false, "use TLS")
	fl.StringVar(&f.tlsCA, "tls-ca", "", "`file` with the CA certificates to trust (implies --tls)")
	fl.StringVar(&f.tlsCert, "tls-cert", "", "`file` with the client certificate (implies --tls)")
	fl.StringVar(&f.tlsKey, "tls-key", "", "`file` with the key of the client certificate")
	fl.StringVar(&f.serverName, "tls-server-name", "", "`name` to expect in every node's certificate (implies --tls)")
	fl.StringSliceVar(&f.addrMap, "addr-map", nil, "`announced=dialed`: dial this address for that announced one (NAT, containers)")
	fl.DurationVar(&f.timeout, "timeout", 5*time.Second, "give up reaching the cluster after this long")
	fl.BoolVar(&f.noColor, "no-color", false, "no colour (env NO_COLOR)")
}

// given reports whether the user named a cluster.
func (f *clusterFlags) given(a *app) bool { return len(f.seeds(a)) > 0 }

func (f *clusterFlags) seeds(a *app) []string {
	addrs := f.addrs
	if len(addrs) == 0 {
		addrs = strings.Split(a.getenv("RCCTL_CLUSTER"), ",")
	}
	var out []string
	for _, s := range addrs {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// config is the client configuration that the flags and the environment ask
// for. Its errors are usage errors.
func (f *clusterFlags) config(a *app) (pool.Config, error) {
	c := pool.Config{Name: "rcctl-cli", Addrs: f.seeds(a), Username: f.user}
	if len(c.Addrs) == 0 {
		return c, usageError("no cluster: give --cluster host:port or set RCCTL_CLUSTER")
	}
	for _, s := range c.Addrs {
		if err := checkHostPort(s); err != nil {
			return c, usageError("--cluster %q: %w", s, err)
		}
	}
	if f.timeout <= 0 {
		return c, usageError("--timeout %s: must be above 0", f.timeout)
	}
	c.BootTimeout = f.timeout
	var err error
	if c.Password, err = f.password(a); err != nil {
		return c, err
	}
	if c.Username != "" && c.Password == "" {
		// No AUTH would be sent, and everything be seen as the default user.
		return c, usageError("--user %s: its password is missing: give --password-file or set RCCTL_PASSWORD (any text for a user without one)", f.user)
	}
	if c.AddrMap, err = parseAddrMap(f.addrMap); err != nil {
		return c, err
	}
	c.TLS, err = f.tlsConfig()
	return c, err
}

func (f *clusterFlags) password(a *app) (string, error) {
	if f.passwordFile == "" {
		if p := a.getenv("RCCTL_PASSWORD"); p != "" {
			return p, nil
		}
		return a.getenv("REDISCLI_AUTH"), nil
	}
	b, err := os.ReadFile(f.passwordFile)
	if err != nil {
		return "", usageError("--password-file: %w", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

func (f *clusterFlags) tlsConfig() (*tls.Config, error) {
	if !f.tls && f.tlsCA == "" && f.tlsCert == "" && f.tlsKey == "" && f.serverName == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.serverName}
	if f.tlsCA != "" {
		pem, err := os.ReadFile(f.tlsCA)
		if err != nil {
			return nil, usageError("--tls-ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usageError("--tls-ca %s: no PEM certificate in it", f.tlsCA)
		}
	}
	if (f.tlsCert == "") != (f.tlsKey == "") {
		return nil, usageError("--tls-cert and --tls-key go together")
	}
	if f.tlsCert != "" {
		pair, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
		if err != nil {
			return nil, usageError("--tls-cert, --tls-key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

func checkHostPort(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("want host:port")
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n == 0 {
		return fmt.Errorf("port %q is not 1 to 65535", port)
	}
	return nil
}

// unbracketed is "::1" of "[::1]", the form that hosts without a port have.
func unbracketed(host string) string {
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
		return strings.TrimSuffix(inner, "]")
	}
	return host
}

func parseAddrMap(pairs []string) (map[string]string, error) {
	m := make(map[string]string, len(pairs))
	for _, p := range pairs {
		from, to, ok := strings.Cut(p, "=")
		if !ok || from == "" || to == "" {
			return nil, usageError("--addr-map %q: want announced=dialed, such as 172.17.0.2:6379=127.0.0.1:7000", p)
		}
		m[unbracketed(from)] = unbracketed(to)
	}
	return m, nil
}
