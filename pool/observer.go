package pool

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// An Observer counts what each node of a cluster client answers, attempt by
// attempt: go-redis' own cluster hooks see only the final result, redirects
// followed and retries made are hidden from them. Single commands and
// pipelines are covered, those of Watch and of auto-pipelines too; redirects
// of a transaction are inferred and counted apart. CLUSTER SLOTS,
// the protocol's own commands (ASKING, MULTI, EXEC) and those of a
// handshake are not counted.
//
// The same observer feeds the library's metrics, rcctl doctor and rcctl bench.
// Its methods may be called concurrently.
type Observer struct {
	mu    sync.Mutex
	nodes map[string]*nodeCounters
}

// Observe attaches a new observer to a client. Call it before the client's
// first command: nodes known earlier are not seen.
func Observe(c *redis.ClusterClient) *Observer {
	o := &Observer{nodes: make(map[string]*nodeCounters)}
	o.attach(c)
	return o
}

func (o *Observer) attach(c *redis.ClusterClient) {
	c.AddHook(txHook{})
	c.OnNewNode(func(rdb *redis.Client) {
		rdb.AddHook(&observerHook{o.node(rdb.Options().Addr)})
	})
}

// Nodes are the counters of every node ever seen, by address. They never go
// backwards, also when a node is replaced. A seed is a node of its own when
// the cluster announces it under another address.
func (o *Observer) Nodes() []NodeStats {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]NodeStats, 0, len(o.nodes))
	for _, n := range o.nodes {
		out = append(out, n.stats())
	}
	slices.SortFunc(out, func(a, b NodeStats) int { return cmp.Compare(a.Addr, b.Addr) })
	return out
}

// node is called while go-redis holds its lock on the nodes: it must not touch
// the cluster client.
func (o *Observer) node(addr string) *nodeCounters {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.nodes[addr]
	if n == nil {
		n = &nodeCounters{addr: addr}
		o.nodes[addr] = n
	}
	return n
}

// NodeStats counts attempts at one node since the client was made.
type NodeStats struct {
	Addr string // announced host:port
	// Attempts are commands sent or tried, one per command of a pipeline;
	// handshakes are not counted.
	Attempts uint64
	// Replies that send the client elsewhere or refuse.
	Moved, Ask, TryAgain, ClusterDown, ReadOnly, Loading uint64
	// OtherErrors are further error replies of the server (WRONGTYPE, OOM ...).
	// A nil reply is not an error.
	OtherErrors uint64
	// Timeouts are reads, writes and dials that ran into a deadline, the
	// caller's included; NetErrors are other network errors; PoolTimeouts are
	// waits for a free connection that ended without one.
	Timeouts, NetErrors, PoolTimeouts uint64
	// Dials is the number of connections opened.
	Dials uint64
	// TxMoved and TxAsk are redirects of whole transactions (TxPipeline). The
	// server counts one MOVED or ASK for each command that was queued.
	TxMoved, TxAsk uint64
}

type nodeCounters struct {
	addr                                                 string
	attempts                                             atomic.Uint64
	moved, ask, tryAgain, clusterDown, readOnly, loading atomic.Uint64
	otherErrors                                          atomic.Uint64
	timeouts, netErrors, poolTimeouts                    atomic.Uint64
	dials                                                atomic.Uint64
	txMoved, txAsk                                       atomic.Uint64
}

func (n *nodeCounters) stats() NodeStats {
	return NodeStats{
		Addr:     n.addr,
		Attempts: n.attempts.Load(),
		Moved:    n.moved.Load(), Ask: n.ask.Load(), TryAgain: n.tryAgain.Load(),
		ClusterDown: n.clusterDown.Load(), ReadOnly: n.readOnly.Load(), Loading: n.loading.Load(),
		OtherErrors: n.otherErrors.Load(),
		Timeouts:    n.timeouts.Load(), NetErrors: n.netErrors.Load(), PoolTimeouts: n.poolTimeouts.Load(),
		Dials:   n.dials.Load(),
		TxMoved: n.txMoved.Load(), TxAsk: n.txAsk.Load(),
	}
}

