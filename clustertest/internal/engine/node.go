package engine

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/rcctl/rcctl/clustertest/internal/fault"
)

// A Node is one node of the cluster. Fields below c are guarded by Cluster.mu.
type Node struct {
	c     *Cluster
	index int
	id    string
	ip    string
	port  int

	listener  net.Listener
	accepting chan struct{} // closed when the accept loop has ended

	conf      *config
	data      *dataset
	frozen    *topology
	migrating map[int]string // slot to the id of its next owner
	importing map[int]string // slot to the id of its owner
	forgotten map[string]bool
	scripts   map[string]string
	conns     map[*conn]struct{}
	channels  map[string]map[*conn]struct{}
	patterns  map[string]map[*conn]struct{}
	faults    fault.Set
	stats     *stats
	slow      slowlog

	down     bool
	paused   chan struct{} // not nil while frozen; closed to resume
	silentAt time.Time
	suspect  *time.Timer // calls the node failed
	loose    bool        // replication paused
	lostTo   string      // id of the replica that took over from this node
	hold     *hold       // CLIENT PAUSE, DEBUG SLEEP
	runID    string
	started  time.Time
}

func (c *Cluster) newNode(i int) *Node {
	n := &Node{c: c, index: i, id: randomID(), conf: newConfig()}
	n.reset()
	return n
}

// reset sets what a process loses when it ends. Faults and a frozen view are
// not the process's: they stay.
func (n *Node) reset() {
	n.migrating, n.importing = map[int]string{}, map[int]string{}
	n.forgotten = map[string]bool{}
	n.scripts = map[string]string{}
	n.conns = map[*conn]struct{}{}
	n.channels, n.patterns = map[string]map[*conn]struct{}{}, map[string]map[*conn]struct{}{}
	n.stats = newStats()
	n.slow = slowlog{}
	n.hold = nil
	n.runID = randomID()
	n.started = time.Now()
}

// ID is the node id.
func (n *Node) ID() string { return n.id }

// Addr is the announced host:port.
func (n *Node) Addr() string {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.announcedAddr()
}

func (n *Node) listenAddr() string { return net.JoinHostPort(n.ip, strconv.Itoa(n.port)) }

func (n *Node) announcedAddr() string {
	return net.JoinHostPort(n.announcedIP(), strconv.Itoa(n.announcedPort()))
}

func (n *Node) announcedIP() string {
	if ip := n.conf.get("cluster-announce-ip"); ip != "" {
		return ip
	}
	return n.ip
}

func (n *Node) announcedPort() int {
	if p, _ := strconv.Atoi(n.conf.get("cluster-announce-port")); p != 0 {
		return p
	}
	return n.port
}

func (n *Node) busPort() int {
	if p, _ := strconv.Atoi(n.conf.get("cluster-announce-bus-port")); p != 0 {
		return p
	}
	return n.port + 10000
}

// view is the topology as this node sees it.
func (n *Node) view() *topology {
	if n.frozen != nil {
		return n.frozen
	}
	return n.c.topo
}

func (n *Node) isReplica() bool { return n.c.topo.nodes[n.index].master != noNode }

// open starts the listener. In memory there is none.
func (n *Node) open() error {
	n.conf.set["port"] = strconv.Itoa(n.port)
	n.conf.set["bind"] = n.ip
	if n.c.inMemory {
		return nil
	}
	l, err := net.Listen("tcp", n.listenAddr())
	if err != nil {
		return err
	}
	n.listener, n.accepting = l, make(chan struct{})
	go n.accept(l, n.accepting)
	return nil
}

func (n *Node) accept(l net.Listener, done chan struct{}) {
	defer close(done)
	for {
		nc, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(5 * time.Millisecond) // out of descriptors: let some go
			continue
		}
		if err := n.serve(nc, false); err != nil {
			reset(nc)
		}
	}
}

// DialDirect opens a connection that no fault applies to. A node that is down
// refuses it, one that is paused does not answer on it.
func (n *Node) DialDirect(ctx context.Context) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: err}
	}
	return n.pipe("pipe", true)
}

// errNotRunning is the answer of a node that was killed or stopped.
var errNotRunning = errors.New("the node is not running")

// Running reports whether the node is up. One that is paused is.
func (n *Node) Running() bool {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return !n.down && !n.c.closed
}

// Kill ends the node as kill -9 does; its data stays. Killing a dead node does
// nothing.
func (n *Node) Kill() { n.halt((*conn).abort) }

// Stop ends the node in an orderly way: connections are closed, not reset.
func (n *Node) Stop() { n.halt((*conn).close) }

// halt ends all connections and counts the node as silent.
func (n *Node) halt(end func(*conn)) {
	n.c.mu.Lock()
	if n.down {
		if n.c.closed && n.suspect != nil {
			n.suspect.Stop()
		}
		n.c.mu.Unlock()
		return
	}
	n.down = true
	n.wake()
	n.endHold()
	conns := make([]*conn, 0, len(n.conns))
	for cn := range n.conns {
		conns = append(conns, cn)
	}
	n.fallSilent()
	l, accepting := n.listener, n.accepting
	n.c.mu.Unlock()

	if l != nil {
		l.Close()
		<-accepting
	}
	for _, cn := range conns {
		end(cn)
	}
}

// Start starts a killed node again. Starting a live one does nothing.
func (n *Node) Start(ctx context.Context) error {
	n.c.mu.Lock()
	switch {
	case n.c.closed:
		n.c.mu.Unlock()
		return errClosed
	case !n.down:
		n.c.mu.Unlock()
		return nil
	}
	n.reset()
	n.c.mu.Unlock()
	for {
		err := n.open()
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
		select { // the kernel has not let go of the port yet
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.down = false
	n.speakAgain()
	return nil
}

// Pause freezes the node: connections are accepted, nothing is answered.
func (n *Node) Pause() error {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.down {
		return errNotRunning
	}
	if n.paused == nil {
		n.paused = make(chan struct{})
		n.fallSilent()
	}
	return nil
}

// Resume ends a pause.
func (n *Node) Resume() error {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.down {
		return errNotRunning
	}
	if n.wake() {
		n.speakAgain()
	}
	return nil
}

// wake lets waiting connections go on, and reports whether there was a pause.
func (n *Node) wake() bool {
	if n.paused == nil {
		return false
	}
	close(n.paused)
	n.paused = nil
	return true
}

// ResetConns resets all client connections.
func (n *Node) ResetConns() error {
	n.c.mu.Lock()
	var conns []*conn
	for cn := range n.conns {
		if !cn.direct {
			conns = append(conns, cn)
		}
	}
	n.c.mu.Unlock()
	for _, cn := range conns {
		cn.abort()
	}
	return nil
}

// FreezeView makes the node answer and route by the topology of now.
func (n *Node) FreezeView(frozen bool) error {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.frozen = nil
	if frozen {
		n.frozen = n.c.topo
	}
	return nil
}

// PauseReplication stops what the replica receives from its master.
func (n *Node) PauseReplication(paused bool) error {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	m := n.c.topo.nodes[n.index].master
	if m == noNode {
		if !paused {
			n.loose = false
			return nil
		}
		return errors.New("the node is a master, pause it on a replica")
	}
	if paused && !n.loose {
		n.data = n.data.clone()
	}
	if !paused {
		n.data = n.c.nodes[m].data
	}
	n.loose = paused
	return nil
}
