package health

import "time"

// A Verdict is what a report comes to.
type Verdict string

// The verdicts, from good to bad.
const (
	// OK: every slot is served and every shard can lose its master.
	OK Verdict = "ok"
	// Degraded: every slot is served, but something is wrong that may become
	// Down with the next fault, or that some clients feel already.
	Degraded Verdict = "degraded"
	// Down: at least one slot is not served to this client.
	Down Verdict = "down"
)

// level orders verdicts.
func (v Verdict) level() int {
	switch v {
	case OK:
		return 0
	case Degraded:
		return 1
	}
	return 2
}

// A Code names a kind of reason. The set may grow.
type Code string

// The reasons. The comment says what they come to on their own.
const (
	// CodeAuth: a node refuses the user or the password, or the user lacks a
	// right that probes need. Down, or Degraded where only replicas refuse.
	CodeAuth Code = "auth"
	// CodeNotACluster: an address answers but is no cluster node. Down.
	CodeNotACluster Code = "not_a_cluster"
	// CodeUnreachable: no address answers, so nothing is known. Down.
	CodeUnreachable Code = "unreachable"
	// CodeMasterUnreachable: a master that owns slots does not answer. Down.
	CodeMasterUnreachable Code = "master_unreachable"
	// CodeLoading: a node is loading its data. Down for a master, Degraded for
	// a replica.
	CodeLoading Code = "loading"
	// CodeFailoverInProgress: a shard is changing its master. Degraded; the
	// slots that are not served meanwhile are a reason of their own.
	CodeFailoverInProgress Code = "failover_in_progress"
	// CodeSlotsUnserved: slots that nobody serves. Down.
	CodeSlotsUnserved Code = "slots_unserved"
	// CodeViewDivergence: nodes disagree about who serves what or about who
	// is alive. Degraded.
	CodeViewDivergence Code = "view_divergence"
	// CodeNoFailoverCandidate: a shard has no replica that could take over.
	// Degraded.
	CodeNoFailoverCandidate Code = "no_failover_candidate"
	// CodeReplicaUnreachable: a node without slots does not answer. Degraded.
	CodeReplicaUnreachable Code = "replica_unreachable"
	// CodeReplicaLagging: a replica is behind its master or has lost its link
	// to it. Degraded.
	CodeReplicaLagging Code = "replica_lagging"
	// CodeEndpointUnknown: the cluster announces no address for a node, which
	// plain clients cannot use. Degraded.
	CodeEndpointUnknown Code = "endpoint_unknown"
	// CodePoolExhausted: commands of this process waited for a free connection
	// in vain since the report before. Degraded.
	CodePoolExhausted Code = "pool_exhausted"
	// CodeBreakerOpen: this process refuses to call a node because of errors
	// before. Degraded.
	CodeBreakerOpen Code = "breaker_open"
)

// A Reason is one thing that is wrong.
type Reason struct {
	Code    Code    `json:"code"`
	Verdict Verdict `json:"verdict"` // what it comes to on its own
	// Node is the address it is about, empty when it is about none.
	Node string `json:"node,omitempty"`
	// Slots are the slots concerned, if any.
	Slots []SlotRange `json:"slots,omitempty"`
	// Detail says what was seen, Fix what to do. Both are for people.
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// String is one line: code, node, slots, detail.
func (r Reason) String() string {
	s := string(r.Code)
	if r.Node != "" {
		s += " " + r.Node
	}
	if len(r.Slots) > 0 {
		s += " slots " + FormatRanges(r.Slots)
	}
	return s + ": " + r.Detail
}

// A Report is the state of a cluster at one moment, as one client sees it.
// Reports are shared: do not change them.
type Report struct {
	// Schema is "rcctl.health.v1".
	Schema string `json:"schema"`
	// Time is when the probes were sent, Took how long all of them took.
	Time    time.Time     `json:"time"`
	Took    time.Duration `json:"took_ns"`
	Verdict Verdict       `json:"verdict"`
	// Known is false when no node told about the topology: the verdict is Down
	// then, but the cluster may be well (wrong address, wrong password).
	Known bool `json:"known"`
	// Reasons are all that is wrong, the worst and the cause first.
	Reasons []Reason `json:"reasons"`
	// Slots and Shards are empty when Known is false.
	Slots Slots `json:"slots"`
	// Shards are in the order of their slots.
	Shards []Shard `json:"shards"`
	// Strays are addresses that belong to no shard: seeds that do not answer or
	// are no cluster nodes, nodes without slots and master.
	Strays []Node `json:"strays,omitempty"`
}

// Has reports whether the report has a reason with this code.
func (r *Report) Has(code Code) bool {
	for _, x := range r.Reasons {
		if x.Code == code {
			return true
		}
	}
	return false
}

// Slots says how the 16384 slots are served.
type Slots struct {
	// Served is the number of slots whose master answered and accepts
	// commands.
	Served int `json:"served"`
	// Unserved are all the others; of these, Unassigned have no owner at all,
	// and Refused have one that answers but refuses commands because it calls
	// the cluster down (cluster_state:fail).
	Unserved   []SlotRange `json:"unserved"`
	Unassigned []SlotRange `json:"unassigned"`
	Refused    []SlotRange `json:"refused"`
	// Migrating and Importing are open slots, as the nodes themselves say.
	Migrating []OpenSlot `json:"migrating"`
	Importing []OpenSlot `json:"importing"`
}

// An OpenSlot is a slot on its way between two masters.
type OpenSlot struct {
	Slot int `json:"slot"`
	// Node is the address of the node that says so, Other the address of the
	// node at the other end (its id where the address is not known).
	Node  string `json:"node"`
	Other string `json:"other"`
}

// A Shard is a master with its replicas.
type Shard struct {
	Slots    []SlotRange `json:"slots"`
	Master   Node        `json:"master"`
	Replicas []Node      `json:"replicas"`
	// CanFailOver: at least one replica could take over now.
	CanFailOver bool `json:"can_fail_over"`
}

// A Node is one node as it answered its probe.
type Node struct {
	// Addr is the announced host:port, or the seed as it was given.
	Addr string `json:"addr"`
	ID   string `json:"id,omitempty"`
	// Answered: the node answered its probe. Error says why not, or which
	// part of the answer is missing.
	Answered bool   `json:"answered"`
	Error    string `json:"error,omitempty"`
	// RTT is the time of the probe, connecting included where it had to.
	RTT time.Duration `json:"rtt_ns"`
	// Version is "redis 7.0.15" or "valkey 8.0.1".
	Version string `json:"version,omitempty"`
	// Failed: other nodes call it failed ("fail" or "fail?"), by how many of
	// those that answered.
	Failed int `json:"failed_by"`
	// ClusterDown: the node calls the cluster down and refuses commands.
	ClusterDown bool   `json:"cluster_down"`
	Loading     bool   `json:"loading"`
	ConfigEpoch uint64 `json:"config_epoch"`
	// LinkUp, LagBytes and Lag are about replicas: whether the link to the
	// master is up, how many bytes of the stream are missing, and how long ago
	// the replica acknowledged last (whole seconds, by the master). LagBytes
	// and Lag are -1 when they are not known.
	LinkUp   bool          `json:"link_up"`
	LagBytes int64         `json:"lag_bytes"`
	Lag      time.Duration `json:"lag_ns"`
}
