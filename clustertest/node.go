package clustertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// controlName is the client name of the connections that a [Cluster] and
// [Node.Client] use. Faults spare them.
const controlName = "clustertest"

// A Node is one node of a [Cluster]. Its methods may be called concurrently.
type Node struct {
	cluster *Cluster
	srv     Server
	id      string

	// turn is held while the node is killed, stopped, started, paused or
	// resumed: one after the other. Lock order: turn, then mu.
	turn sync.Mutex

	mu      sync.Mutex      // guards what follows
	clients []*redis.Client // one for each run of the node, the last in use
	up      bool
	paused  bool
	frozen  bool      // its view is old on purpose
	elected time.Time // by [Cluster.Failover], the last time
}

func newNode(c *Cluster, srv Server) *Node {
	n := &Node{cluster: c, srv: srv, up: true}
	n.clients = []*redis.Client{newNodeClient(srv, c.options.Config["requirepass"])}
	return n
}

// closeClients closes all clients.
func (n *Node) closeClients() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, client := range n.clients {
		_ = client.Close() // the node goes away, an error here helps nobody
	}
}

// newNodeClient is a client of one node on direct connections. It does not
// retry, so that a command that changes something is sent once.
func newNodeClient(srv Server, password string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:       srv.Addr(),
		Password:   password,
		ClientName: controlName,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return srv.DialDirect(ctx)
		},
		Protocol:                 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		MaxRetries:               -1,
		DialerRetries:            1,
		PoolSize:                 100, // a pool answers from memory after as many failed dials
		ReadTimeout:              10 * time.Second,
		ContextTimeoutEnabled:    true,
	})
}

// do sends one command on a direct connection, bounded by answerTimeout. The
// error names the node.
func (n *Node) do(ctx context.Context, args ...any) *redis.Cmd {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	cmd := n.Client().Do(ctx, args...)
	if err := cmd.Err(); err != nil && err != redis.Nil {
		cmd.SetErr(fmt.Errorf("%s: %v: %w", n.Addr(), args[0], err))
	}
	return cmd
}

// text sends one command whose reply is a string.
func (n *Node) text(ctx context.Context, args ...any) (string, error) {
	return n.do(ctx, args...).Text()
}

// ID is the node id, 40 hexadecimal digits.
func (n *Node) ID() string { return n.id }

// Addr is the announced host:port.
func (n *Node) Addr() string { return n.srv.Addr() }

// String is the address.
func (n *Node) String() string { return n.Addr() }

// IsMaster reports whether the node calls itself a master now. It is false for
// a node that does not answer.
func (n *Node) IsMaster() bool {
	if !n.answers() {
		return false
	}
	v := n.view(context.Background())
	self, ok := v.find(n.id)
	return ok && self.Has("master")
}

// Replicas are the replicas of this master now, by the newest view of the
// live nodes, in the order of [Cluster.Nodes].
func (n *Node) Replicas() []*Node {
	v := n.cluster.bestView(context.Background())
	var replicas []*Node
	for _, other := range n.cluster.nodes {
		if line, ok := v.find(other.id); ok && line.MasterID == n.id {
			replicas = append(replicas, other)
		}
	}
	return replicas
}

// Client is a client of this node alone, on connections that no fault applies
// to. It follows no redirect and does not retry. After [Node.Start] ask for a
// new one: connections of the one before are gone, which its next commands may
// have to find out. Both are closed with the cluster.
func (n *Node) Client() *redis.Client {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.clients[len(n.clients)-1]
}

// Alive reports whether the node was started and neither killed nor stopped,
// and did not end by itself.
func (n *Node) Alive() bool {
	n.mu.Lock()
	up := n.up
	n.mu.Unlock()
	if r, ok := n.srv.(interface{ running() bool }); ok {
		return up && r.running()
	}
	return up
}

// answers reports whether the node is alive and not paused.
func (n *Node) answers() bool {
	n.mu.Lock()
	paused := n.paused
	n.mu.Unlock()
	return !paused && n.Alive()
}

