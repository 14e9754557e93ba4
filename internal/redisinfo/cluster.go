package redisinfo

// Node is one line of CLUSTER NODES.
type Node struct {
	ID string
	// Host and Port are the announced address; Host may be empty (the node
	// does not know its own yet). BusPort is the cluster bus port; Hostname
	// is the announced hostname, if any. ShardID is set from Redis 7.2 on.
	Host          string
	Port, BusPort int
	Hostname      string
	ShardID       string
	Flags         []string // "myself", "master", "slave", "fail?", "fail", "handshake", "noaddr", "nofailover"
	MasterID      string   // empty for masters
	PingSent      int64    // ms since the epoch, 0 if none is pending
	PongRecv      int64
	ConfigEpoch   uint64
	LinkConnected bool
	Slots         []SlotRange
	// Migrating and Importing are open slots: slot to the other node's id.
	// Only the line of the node asked has them.
	Migrating, Importing map[int]string
}

// Addr is host:port; IPv6 hosts are bracketed.
func (n Node) Addr() string { panic("to be written") }

// Has reports whether the node carries a flag.
func (n Node) Has(flag string) bool { panic("to be written") }

// SlotRange is a run of slots, both ends included.
type SlotRange struct{ First, Last int }

// Count is the number of slots in the range.
func (r SlotRange) Count() int { return r.Last - r.First + 1 }

// ParseNodes reads CLUSTER NODES. A line without the eight fixed fields is an
// error that quotes it.
func ParseNodes(reply string) ([]Node, error) { panic("to be written") }

// FormatRanges writes ranges as "0-5460 10923 12000-12005", "none" if empty.
func FormatRanges(r []SlotRange) string { panic("to be written") }

// Ranges are the runs in a set of slots, in order.
func Ranges(slots []int) []SlotRange { panic("to be written") }

// Endpoint is where CLUSTER SLOTS or SHARDS says that a node listens. Host is
// empty for a NULL or "?" or empty endpoint (the client must use the host it
// asked), Unknown tells that it was one of these.
type Endpoint struct {
	Host     string
	Port     int
	TLSPort  int
	ID       string
	Unknown  bool
	IP       string // where it differs from Host
	Hostname string
}

// SlotOwner is one entry of CLUSTER SLOTS: who serves a range.
type SlotOwner struct {
	Range    SlotRange
	Master   Endpoint
	Replicas []Endpoint
}

// ParseSlots reads the reply of CLUSTER SLOTS as go-redis' Do returns it
// (nested []any, RESP2 or RESP3).
func ParseSlots(reply any) ([]SlotOwner, error) { panic("to be written") }

// Shard is one entry of CLUSTER SHARDS.
type Shard struct {
	Slots []SlotRange
	Nodes []ShardNode
}

// ShardNode is a node of a shard.
type ShardNode struct {
	Endpoint          Endpoint
	Role              string // "master" or "replica"
	ReplicationOffset int64
	Health            string // "online", "failed", "loading"
}

// ParseShards reads the reply of CLUSTER SHARDS as go-redis' Do returns it.
func ParseShards(reply any) ([]Shard, error) { panic("to be written") }

// ParseClusterInfo reads CLUSTER INFO: name to value.
func ParseClusterInfo(reply string) map[string]string { panic("to be written") }
