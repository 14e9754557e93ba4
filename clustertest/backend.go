package clustertest

import (
	"context"
	"net"
)

// A Backend starts the nodes of a cluster. [Embedded] and [Processes] are the
// two of this package; others can live elsewhere.
type Backend interface {
	// Name names the backend in errors and in the names of subtests.
	Name() string

	// Caps says what clusters of this backend can do.
	Caps() Caps

	// Launch starts the nodes that o asks for and joins them into one
	// cluster. When it returns without an error every node serves all slots
	// and every replica's link is up. When it fails, nothing it started is
	// left running.
	Launch(ctx context.Context, o Options) (Instance, error)
}

// An Instance is a running cluster as its backend sees it.
type Instance interface {
	// Servers are the nodes: the masters in order of their slots, then the
	// replicas in the order of their masters.
	Servers() []Server

	// Dial opens a connection to an announced address, as a client does.
	Dial(ctx context.Context, network, addr string) (net.Conn, error)

	// Close stops every node and removes what Launch made. It may be called
	// twice.
	Close() error
}

// A Server is one node as its backend runs it. Methods that the backend does
// not support return an error that matches [ErrNotSupported]. All methods may
// be called concurrently.
//
// Whatever Redis commands can do is not part of this interface: a [Cluster]
// sends them on direct connections, with client name "clustertest". A backend
// has to execute CLUSTER MYID, NODES, INFO, SLOTS, SETSLOT, FAILOVER,
// GETKEYSINSLOT and COUNTKEYSINSLOT, MIGRATE with KEYS (and AUTH), INFO
// replication (master_link_status), FLUSHALL, CONFIG SET, and AUTH and CLIENT
// SETNAME as every client sends them.
type Server interface {
	// Addr is the announced host:port.
	Addr() string

	// DialDirect opens a connection that no fault applies to.
	DialDirect(ctx context.Context) (net.Conn, error)

	// Kill ends the node at once, as kill -9 does: its connections are reset,
	// new ones are refused. Killing a dead node does nothing.
	Kill() error
	// Stop ends the node in an orderly way. Stopping a dead node does nothing.
	Stop(ctx context.Context) error
	// Start starts a killed or stopped node again with the same node id and
	// address, and returns when it answers. Faults and a frozen view stay. It
	// fails once the instance is closed.
	Start(ctx context.Context) error

	// Pause freezes the node: connections are accepted by the kernel and
	// nothing is answered. Resume ends that. Both fail when the node is dead.
	Pause() error
	Resume() error

	// ResetConns resets every client connection of the node, except direct
	// ones.
	ResetConns() error

	// Inject adds a fault.
	Inject(f Fault) (Injection, error)

	// FreezeView makes the node answer questions about the topology (and, on
	// the embedded backend, route) as of now, until it is called with false.
	FreezeView(frozen bool) error

	// PauseReplication stops (or lets go on) what this replica receives from
	// its master, so that a failover to it loses the writes made meanwhile.
	PauseReplication(paused bool) error
}

// Caps says what a cluster can do. A method whose cap is false returns an
// error that matches [ErrNotSupported].
type Caps struct {
	// Real: the nodes are real server processes, so figures about
	// performance, failover and memory mean something.
	Real bool
	// InMemory: connections are net.Pipe pairs, usable in testing/synctest.
	InMemory bool
	// Faults: Inject, FreezeView and PauseReplication work.
	Faults bool
	// Persists: a killed and restarted master still has its data.
	Persists bool
	// ShardedPubSub: SSUBSCRIBE and SPUBLISH work.
	ShardedPubSub bool
	// Tracking: CLIENT TRACKING works.
	Tracking bool
}
