package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Config says what cluster to start.
type Config struct {
	Masters     int // at least 1
	Replicas    int // of each master
	NodeTimeout time.Duration
	Directives  map[string]string // of redis.conf
	Port        int               // of the first node; 0 chooses free ones
	InMemory    bool              // net.Pipe connections only
}

// A Cluster is a cluster inside this process. Its methods may be called
// concurrently.
type Cluster struct {
	mu     sync.Mutex
	st     *store
	topo   *topology
	nodes  []*Node
	script *scriptRunner
	closed bool

	inMemory bool
	conns    sync.WaitGroup
	nextConn atomic.Int64
	nextPort atomic.Int64 // made-up ports of net.Pipe clients
	byAddr   map[string]*Node
}

// Start starts a cluster: masters, which share the slots evenly, then the
// replicas in the order of their masters. All nodes serve when it returns.
func Start(cfg Config) (*Cluster, error) {
	st, err := newStore()
	if err != nil {
		return nil, err
	}
	c := &Cluster{st: st, inMemory: cfg.InMemory, byAddr: map[string]*Node{}, script: newScriptRunner()}
	c.nextPort.Store(40000)
	total := cfg.Masters * (1 + cfg.Replicas)
	t := &topology{}
	t.spread(cfg.Masters)
	for i := range total {
		n := c.newNode(i)
		m := member{id: n.id, master: noNode}
		if i < cfg.Masters {
			n.data = st.newDataset()
			m.configEpoch = uint64(i + 1)
		} else {
			m.master = (i - cfg.Masters) / cfg.Replicas
			m.configEpoch = uint64(m.master + 1)
			n.data = c.nodes[m.master].data
		}
		t.nodes = append(t.nodes, m)
		c.nodes = append(c.nodes, n)
	}
	t.epoch = uint64(total)
	t.judge()
	c.topo = t
	if cfg.NodeTimeout > 0 {
		ms := strconv.FormatInt(cfg.NodeTimeout.Milliseconds(), 10)
		for _, n := range c.nodes {
			n.conf.store("cluster-node-timeout", ms)
			n.conf.refresh()
		}
	}
	if err := c.configure(cfg.Directives); err != nil {
		st.close()
		return nil, err
	}
	if err := c.listen(cfg.Port); err != nil {
		st.close()
		return nil, err
	}
	return c, nil
}

// Nodes are the nodes, masters first. The slice must not be changed.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// listen gives every node an address and, unless the cluster is in memory,
// a listener. A cluster takes a loopback address of its own where the system
// allows it: outgoing connections never take its ports then, so a killed node
// finds its port free.
func (c *Cluster) listen(port int) error {
	var last error
	for attempt := range 50 {
		ip, base := "127.0.0.1", port
		if port == 0 {
			base = 7000 + mrand.IntN(15000) // so that the announced bus port, 10000 above, is below 32768 too
			if attempt < 25 || c.inMemory {
				ip = fmt.Sprintf("127.%d.%d.%d", 1+mrand.IntN(254), mrand.IntN(256), 1+mrand.IntN(254))
			}
		}
		last = c.listenAt(ip, base)
		if last == nil {
			return nil
		}
		if port != 0 {
			break
		}
	}
	return fmt.Errorf("no address for the nodes: %w", last)
}

func (c *Cluster) listenAt(ip string, base int) error {
	for i, n := range c.nodes {
		n.ip, n.port = ip, base+i
		if err := n.open(); err != nil {
			for _, m := range c.nodes[:i] {
				m.listener.Close()
				<-m.accepting
			}
			return err
		}
	}
	clear(c.byAddr)
	for _, n := range c.nodes {
		c.byAddr[n.listenAddr()] = n
	}
	return nil
}

// Dial connects to an announced address as a client does.
func (c *Cluster) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if !c.inMemory {
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
	if err := ctx.Err(); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	c.mu.Lock()
	n := c.byAddr[addr]
	if n == nil {
		for _, o := range c.nodes {
			if o.announcedAddr() == addr {
				n = o
			}
		}
	}
	c.mu.Unlock()
	if n == nil {
		return nil, refused(network)
	}
	return n.pipe(network, false)
}

func refused(network string) error {
	return &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

var errClosed = errors.New("the cluster is closed")

// Close stops all nodes and waits until every goroutine has ended.
func (c *Cluster) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.mu.Unlock()
	for _, n := range c.nodes {
		n.Kill()
	}
	c.conns.Wait()
	c.script.close()
	c.st.close()
	return nil
}

// update publishes a changed topology. The caller holds mu.
func (c *Cluster) update(change func(t *topology)) {
	t := c.topo.clone()
	change(t)
	t.judge()
	c.topo = t
	c.redirectBlocked()
}

func randomID() string {
	var b [20]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
