package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rcctl/rcctl/health"
)

var healthGroup = &group{title: "Verdict (`Health`)", owner: "cluster"}

var (
	healthReported = healthGroup.gauge("rcctl_health_reported",
		"1 if there was a report in time for this scrape; without one the other rcctl_health metrics are missing.")
	healthKnown = healthGroup.gauge("rcctl_health_topology_known",
		"1 if at least one node told about the topology.")
	healthVerdict = healthGroup.gauge("rcctl_health_verdict",
		"1 for the verdict that holds: ok, degraded or down.", "verdict")
	healthReasons = healthGroup.gauge("rcctl_health_reasons",
		"Reasons in the report, by code.", "code")
	healthSlots = healthGroup.gauge("rcctl_health_slots",
		"Slots by state: served, unserved; of the unserved, unassigned (no owner) and refused (the owner calls the cluster down); migrating, importing.", "state")
	healthShards = healthGroup.gauge("rcctl_health_shards",
		"Shards, by whether a replica could take over now: yes or no.", "can_fail_over")
	healthAnswered = healthGroup.gauge("rcctl_health_node_answered",
		"1 if the node answered its probe.", "node")
	healthRTT = healthGroup.gauge("rcctl_health_node_rtt_seconds",
		"Time of the node's probe, if it answered.", "node")
	healthLag = healthGroup.gauge("rcctl_health_replica_lag_seconds",
		"Time since the replica acknowledged last, in whole seconds, if it is known.", "node")
	healthLagBytes = healthGroup.gauge("rcctl_health_replica_lag_bytes",
		"Bytes of the replication stream that the replica is missing, if it is known.", "node")
	healthTook = healthGroup.gauge("rcctl_health_round_seconds", "Time of the round of probes behind the report.")
)

// healthCodes are the codes that are exported with 0 when they are absent.
var healthCodes = []health.Code{
	health.CodeAuth, health.CodeNotACluster, health.CodeUnreachable, health.CodeMasterUnreachable, health.CodeLoading,
	health.CodeFailoverInProgress, health.CodeSlotsUnserved, health.CodeViewDivergence, health.CodeNoFailoverCandidate,
	health.CodeReplicaUnreachable, health.CodeReplicaLagging, health.CodeEndpointUnknown, health.CodePoolExhausted, health.CodeBreakerOpen,
}

// healthWait bounds the wait for a report in a scrape.
const healthWait = 2 * time.Second

// Health collects the reports of a checker; name becomes the label cluster. A
// scrape asks for a report and waits for at most 2 s.
func Health(name string, h *health.Checker) prometheus.Collector {
	return &healthCollector{family: newFamily(name, healthGroup), report: h.Report}
}

type healthCollector struct {
	family
	report func(context.Context) (*health.Report, error)
	nodes  nodeNames
}

func (c *healthCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), healthWait)
	defer cancel()
	r, err := c.report(ctx)
	c.flag(ch, healthReported, err == nil)
	if err != nil {
		return
	}
	c.flag(ch, healthKnown, r.Known)
	for _, v := range []health.Verdict{health.OK, health.Degraded, health.Down} {
		c.flag(ch, healthVerdict, r.Verdict == v, string(v))
	}
	c.reasons(ch, r)
	c.emit(ch, healthTook, r.Took.Seconds())
	if r.Known {
		c.topology(ch, r)
	}
}

func (c *healthCollector) reasons(ch chan<- prometheus.Metric, r *health.Report) {
	n := map[string]uint64{}
	for _, code := range healthCodes {
		n[string(code)] = 0
	}
	for _, reason := range r.Reasons {
		n[string(reason.Code)]++
	}
	c.byName(ch, healthReasons, n)
}

func (c *healthCollector) topology(ch chan<- prometheus.Metric, r *health.Report) {
	for _, v := range []struct {
		state string
		n     int
	}{
		{"served", r.Slots.Served}, {"unserved", count(r.Slots.Unserved)}, {"unassigned", count(r.Slots.Unassigned)},
		{"refused", count(r.Slots.Refused)}, {"migrating", len(r.Slots.Migrating)}, {"importing", len(r.Slots.Importing)},
	} {
		c.emit(ch, healthSlots, float64(v.n), v.state)
	}
	seen := map[string]bool{} // beyond MaxNodes only the first one is shown
	can := 0
	for _, s := range r.Shards {
		if s.CanFailOver {
			can++
		}
		c.node(ch, seen, s.Master, false)
		for _, n := range s.Replicas {
			c.node(ch, seen, n, true)
		}
	}
	c.emit(ch, healthShards, float64(can), "yes")
	c.emit(ch, healthShards, float64(len(r.Shards)-can), "no")
}

func (c *healthCollector) node(ch chan<- prometheus.Metric, seen map[string]bool, n health.Node, replica bool) {
	label := c.nodes.label(n.Addr)
	if n.Addr == "" || seen[label] {
		return
	}
	seen[label] = true
	c.flag(ch, healthAnswered, n.Answered, label)
	if n.Answered {
		c.emit(ch, healthRTT, n.RTT.Seconds(), label)
	}
	if replica && n.Lag >= 0 {
		c.emit(ch, healthLag, n.Lag.Seconds(), label)
	}
	if replica && n.LagBytes >= 0 {
		c.emit(ch, healthLagBytes, float64(n.LagBytes), label)
	}
}

func count(ranges []health.SlotRange) (n int) {
	for _, r := range ranges {
		n += r.Count()
	}
	return n
}