// change runs op and, when it succeeds, notes the state it leads to. The
// caller holds turn.
func (n *Node) change(name string, op func() error, up, paused bool) error {
	if err := op(); err != nil {
		return n.fault(name, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.up, n.paused = up, paused
	return nil
}

// Kill ends the node at once, as kill -9 does: its connections are reset, new
// ones are refused. Killing a dead node does nothing.
func (n *Node) Kill() error {
	n.turn.Lock()
	defer n.turn.Unlock()
	return n.change("kill", n.srv.Kill, false, false)
}

// Stop ends the node in an orderly way. When ctx ends first the node is
// killed. Stopping a dead node does nothing.
func (n *Node) Stop(ctx context.Context) error {
	n.turn.Lock()
	defer n.turn.Unlock()
	return n.change("stop", func() error { return n.srv.Stop(ctx) }, false, false)
}

// Start starts a killed or stopped node again with the same node id and
// address, and returns when it answers. It may take a while longer until the
// others take it up again: see [Cluster.WaitReady]. Starting a live node does
// nothing. Faults and a frozen view are still there afterwards.
func (n *Node) Start(ctx context.Context) error {
	n.turn.Lock()
	defer n.turn.Unlock()
	if n.Alive() {
		return nil
	}
	if err := n.change("start", func() error { return n.srv.Start(ctx) }, true, false); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clients = append(n.clients, newNodeClient(n.srv, n.cluster.options.Config["requirepass"]))
	return nil
}

// Pause freezes the node: connections are accepted and nothing is answered.
// [Node.Resume] ends that. A dead node cannot be paused.
func (n *Node) Pause() error {
	n.turn.Lock()
	defer n.turn.Unlock()
	return n.change("pause", n.srv.Pause, true, true)
}

// Resume ends a pause. A node that is not paused stays as it is; a dead one
// cannot be resumed, see [Node.Start].
func (n *Node) Resume() error {
	n.turn.Lock()
	defer n.turn.Unlock()
	return n.change("resume", n.srv.Resume, true, false)
}

// ResetConns resets every client connection of the node, except those of
// [Node.Client].
func (n *Node) ResetConns() error {
	return n.fault("reset connections of", n.srv.ResetConns())
}

// Inject adds a fault to this node. It needs [Caps].Faults. The error of a bad
// fault names the field.
func (n *Node) Inject(f Fault) (Injection, error) {
	if err := f.validate(); err != nil {
		return nil, n.fault("inject a fault into", err)
	}
	injection, err := n.srv.Inject(f)
	return injection, n.fault("inject a fault into", err)
}

// FreezeView makes the node answer clients that ask for the topology (CLUSTER
// SLOTS, SHARDS, NODES, INFO) as of now, and on the embedded backend route by
// it, until it is called with false. The methods of [Cluster] do not ask a
// frozen node. Only a node that answers can be frozen. It needs [Caps].Faults.
func (n *Node) FreezeView(frozen bool) error {
	if n.cluster.Caps().Faults && frozen && !n.answers() {
		return n.fault("freeze the view of", errors.New("it is not alive, or paused"))
	}
	if err := n.srv.FreezeView(frozen); err != nil {
		return n.fault("freeze the view of", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.frozen = frozen
	return nil
}

// isFrozen reports whether the view of the node is old on purpose.
func (n *Node) isFrozen() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.frozen
}

// PauseReplication stops (or lets go on) what this replica receives from its
// master, so that a failover to it loses the writes made meanwhile: pause,
// write, kill the master, [Cluster.Failover]. A master receives nothing that
// could be paused. It needs [Caps].Faults.
func (n *Node) PauseReplication(paused bool) error {
	if n.cluster.Caps().Faults && paused {
		v := n.cluster.bestView(context.Background())
		if line, ok := v.find(n.id); ok && line.MasterID == "" {
			return n.fault("pause replication of", errors.New("it is a master, pause it on a replica"))
		}
	}
	return n.fault("pause replication of", n.srv.PauseReplication(paused))
}

func (n *Node) fault(op string, err error) error {
	if err != nil {
		return fmt.Errorf("clustertest: %s %s: %w", op, n.Addr(), err)
	}
	return nil
}
