package engine

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed recorded/config.txt
var recordedConfig string

var defaultConfig = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(recordedConfig) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		m[name] = value
	}
	return m
})

// immutable directives cannot be set at run time.
var immutable = map[string]bool{
	"cluster-enabled": true, "databases": true, "daemonize": true, "io-threads": true,
	"appendfilename": true, "appenddirname": true, "unixsocket": true, "pidfile": true,
	"supervised": true, "logfile": true, "cluster-config-file": true, "tcp-backlog": true,
	"bind-source-addr": true, "enable-debug-command": true, "enable-module-command": true,
	"enable-protected-configs": true, "always-show-logo": true, "syslog-enabled": true,
	"cluster-port": true, "rdbchecksum": true, "aclfile": true, "proc-title-template": false,
}

// aliases are directives with two names.
var aliases = map[string]string{
	"slave-read-only": "replica-read-only", "slave-priority": "replica-priority",
	"min-slaves-to-write": "min-replicas-to-write", "min-slaves-max-lag": "min-replicas-max-lag",
	"cluster-slave-no-failover": "cluster-replica-no-failover", "lua-time-limit": "busy-reply-threshold",
	"slave-serve-stale-data": "replica-serve-stale-data", "repl-ping-slave-period": "repl-ping-replica-period",
	"cluster-slave-validity-factor": "cluster-replica-validity-factor",
	"slave-announce-ip":             "replica-announce-ip", "slave-announce-port": "replica-announce-port",
	"slave-lazy-flush": "replica-lazy-flush", "slave-ignore-maxmemory": "replica-ignore-maxmemory",
}

// config is the configuration of one node: the recorded defaults and what was
// set. The fields repeat what every command looks at.
type config struct {
	set           map[string]string
	fullCoverage  bool
	readsWhenDown bool
	replicaRO     bool
	password      string
	maxClients    int
	nodeTimeout   time.Duration
	slowerThan    time.Duration // negative: off
}

func newConfig() *config {
	c := &config{set: map[string]string{}}
	c.refresh()
	return c
}

func (c *config) get(name string) string {
	if v, ok := c.set[name]; ok {
		return v
	}
	return defaultConfig()[name]
}

func (c *config) refresh() {
	c.fullCoverage = c.get("cluster-require-full-coverage") == "yes"
	c.readsWhenDown = c.get("cluster-allow-reads-when-down") == "yes"
	c.replicaRO = c.get("replica-read-only") == "yes"
	c.password = c.get("requirepass")
	c.maxClients, _ = strconv.Atoi(c.get("maxclients"))
	ms, _ := strconv.Atoi(c.get("cluster-node-timeout"))
	c.nodeTimeout = time.Duration(ms) * time.Millisecond
	us, _ := strconv.Atoi(c.get("slowlog-log-slower-than"))
	c.slowerThan = time.Duration(us) * time.Microsecond
}

// parse checks a value against the kind of the default and returns it in the
// form that CONFIG GET shows.
func parseSetting(name, value string) (string, error) {
	def := defaultConfig()[name]
	switch {
	case def == "yes" || def == "no":
		switch v := strings.ToLower(value); v {
		case "yes", "no":
			return v, nil
		}
		return "", fmt.Errorf("argument must be 'yes' or 'no'")
	case name == "cluster-announce-hostname":
		return value, checkHostname(value)
	case name == "cluster-preferred-endpoint-type":
		switch value {
		case "ip", "hostname", "unknown-endpoint":
			return value, nil
		}
		return "", fmt.Errorf("argument(s) must be one of the following: ip, hostname, unknown-endpoint")
	case name == "maxmemory" || name == "repl-backlog-size" || name == "proto-max-bulk-len":
		n, ok := parseMemory(value)
		if !ok {
			return "", fmt.Errorf("argument must be a memory value")
		}
		return strconv.FormatInt(n, 10), nil
	case isNumber(def) && name != "unixsocketperm":
		if !isNumber(value) {
			return "", fmt.Errorf("argument couldn't be parsed into an integer")
		}
		if n, _ := strconv.ParseInt(value, 10, 64); name == "maxclients" && n < 1 {
			return "", fmt.Errorf("argument must be between 1 and 4294967295 inclusive")
		}
	}
	return value, nil
}

func checkHostname(s string) error {
	if len(s) >= 256 {
		//lint:ignore ST1005 as redis-server says it
		return errors.New("Hostnames must be less than 256 characters")
	}
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.') {
			//lint:ignore ST1005 as redis-server says it
			return errors.New("Hostnames may only contain alphanumeric characters, hyphens or dots")
		}
	}
	return nil
}

func isNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

func parseMemory(s string) (int64, bool) {
	digits := strings.TrimRight(strings.ToLower(s), "kmgb")
	n, err := strconv.ParseInt(digits, 10, 64)
	unit, ok := map[string]int64{"": 1, "b": 1, "k": 1000, "kb": 1 << 10, "m": 1000_000, "mb": 1 << 20,
		"g": 1000_000_000, "gb": 1 << 30}[strings.ToLower(s)[len(digits):]]
	return n * unit, err == nil && ok && n >= 0
}

// store sets a directive, and its other name.
func (c *config) store(name, value string) {
	c.set[name] = value
	for old, now := range aliases {
		if name == old {
			c.set[now] = value
		} else if name == now {
			c.set[old] = value
		}
	}
}

// Configure checks directives of redis.conf and sets them on all nodes.
func (c *Cluster) configure(directives map[string]string) error {
	for name, value := range directives {
		name = strings.ToLower(name)
		if _, ok := defaultConfig()[name]; !ok {
			return fmt.Errorf("directive %q of Options.Config: the embedded backend knows no such directive of redis-server 7.0; remove it", name)
		}
		v, err := parseSetting(name, value)
		if err != nil {
			return fmt.Errorf("directive %q of Options.Config is %q: %w", name, value, err)
		}
		for _, n := range c.nodes {
			n.conf.store(name, v)
			n.conf.refresh()
		}
	}
	return nil
}

func cmdConfigGet(x *call) {
	found := map[string]string{}
	for _, p := range x.args[2:] {
		p = strings.ToLower(p)
		for name := range defaultConfig() {
			if ok, _ := path.Match(p, name); ok || name == p {
				found[name] = x.n.conf.get(name)
			}
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	x.mapHead(len(names))
	for _, name := range names {
		x.bulk(name)
		x.bulk(found[name])
	}
}

func cmdConfigSet(x *call) {
	if len(x.args)%2 != 0 {
		x.err("ERR syntax error")
		return
	}
	next := map[string]string{}
	for i := 2; i < len(x.args); i += 2 {
		name := strings.ToLower(x.args[i])
		if _, ok := defaultConfig()[name]; !ok {
			x.err("ERR Unknown option or number of arguments for CONFIG SET - '" + x.args[i] + "'")
			return
		}
		fail := func(why string) {
			x.err("ERR CONFIG SET failed (possibly related to argument '" + x.args[i] + "') - " + why)
		}
		if immutable[name] {
			fail("can't set immutable config")
			return
		}
		if _, dup := next[name]; dup {
			fail("duplicate parameter")
			return
		}
		v, err := parseSetting(name, x.args[i+1])
		if err != nil {
			fail(err.Error())
			return
		}
		next[name] = v
	}
	for name, v := range next {
		x.n.conf.store(name, v)
	}
	x.n.conf.refresh()
	x.ok()
}
