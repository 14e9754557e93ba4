package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rcctl/rcctl/pool"
)

var attemptsGroup = &group{title: "Attempts and redirects (`Pool`, `Client`)", owner: "pool"}

var (
	redirects = attemptsGroup.counter("rcctl_redirects_total",
		"Redirects that nodes answered, by kind: moved, ask, and tx_moved, tx_ask for whole transactions.", "node", "kind")
	attempts = attemptsGroup.counter("rcctl_pool_attempts_total",
		"Commands sent or tried, one per command of a pipeline; a retry or a redirect followed counts again.", "node")
	replyErrors = attemptsGroup.counter("rcctl_pool_reply_errors_total",
		"Error replies that are no redirects, by kind: tryagain, clusterdown, readonly, loading, other.", "node", "kind")
	networkErrors = attemptsGroup.counter("rcctl_pool_network_errors_total",
		"Attempts without a reply, by kind: timeout (the caller's deadline included) or network.", "node", "kind")
	poolTimeouts = attemptsGroup.counter("rcctl_pool_wait_timeouts_total",
		"Waits for a free connection that ended without one.", "node")
	dials = attemptsGroup.counter("rcctl_pool_dials_total", "Connections opened.", "node")
)

// Client collects what an observer counts: attempts, redirects and errors by
// node. It is for clients that package pool did not make; name becomes the
// label pool. [Pool] includes it.
func Client(name string, o *pool.Observer) prometheus.Collector {
	return &clientCollector{family: newFamily(name, attemptsGroup), observer: o}
}

type clientCollector struct {
	family
	observer *pool.Observer
	nodes    nodeNames
}

func (c *clientCollector) Collect(ch chan<- prometheus.Metric) {
	sums := map[string]*pool.NodeStats{}
	for _, n := range c.observer.Nodes() {
		label := c.nodes.label(n.Addr)
		if sums[label] == nil {
			sums[label] = &pool.NodeStats{}
		}
		addAttempts(sums[label], n)
	}
	for _, node := range sorted(sums) {
		c.attempts(ch, node, *sums[node])
	}
}

// attempts sends what an observer counted at one node.
func (f family) attempts(ch chan<- prometheus.Metric, node string, n pool.NodeStats) {
	f.emit(ch, attempts, float64(n.Attempts), node)
	f.emit(ch, dials, float64(n.Dials), node)
	f.emit(ch, poolTimeouts, float64(n.PoolTimeouts), node)
	for _, v := range []struct {
		s    *spec
		kind string
		n    uint64
	}{
		{redirects, "moved", n.Moved}, {redirects, "ask", n.Ask},
		{redirects, "tx_moved", n.TxMoved}, {redirects, "tx_ask", n.TxAsk},
		{replyErrors, "tryagain", n.TryAgain}, {replyErrors, "clusterdown", n.ClusterDown},
		{replyErrors, "readonly", n.ReadOnly}, {replyErrors, "loading", n.Loading}, {replyErrors, "other", n.OtherErrors},
		{networkErrors, "timeout", n.Timeouts}, {networkErrors, "network", n.NetErrors},
	} {
		f.emit(ch, v.s, float64(v.n), node, v.kind)
	}
}

func addAttempts(to *pool.NodeStats, n pool.NodeStats) {
	to.Attempts += n.Attempts
	to.Moved += n.Moved
	to.Ask += n.Ask
	to.TryAgain += n.TryAgain
	to.ClusterDown += n.ClusterDown
	to.ReadOnly += n.ReadOnly
	to.Loading += n.Loading
	to.OtherErrors += n.OtherErrors
	to.Timeouts += n.Timeouts
	to.NetErrors += n.NetErrors
	to.PoolTimeouts += n.PoolTimeouts
	to.Dials += n.Dials
	to.TxMoved += n.TxMoved
	to.TxAsk += n.TxAsk
}

// nodeNames gives node addresses their label value: themselves for the first
// [MaxNodes] of them. An address keeps its value for good, so that the sum
// behind "other" never goes backwards.
type nodeNames struct {
	mu    sync.Mutex
	known map[string]bool
}

func (n *nodeNames) label(addr string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known[addr] {
		return addr
	}
	if len(n.known) >= MaxNodes {
		return other
	}
	if n.known == nil {
		n.known = map[string]bool{}
	}
	n.known[addr] = true
	return addr
}