// fail counts the error of one attempt.
func (n *nodeCounters) fail(err error) {
	if errors.Is(err, redis.Nil) {
		return
	}
	var reply redis.Error
	if errors.As(err, &reply) {
		n.reply(reply.Error())
		return
	}
	switch {
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		n.poolTimeouts.Add(1)
	case errors.Is(err, context.Canceled):
	case isTimeout(err):
		n.timeouts.Add(1)
	case isNetError(err):
		n.netErrors.Add(1)
	}
}

// reply counts an error reply by its prefix, as the server's errorstats do.
func (n *nodeCounters) reply(msg string) {
	prefix, _, _ := strings.Cut(msg, " ")
	switch prefix {
	case "MOVED":
		n.moved.Add(1)
	case "ASK":
		n.ask.Add(1)
	case "TRYAGAIN":
		n.tryAgain.Add(1)
	case "CLUSTERDOWN":
		n.clusterDown.Add(1)
	case "READONLY":
		n.readOnly.Add(1)
	case "LOADING":
		n.loading.Add(1)
	default:
		n.otherErrors.Add(1)
	}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &t) && t.Timeout())
}

func isNetError(err error) bool {
	var ne net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) || errors.As(err, &ne)
}

// observerHook is the node-level hook: it sees every attempt at its node.
type observerHook struct{ n *nodeCounters }

func (h *observerHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if _, failed := conn.(*failedConn); err == nil && !failed {
			h.n.dials.Add(1)
		}
		return conn, err
	}
}

func (h *observerHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if !isInternal(cmd) {
			h.n.attempts.Add(1)
			if err != nil {
				h.n.fail(err)
			}
		}
		return err
	}
}

func (h *observerHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "asking" {
			// An ASK that is being followed is still set on the command, and
			// stays there when no connection comes about.
			for _, cmd := range cmds {
				cmd.SetErr(nil)
			}
		}
		err := next(ctx, cmds)
		if tx, asking := isTransaction(cmds); tx {
			if t, ok := ctx.Value(txKey{}).(*txTrace); ok {
				t.note(h.n, asking, err)
			}
		}
		var attempts uint64
		for _, cmd := range cmds {
			if isInternal(cmd) {
				continue
			}
			attempts++
			if err := cmd.Err(); err != nil {
				h.n.fail(err)
			}
		}
		if attempts > 0 {
			h.n.attempts.Add(attempts)
		}
		return err
	}
}

// isInternal reports whether a command is the client's own: part of a
// handshake, of a redirect or of a transaction's frame, or a topology query.
func isInternal(cmd redis.Cmder) bool {
	if !mayBeInternal(cmd) {
		return false
	}
	switch cmd.Name() {
	case "hello", "auth", "select", "readonly", "asking", "multi", "exec":
		return true
	case "cluster":
		return subcommand(cmd) == "slots"
	case "client":
		switch subcommand(cmd) {
		case "setname", "setinfo", "maint_notifications", "tracking":
			return true
		}
	}
	return false
}

// mayBeInternal rules most commands out at a glance.
func mayBeInternal(cmd redis.Cmder) bool {
	args := cmd.Args()
	if len(args) == 0 {
		return false
	}
	name, ok := args[0].(string)
	if !ok {
		return true
	}
	switch len(name) {
	case 4, 5, 6, 7, 8: // exec, auth, hello, multi, asking, select, client, cluster, readonly
	default:
		return false
	}
	switch name[0] | 0x20 {
	case 'a', 'c', 'e', 'h', 'm', 'r', 's':
		return true
	}
	return false
}

func subcommand(cmd redis.Cmder) string {
	if args := cmd.Args(); len(args) > 1 {
		if s, ok := args[1].(string); ok {
			return strings.ToLower(s)
		}
	}
	return ""
}
