package doctor

import (
	"time"

	"github.com/rcctl/rcctl/internal/redisinfo"
	"github.com/rcctl/rcctl/sysctl"
)

// Snapshot is everything the checks look at, gathered at one time on one
// host. It holds no passwords. Values that could not be read carry a reason.
type Snapshot struct {
	Schema string    `json:"schema"`
	Kind   string    `json:"kind"` // "snapshot"
	Time   time.Time `json:"time"`
	Plan   Plan      `json:"plan"`

	Host  sysctl.Host    `json:"host"`
	Shell sysctl.Process `json:"shell"` // the calling shell
	// HostLater are the counters of the host's own network namespace at the
	// end, Seconds after those in Host.
	HostLater       map[string]int64 `json:"host_later,omitempty"`
	HostLaterReason string           `json:"host_later_unreadable,omitempty"`
	Seconds         float64          `json:"seconds"`

	// Programs are running Go programs that link go-redis; ProgramsHidden of
	// other users could not be looked into.
	Programs       []sysctl.GoProgram `json:"programs,omitempty"`
	ProgramsHidden int                `json:"programs_hidden"`
	ProgramsReason string             `json:"programs_unreadable,omitempty"`

	// Servers are the cluster's server processes on this host by announced
	// address, or the process of --pid. ServersReason says why there is none.
	Servers       map[string]*Server `json:"servers,omitempty"`
	ServersReason string             `json:"servers_reason,omitempty"`

	// Cluster is nil without one; ClusterReason says why.
	Cluster       *Cluster `json:"cluster,omitempty"`
	ClusterReason string   `json:"cluster_reason,omitempty"`
	// Error: a cluster was asked for and could not be checked.
	Error string `json:"error,omitempty"`
}

// Plan is what the user has in mind: how many clients of what kind.
type Plan struct {
	Seeds []string `json:"seeds,omitempty"`
	// PID is the process of --pid, 0 for none.
	PID int `json:"pid,omitempty"`
	// PoolSize is connections per node and process, Instances the number of
	// processes that use the cluster, of which InstancesPerHost on one host.
	PoolSize         int `json:"pool_size"`
	Instances        int `json:"instances"`
	InstancesPerHost int `json:"instances_per_host"`
	// Client timeouts and attempts, for what one command may cost.
	DialTimeout   time.Duration `json:"dial_timeout_ns"`
	ReadTimeout   time.Duration `json:"read_timeout_ns"`
	WriteTimeout  time.Duration `json:"write_timeout_ns"`
	IdleTimeout   time.Duration `json:"idle_timeout_ns"`
	DialerRetries int           `json:"dialer_retries"`
	MaxRedirects  int           `json:"max_redirects"`
	// Profile is "", "dev", "staging", "prod" or "high-concurrency".
	Profile string `json:"profile,omitempty"`
}

// hostOnly: neither a cluster nor a process was asked for.
func (s *Snapshot) hostOnly() bool { return len(s.Plan.Seeds) == 0 && s.Plan.PID == 0 }

// Server is a server process on this host.
type Server struct {
	Addr    string         `json:"addr"`
	Process sysctl.Process `json:"process"`
	// Unit is the systemd unit, UnitNoFile its LimitNOFILE, "" if it has none.
	Unit       string       `json:"unit,omitempty"`
	UnitNoFile sysctl.Value `json:"unit_nofile"`
	// Ports are the TCP ports that the process listens on, bus port included.
	Ports []int `json:"ports,omitempty"`
	// LaterCgroup and LaterCounters are those at the end of the run.
	LaterCgroup   sysctl.Cgroup    `json:"later_cgroup"`
	LaterCounters map[string]int64 `json:"later_counters,omitempty"`
	LaterReason   string           `json:"later_unreadable,omitempty"`
	// ConfigFile is the path of the server's redis.conf, Config what stands in
	// it (secrets left out).
	ConfigFile   string            `json:"config_file,omitempty"`
	Config       map[string]string `json:"config,omitempty"`
	ConfigReason string            `json:"config_unreadable,omitempty"`
}

// Cluster is what the nodes of a cluster answered.
type Cluster struct {
	Seeds map[string]*Seed `json:"seeds"`
	TLS   bool             `json:"tls"`
	User  string           `json:"user"`
	// Nodes are all nodes that any node knows, by announced address.
	Nodes map[string]*Node `json:"nodes"`
}

