package health

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rcctl/rcctl/internal/redisinfo"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// An answer is what one address said to a probe.
type answer struct {
	addr string // as it was dialed
	rtt  time.Duration
	err  error // no answer, or one that says nothing about the cluster

	view   []redisinfo.Node      // CLUSTER NODES; nil while loading
	owners []redisinfo.SlotOwner // CLUSTER SLOTS; nil when it failed
	state  string                // cluster_state, empty if it is not known
	info   redisinfo.Info
	denied error // part of the answer was refused (ACL), the rest is there
}

// self is the node's own line, nil if there is none.
func (a *answer) self() *redisinfo.Node {
	for i := range a.view {
		if a.view[i].Has("myself") {
			return &a.view[i]
		}
	}
	return nil
}

func (a *answer) loading() bool {
	return a.info.String("loading") == "1" || a.info.String("async_loading") == "1" || isReply(a.err, "LOADING")
}

// noAnswer is a timeout in words.
type noAnswer struct{ text string }

func (e *noAnswer) Error() string { return e.text }
func (e *noAnswer) Unwrap() error { return context.DeadlineExceeded }

// errNoCluster is the error of a probe that found a server without cluster.
var errNoCluster = errors.New("the server is no cluster node (cluster-enabled no)")

// prober keeps one connection of its own to each node.
type prober struct {
	opt     redis.Options
	timeout time.Duration

	mu     sync.Mutex
	closed bool
	conns  map[string]*probeConn
}

// probeConn is the connection to one address. busy is set while a probe is
// out, also one whose deadline has passed: a node that hangs holds one
// goroutine, not one a round.
type probeConn struct {
	client *redis.Client
	busy   atomic.Bool
}

func newProber(o *redis.ClusterOptions, timeout time.Duration) *prober {
	return &prober{
		timeout: timeout,
		conns:   map[string]*probeConn{},
		opt: redis.Options{
			Dialer:                       o.Dialer,
			OnConnect:                    o.OnConnect,
			Protocol:                     o.Protocol,
			Username:                     o.Username,
			Password:                     o.Password,
			CredentialsProvider:          o.CredentialsProvider,
			CredentialsProviderContext:   o.CredentialsProviderContext,
			StreamingCredentialsProvider: o.StreamingCredentialsProvider,
			TLSConfig:                    o.TLSConfig,

			MaxRetries:               -1,
			DialerRetries:            1,
			DialTimeout:              timeout,
			ReadTimeout:              timeout,
			WriteTimeout:             timeout,
			PoolTimeout:              timeout,
			ContextTimeoutEnabled:    true,
			PoolSize:                 2,
			PipelinePoolSize:         -1,
			DisableIdentity:          true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		},
	}
}

func (p *prober) conn(addr string) (*probeConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	pc := p.conns[addr]
	if pc == nil {
		o := p.opt
		o.Addr = addr
		pc = &probeConn{client: redis.NewClient(&o)}
		p.conns[addr] = pc
	}
	return pc, nil
}

// keep closes the connections to addresses that are no longer asked.
func (p *prober) keep(addrs map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for addr, pc := range p.conns {
		if !addrs[addr] {
			_ = pc.client.Close()
			delete(p.conns, addr)
		}
	}
}

func (p *prober) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for addr, pc := range p.conns {
		_ = pc.client.Close()
		delete(p.conns, addr)
	}
}

// probe asks one address. It returns by the timeout, whatever the connection
// does.
func (p *prober) probe(ctx context.Context, addr string) *answer {
	pc, err := p.conn(addr)
	if err != nil {
		return &answer{addr: addr, err: err}
	}
	if !pc.busy.CompareAndSwap(false, true) {
		return &answer{addr: addr, err: &noAnswer{"still no answer to the probe before"}}
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	start := time.Now()
	got := make(chan *answer, 1)
	go func() {
		defer pc.busy.Store(false)
		got <- ask(ctx, addr, pc.client)
	}()
	var a *answer
	select {
	case a = <-got:
	case <-ctx.Done():
		a = &answer{addr: addr, err: context.Cause(ctx)}
	}
	a.rtt = time.Since(start)
	if isTimeout(a.err) {
		a.err = &noAnswer{"no answer within " + p.timeout.String()}
	}
	return a
}

// ask sends the four questions in one round trip.
func ask(ctx context.Context, addr string, c *redis.Client) *answer {
	a := &answer{addr: addr}
	pipe := c.Pipeline()
	info := pipe.Info(ctx)
	nodes := pipe.ClusterNodes(ctx)
	slots := pipe.Do(ctx, "cluster", "slots")
	cinfo := pipe.ClusterInfo(ctx)
	if cmds, err := pipe.Exec(ctx); handshakeFailed(cmds, err) {
		a.err = err
		return a
	}

	text, infoErr := info.Result()
	if notCluster(infoErr) {
		infoErr = errNoCluster
	}
	if infoErr != nil && !isReply(infoErr, "NOPERM") {
		a.err = infoErr
		return a
	}
	a.info = redisinfo.ParseInfo(text)
	a.denied = infoErr
	if a.info.String("cluster_enabled") == "0" || notCluster(nodes.Err()) {
		a.err = errNoCluster
		return a
	}
	text, a.err = nodes.Result()
	if a.err == nil {
		a.view, a.err = redisinfo.ParseNodes(text)
	}
	if a.err == nil && a.self() == nil {
		a.err = errors.New("CLUSTER NODES has no line for the node itself")
	}
	if a.err != nil {
		return a
	}
	reply, err := slots.Result()
	if err == nil {
		a.owners, err = redisinfo.ParseSlots(reply)
	}
	text, cinfoErr := cinfo.Result()
	a.state = redisinfo.ParseClusterInfo(text)["cluster_state"]
	for _, err := range []error{err, cinfoErr} {
		if err != nil && a.denied == nil {
			a.denied = err
		}
	}
	return a
}

// handshakeFailed reports that the connection's handshake was answered with an error
// (WRONGPASS, too many clients): go-redis 9.23 then returns it from Exec alone
// and leaves the commands without an error and without a result.
func handshakeFailed(cmds []redis.Cmder, err error) bool {
	if err == nil {
		return false
	}
	for _, c := range cmds {
		if c.Err() != nil {
			return false
		}
	}
	return true
}

func notCluster(err error) bool {
	return err != nil && strings.Contains(err.Error(), "cluster support disabled")
}

// isReply reports an error reply that begins with one of these words.
func isReply(err error, prefixes ...string) bool {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	for _, p := range prefixes {
		if strings.HasPrefix(reply.Error(), p) {
			return true
		}
	}
	return false
}

func isAuth(err error) bool {
	return isReply(err, "WRONGPASS", "NOAUTH", "NOPERM", "ERR AUTH", "ERR invalid password")
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &ne) && ne.Timeout()
}
