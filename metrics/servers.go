package metrics

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

// ServersConfig says which servers to ask, and how. Options is needed; every
// other zero value is the documented default.
type ServersConfig struct {
	// Name becomes the label cluster. Empty means "default".
	Name string

	// Options say how to reach the nodes: Addrs, credentials, TLSConfig,
	// Dialer. A Dialer does its own TLS, as in go-redis. For the cluster of a
	// client, give its Options(). The user needs the rights +info and
	// +cluster|shards (before Redis 7 +cluster|slots).
	Options *redis.ClusterOptions

	// Timeout bounds the answer of one node, connecting included: 10 ms to
	// 10 s. A scrape takes at most three times that, and only when addresses
	// have to be found out. Zero means 1 s.
	Timeout time.Duration

	// Logger takes which nodes stop answering, why, and when they answer
	// again. nil means slog.Default().
	Logger *slog.Logger
}

func (c *ServersConfig) resolve() error {
	if c.Options == nil || len(c.Options.Addrs) == 0 {
		return fmt.Errorf("metrics: ServersConfig.Options.Addrs is empty: give at least one host:port")
	}
	if c.Timeout == 0 {
		c.Timeout = time.Second
	}
	if c.Timeout < 10*time.Millisecond || c.Timeout > 10*time.Second {
		return fmt.Errorf("metrics: ServersConfig.Timeout = %s: want 10ms to 10s, or 0 for 1s", c.Timeout)
	}
	if c.Name == "" {
		c.Name = "default"
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// A ServersCollector asks every node of a cluster what it says about itself,
// at each scrape: INFO and CLUSTER SHARDS (before Redis 7 CLUSTER SLOTS), in
// one round trip per node, on a connection of its own. Scrapes at the same
// time share one round. Nodes are found by what nodes say; the seeds are asked
// when none of the known ones answers.
type ServersCollector struct {
	family
	asker  *asker
	flight singleflight.Group
	nodes  nodeNames
	log    *slog.Logger
}

var _ prometheus.Collector = (*ServersCollector)(nil)

// Servers makes a collector. It asks nobody before the first scrape. The error
// names the bad field. The caller closes it.
func Servers(cfg ServersConfig) (*ServersCollector, error) {
	if err := cfg.resolve(); err != nil {
		return nil, err
	}
	return &ServersCollector{
		family: newFamily(cfg.Name, serversGroup),
		asker:  newAsker(cfg),
		log:    cfg.Logger,
	}, nil
}

// Close closes the connections. Scrapes after it show no node. It may be
// called twice.
func (c *ServersCollector) Close() error {
	c.asker.close()
	return nil
}

// Collect implements prometheus.Collector. It blocks for a round trip to the
// slowest node, and at most three times ServersConfig.Timeout. A node that does
// not answer is rcctl_server_up 0, never an error of the scrape.
func (c *ServersCollector) Collect(ch chan<- prometheus.Metric) {
	v, _, _ := c.flight.Do("", func() (any, error) { return c.asker.round(), nil })
	r := v.(*round)
	seen := map[string]bool{} // beyond MaxNodes only the first one is shown
	for _, n := range r.nodes {
		label := c.nodes.label(n.addr)
		if seen[label] {
			continue
		}
		seen[label] = true
		c.server(ch, label, n, r)
	}
	c.flag(ch, clusterKnown, r.known)
	if r.known {
		c.emit(ch, clusterSlots, float64(r.served), "served")
		c.emit(ch, clusterSlots, float64(slotCount-r.served), "unserved")
	}
	c.emit(ch, clusterScrape, r.took.Seconds())
}

// server sends the metrics of one node.
func (c *ServersCollector) server(ch chan<- prometheus.Metric, label string, n *node, r *round) {
	c.flag(ch, serverUp, n.err == nil, label)
	if n.err != nil {
		return
	}
	role := "master"
	if n.info.Role() == "slave" {
		role = "replica"
	}
	name, version := n.info.Version()
	c.emit(ch, serverInfo, 1, label, role, name, version)
	c.flag(ch, serverIsMaster, role == "master", label)
	c.emit(ch, serverSlots, float64(n.slots), label)
	for _, f := range fields {
		if v, ok := n.info.Float(f.field); ok {
			c.emit(ch, f.spec, v*f.scale, append([]string{label}, f.label...)...)
		}
	}
	for _, w := range words {
		if v := n.info.String(w.field); v != "" {
			c.flag(ch, w.spec, v == w.good, label)
		}
	}
	var keys, expires uint64
	for _, db := range n.info.Keyspace {
		keys += db.Keys
		expires += db.Expires
	}
	c.emit(ch, serverKeys, float64(keys), label)
	c.emit(ch, serverExpiring, float64(expires), label)
	c.errorstats(ch, label, n)
	if lag, ok := r.lag[n]; ok {
		c.emit(ch, replicaLag, lag.time.Seconds(), label)
		c.emit(ch, replicaLagBytes, float64(lag.bytes), label)
	}
}

// errorstats sends the error replies by prefix. Scripts and modules can make
// up prefixes: those not in the list are counted together.
func (c *ServersCollector) errorstats(ch chan<- prometheus.Metric, label string, n *node) {
	c.flag(ch, serverErrorsOff, n.info.ErrorsDisabled, label)
	if n.info.ErrorsDisabled || !n.info.Sections["errorstats"] {
		return
	}
	sum := map[string]uint64{other: 0}
	for _, p := range errorPrefixes {
		sum[p] = 0
	}
	for p, v := range n.info.Errors {
		p = strings.ToUpper(p)
		if _, ok := sum[p]; !ok {
			p = other
		}
		sum[p] += v
	}
	for _, p := range sorted(sum) {
		c.emit(ch, serverErrors, float64(sum[p]), label, p)
	}
}