// Seed is an address the user gave.
type Seed struct {
	Addr string `json:"addr"`
	// NodeID is the node that answers there, empty with an Error.
	NodeID string `json:"node_id,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Node is one node as it was seen from here, and what it says.
type Node struct {
	Addr   string `json:"addr"`
	Dialed string `json:"dialed"` // differs from Addr under an address map
	ID     string `json:"id"`     // as others know it
	// Announced is where CLUSTER SLOTS sends clients, when that is not Addr:
	// a host name. AnnouncedReach is the way there.
	Announced      string `json:"announced,omitempty"`
	AnnouncedReach *Reach `json:"announced_reach,omitempty"`
	// Reach tells whether an authenticated connection answered PING.
	Reach Reach `json:"reach"`

	// View is CLUSTER NODES as this node says it, by node id.
	View       map[string]redisinfo.Node `json:"view,omitempty"`
	ViewReason string                    `json:"view_reason,omitempty"`
	// Slots is CLUSTER SLOTS.
	Slots       []redisinfo.SlotOwner `json:"slots,omitempty"`
	SlotsReason string                `json:"slots_reason,omitempty"`
	// ClusterInfo is CLUSTER INFO.
	ClusterInfo       map[string]string `json:"cluster_info,omitempty"`
	ClusterInfoReason string            `json:"cluster_info_reason,omitempty"`
	// Info is INFO everything; Later is a second sample Seconds after it.
	Info        redisinfo.Info `json:"info"`
	InfoReason  string         `json:"info_reason,omitempty"`
	Later       redisinfo.Info `json:"later"`
	LaterReason string         `json:"later_reason,omitempty"`
	Seconds     float64        `json:"seconds"`
	// Config is CONFIG GET *, secrets left out.
	Config       map[string]string `json:"config,omitempty"`
	ConfigReason string            `json:"config_reason,omitempty"`
	// Clients is CLIENT LIST summed up.
	Clients       []ClientGroup `json:"clients,omitempty"`
	ClientsReason string        `json:"clients_reason,omitempty"`
	// Users is ACL LIST of the default user: its flags.
	DefaultUser       string `json:"default_user,omitempty"`
	DefaultUserReason string `json:"default_user_reason,omitempty"`

	// Denied are commands that a cluster client needs and our user may not
	// run.
	Denied []string `json:"denied,omitempty"`
	// Cert is the node's TLS certificate.
	Cert *Cert `json:"cert,omitempty"`

	// PeerAddr is our address as the server sees it, LocalAddr as we do.
	PeerAddr  string `json:"peer_addr,omitempty"`
	LocalAddr string `json:"local_addr,omitempty"`
	// ClockOffsetUsec is the node's clock minus ours, half a round trip
	// subtracted; ClockErrorUsec is half that round trip.
	ClockOffsetUsec int64  `json:"clock_offset_us"`
	ClockErrorUsec  int64  `json:"clock_error_us"`
	ClockReason     string `json:"clock_reason,omitempty"`
	// RTTUsec are round trips of small commands in microseconds.
	RTTUsec []int64 `json:"rtt_us,omitempty"`
	// Payloads are ECHO round trips by size.
	Payloads []Payload `json:"payloads,omitempty"`
}

// Reach is the way from here to a node.
type Reach struct {
	OK bool `json:"ok"`
	// Kind of the failure: refused, timeout, tls, auth, protocol, network,
	// loading.
	Kind   string `json:"kind,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Payload is one step of the payload ladder.
type Payload struct {
	Bytes int    `json:"bytes"`
	Usec  int64  `json:"usec"`
	Error string `json:"error,omitempty"`
}

// ClientGroup is a number of alike client connections of one node.
type ClientGroup struct {
	// Kind is normal, replica, master, pubsub, monitor.
	Kind    string `json:"kind"`
	LibName string `json:"lib_name,omitempty"`
	LibVer  string `json:"lib_ver,omitempty"`
	User    string `json:"user,omitempty"`
	// Name is CLIENT SETNAME's, where there are few of them.
	Name     string `json:"name,omitempty"`
	Resp     int    `json:"resp,omitempty"`
	ReadOnly bool   `json:"read_only,omitempty"`
	Count    int    `json:"count"`
	Ours     int    `json:"ours"`  // of these, connections of rcctl doctor
	Hosts    int    `json:"hosts"` // distinct remote hosts
	// IdleLong were idle for more than 300 s.
	IdleLong int `json:"idle_long"`
	// MaxOutput and MaxTotal are the largest output buffer and memory of one
	// connection, in bytes.
	MaxOutput int64 `json:"max_output_bytes"`
	MaxTotal  int64 `json:"max_total_bytes"`
	// Example is one of them, "127.0.0.1:50000 name".
	Example string `json:"example,omitempty"`
}

// Cert is what matters of a TLS certificate.
type Cert struct {
	NotAfter time.Time `json:"not_after"`
	Names    []string  `json:"names"`
	// Covers: it is valid for the announced host.
	Covers bool `json:"covers"`
}
