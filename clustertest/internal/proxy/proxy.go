package proxy

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rcctl/rcctl/clustertest/internal/fault"
)

// dialTimeout bounds the connection to the node.
const dialTimeout = 5 * time.Second

// A Proxy listens for one node. Its methods may be called concurrently.
type Proxy struct {
	addr, target string
	// nodeHost is the address that connections of other nodes come from, ""
	// if it tells nothing.
	nodeHost string
	replicas *Replicas
	keysOf   func(args []string) []string
	faults   fault.Set
	frozen   atomic.Pointer[View]

	mu       sync.Mutex // guards what follows
	listener net.Listener
	conns    map[*conn]struct{}
	wg       sync.WaitGroup
}

// New returns a proxy that will listen on addr for the node at target.
// Connections from nodeHost are those of other nodes; "" means that all are
// clients. keysOf finds the keys that a command names. Replicas may be shared by
// all proxies of a cluster.
func New(addr, target, nodeHost string, keysOf func(args []string) []string, replicas *Replicas) *Proxy {
	return &Proxy{addr: addr, target: target, nodeHost: nodeHost, keysOf: keysOf, replicas: replicas, conns: map[*conn]struct{}{}}
}

// Listen begins to accept connections. It does nothing when it listens.
func (p *Proxy) Listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	p.listener = l
	p.wg.Go(func() { p.accept(l) })
	return nil
}

func (p *Proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of descriptors, most likely; the next one may work.
			time.Sleep(5 * time.Millisecond)
			continue
		}
		p.wg.Go(func() { p.serve(l, client.(*net.TCPConn)) })
	}
}

// serve runs one connection until it ends.
func (p *Proxy) serve(l net.Listener, client *net.TCPConn) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	var d net.Dialer
	if p.isNode(client) {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(p.nodeHost)} // INFO replication shows it
	}
	server, err := d.DialContext(ctx, "tcp", p.target)
	if err != nil {
		_ = client.SetLinger(0)
		_ = client.Close()
		return
	}
	c := newConn(p, client, server.(*net.TCPConn))
	p.mu.Lock()
	stopped := p.listener != l
	if !stopped {
		p.conns[c] = struct{}{}
	}
	p.mu.Unlock()
	if stopped {
		c.close(true)
		return
	}
	c.run()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// isNode reports whether a connection comes from another node.
func (p *Proxy) isNode(client net.Conn) bool {
	host, _, _ := net.SplitHostPort(client.RemoteAddr().String())
	return p.nodeHost != "" && host == p.nodeHost
}

// Stop refuses new connections, resets all others, and returns when nothing of
// the proxy runs any more. Faults stay. It does nothing when it is stopped.
func (p *Proxy) Stop() {
	p.mu.Lock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	for c := range p.conns {
		c.close(true)
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// ResetClients resets all connections except those of other nodes.
func (p *Proxy) ResetClients() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if !c.fromNode.Load() {
			c.close(true)
		}
	}
}

// Inject adds a fault.
func (p *Proxy) Inject(f fault.Fault) *fault.Injection { return p.faults.Add(f) }

// A View are whole replies to questions about the topology, by protocol (2 or
// 3) and subcommand of CLUSTER in upper case.
type View [4]map[string][]byte

// Freeze makes the proxy answer from the view. nil ends that.
func (p *Proxy) Freeze(v *View) { p.frozen.Store(v) }

// Replicas are the replicas of a cluster whose replication stands still, by
// the port they give their master (REPLCONF listening-port). The zero value
// has none.
type Replicas struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when replication goes on
}

// Hold stops what a replica receives, or lets it go on. Held bytes are lost
// when the connection ends first.
func (r *Replicas) Hold(port string, held bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gate, was := r.held[port]
	switch {
	case held && !was:
		if r.held == nil {
			r.held = map[string]chan struct{}{}
		}
		r.held[port] = make(chan struct{})
	case !held && was:
		close(gate)
		delete(r.held, port)
	}
}

// gate is closed when the replica may receive; nil means at once.
func (r *Replicas) gate(port string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if gate, held := r.held[port]; held {
		return gate
	}
	return nil
}
