package metrics

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rcctl/rcctl/pool"
)

var poolGroup = &group{title: "Pools (`Pool`)", owner: "pool"}

var (
	poolConns = poolGroup.gauge("rcctl_pool_connections",
		"Connections now, by state: idle or busy.", "node", "state")
	poolGets = poolGroup.counter("rcctl_pool_connection_requests_total",
		"Requests for a connection, by result: hit (an idle one) or miss (none was idle).", "node", "result")
	poolWaits = poolGroup.counter("rcctl_pool_waits_total",
		"Requests that had to wait for a connection because the pool was full.", "node")
	poolWaitSeconds = poolGroup.counter("rcctl_pool_wait_seconds_total",
		"Time of all waits for a connection together.", "node")
	breakerOpen = poolGroup.gauge("rcctl_pool_breaker_open",
		"1 while commands to the node are refused because it does not answer.", "node")
	breakerOpened = poolGroup.counter("rcctl_pool_breaker_opened_total", "How often the breaker opened.", "node")
	poolRefused   = poolGroup.counter("rcctl_pool_refused_total",
		"Attempts ended without being sent, by reason: breaker (open) or deadline (too near).", "node", "reason")
	poolSlots    = poolGroup.gauge("rcctl_pool_node_slots", "Slots that this client sends to the node.", "node")
	poolUnserved = poolGroup.gauge("rcctl_pool_unserved_slots",
		"Slots without a master in this client's view of the cluster.")
	poolDiscoveries = poolGroup.counter("rcctl_pool_discoveries_total", "Times the topology was read.")
	poolDuplicates  = poolGroup.counter("rcctl_pool_duplicates_total",
		"Times a pool was opened in this process while another one for the same seeds was open.")
)

// Pool collects the connections, breakers and topology of a pool, and what
// [Client] collects. The label pool is the pool's name. A Close of the pool
// does not end it: counters keep their last values.
func Pool(c *pool.Cluster) prometheus.Collector {
	return &poolCollector{family: newFamily(c.Stats().Name, attemptsGroup, poolGroup), stats: c.Stats}
}

type poolCollector struct {
	family
	stats func() pool.Stats
	nodes nodeNames
}

func (c *poolCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.stats()
	sums := map[string]*pool.NodeStatus{}
	for _, n := range s.Nodes {
		label := c.nodes.label(n.Addr)
		if sums[label] == nil {
			sums[label] = &pool.NodeStatus{}
		}
		addStatus(sums[label], n)
	}
	for _, node := range sorted(sums) {
		n := sums[node]
		c.attempts(ch, node, n.NodeStats)
		c.emit(ch, poolConns, float64(n.Idle), node, "idle")
		c.emit(ch, poolConns, float64(max(n.Conns-n.Idle, 0)), node, "busy")
		c.emit(ch, poolGets, float64(n.Hits), node, "hit")
		c.emit(ch, poolGets, float64(n.Misses), node, "miss")
		c.emit(ch, poolWaits, float64(n.Waits), node)
		c.emit(ch, poolWaitSeconds, n.Wait.Seconds(), node)
		c.flag(ch, breakerOpen, n.Open, node)
		c.emit(ch, breakerOpened, float64(n.Opened), node)
		c.emit(ch, poolRefused, float64(n.Refused), node, "breaker")
		c.emit(ch, poolRefused, float64(n.Shed), node, "deadline")
		c.emit(ch, poolSlots, float64(n.Slots), node)
	}
	c.emit(ch, poolUnserved, float64(countSlots(s.Unserved)))
	c.emit(ch, poolDiscoveries, float64(s.Discoveries))
	c.emit(ch, poolDuplicates, float64(s.Duplicates))
}

func addStatus(to *pool.NodeStatus, n pool.NodeStatus) {
	addAttempts(&to.NodeStats, n.NodeStats)
	to.Slots += n.Slots
	to.Conns += n.Conns
	to.Idle += n.Idle
	to.Hits += n.Hits
	to.Misses += n.Misses
	to.Waits += n.Waits
	to.Wait += n.Wait
	to.Open = to.Open || n.Open
	to.Opened += n.Opened
	to.Refused += n.Refused
	to.Shed += n.Shed
}

// countSlots counts the slots in "none" or "0-99 16001-16383".
func countSlots(ranges string) int {
	n := 0
	for _, r := range strings.Fields(ranges) {
		first, last, isRange := strings.Cut(r, "-")
		a, err := strconv.Atoi(first)
		if err != nil {
			continue
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(last); err != nil {
				continue
			}
		}
		n += b - a + 1
	}
	return n
}
