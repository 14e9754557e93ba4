package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rcctl/rcctl/internal/redisinfo"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"golang.org/x/sync/errgroup"
)

const (
	slotCount   = 16384
	askedAtOnce = 64
	// waves is how many steps a round takes to find nodes: the known ones, the
	// seeds or those that answers name, and those that these name.
	waves = 3
)

// A node is one address in a round.
type node struct {
	addr  string // announced
	err   error
	info  redisinfo.Info
	view  []redisinfo.Shard
	slots int // that it says it owns itself
}

type lag struct {
	time  time.Duration
	bytes int64
}

// A round is what all nodes said in one scrape.
type round struct {
	nodes  []*node // by address; seeds that are no announced address left out
	known  bool    // at least one node told about the topology
	served int
	lag    map[*node]lag
	took   time.Duration
}

// An asker keeps a connection to each node and makes rounds, one at a time.
type asker struct {
	opt     redis.Options
	seeds   []string
	tls     bool
	timeout time.Duration
	log     *slog.Logger

	mu     sync.Mutex
	closed bool
	conns  map[string]*conn

	known  []string          // announced addresses of the round before
	failed map[string]string // what was logged of nodes that do not answer
}

// A conn is the connection to one address. busy is set while an answer is
// awaited, also beyond its deadline: a node that hangs holds one goroutine, not
// one a scrape.
type conn struct {
	client   *redis.Client
	busy     atomic.Bool
	noShards atomic.Bool // a server before Redis 7
}

func newAsker(cfg ServersConfig) *asker {
	o := cfg.Options
	return &asker{
		seeds: o.Addrs, tls: o.TLSConfig != nil, timeout: cfg.Timeout, log: cfg.Logger,
		conns: map[string]*conn{}, failed: map[string]string{},
		opt: redis.Options{
			ClientName: o.ClientName, Dialer: o.Dialer, OnConnect: o.OnConnect, Protocol: o.Protocol,
			Username: o.Username, Password: o.Password,
			CredentialsProvider:          o.CredentialsProvider,
			CredentialsProviderContext:   o.CredentialsProviderContext,
			StreamingCredentialsProvider: o.StreamingCredentialsProvider,
			TLSConfig:                    o.TLSConfig,

			MaxRetries: -1, DialerRetries: 1,
			DialTimeout: cfg.Timeout, ReadTimeout: cfg.Timeout, WriteTimeout: cfg.Timeout, PoolTimeout: cfg.Timeout,
			ContextTimeoutEnabled: true, PoolSize: 2, PipelinePoolSize: -1, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		},
	}
}

func (a *asker) conn(addr string) (*conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, errors.New("the collector is closed")
	}
	c := a.conns[addr]
	if c == nil {
		o := a.opt
		o.Addr = addr
		c = &conn{client: redis.NewClient(&o)}
		a.conns[addr] = c
	}
	return c, nil
}

// keep closes the connections to addresses that are not asked any more.
func (a *asker) keep(addrs []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for addr, c := range a.conns {
		if !slices.Contains(addrs, addr) {
			_ = c.client.Close()
			delete(a.conns, addr)
		}
	}
}

func (a *asker) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for addr, c := range a.conns {
		_ = c.client.Close()
		delete(a.conns, addr)
	}
}

// round asks everybody once.
func (a *asker) round() *round {
	start := time.Now()
	answers := map[string]*node{}
	wave := a.known
	if len(wave) == 0 {
		wave = a.seeds
	}
	for range waves {
		a.askWave(wave, answers)
		named := a.announced(answers)
		wave = nil
		if len(named) == 0 {
			named = a.seeds
		}
		for _, addr := range named {
			if answers[addr] == nil {
				wave = append(wave, addr)
			}
		}
		if len(wave) == 0 {
			break
		}
	}
	return a.conclude(answers, start)
}

// conclude makes the round from the answers and logs what changed.
func (a *asker) conclude(answers map[string]*node, start time.Time) *round {
	r := &round{lag: map[*node]lag{}}
	named := a.announced(answers)
	r.known = len(named) > 0
	if r.known {
		a.known = named
		a.keep(append(slices.Clone(named), a.seeds...))
	}
	show := a.known
	if len(show) == 0 {
		show = a.seeds
	}
	var served []redisinfo.SlotRange
	for _, addr := range slices.Compact(slices.Sorted(slices.Values(show))) {
		n := answers[addr]
		if n == nil {
			n = &node{addr: addr, err: errors.New("not asked: addresses keep changing")}
		}
		own := a.own(n)
		for _, s := range own {
			n.slots += s.Count()
		}
		if v, _ := n.info.Int("loading"); v == 0 {
			served = append(served, own...)
		}
		r.nodes = append(r.nodes, n)
	}
	r.served = slotCount
	for _, s := range redisinfo.Missing(served) {
		r.served -= s.Count()
	}
	a.lags(r)
	a.report(r.nodes)
	r.took = time.Since(start)
	return r
}

// announced are the addresses that the answers name.
func (a *asker) announced(answers map[string]*node) []string {
	var out []string
	for _, n := range answers {
		for _, s := range n.view {
			for _, e := range s.Nodes {
				if e.Endpoint.Port != 0 || e.Endpoint.TLSPort != 0 {
					out = append(out, a.addr(e.Endpoint, n))
				}
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}

// addr is where an endpoint listens for this client.
func (a *asker) addr(e redisinfo.Endpoint, from *node) string {
	if a.tls && e.TLSPort != 0 {
		e.Port = e.TLSPort
	}
	host, _, _ := net.SplitHostPort(from.addr)
	return e.Addr(host)
}

// own are the slots that a node says it owns itself.
func (a *asker) own(n *node) []redisinfo.SlotRange {
	for _, s := range n.view {
		for _, e := range s.Nodes {
			if e.Role == "master" && a.addr(e.Endpoint, n) == n.addr {
				return s.Slots
			}
		}
	}
	return nil
}

// lags takes how far replicas are behind from what their masters say.
func (a *asker) lags(r *round) {
	byAddr := map[string]*node{}
	for _, n := range r.nodes {
		byAddr[n.addr] = n
	}
	for _, m := range r.nodes {
		for _, s := range m.view { // replicas call themselves by IP, whatever is announced
			for _, e := range s.Nodes {
				if n := byAddr[a.addr(e.Endpoint, m)]; n != nil && e.Endpoint.IP != "" {
					byAddr[net.JoinHostPort(e.Endpoint.IP, strconv.Itoa(e.Endpoint.Port))] = n
				}
			}
		}
	}
	for _, m := range r.nodes {
		offset, ok := m.info.Int("master_repl_offset")
		if !ok || m.info.Role() != "master" {
			continue
		}
		for _, l := range m.info.Replicas() {
			if n := byAddr[net.JoinHostPort(l.Host, strconv.Itoa(l.Port))]; n != nil && l.State == "online" {
				r.lag[n] = lag{l.Lag, max(offset-l.Offset, 0)}
			}
		}
	}
}

// report logs which nodes stopped answering, and which answer again.
func (a *asker) report(nodes []*node) {
	failed := map[string]string{}
	for _, n := range nodes {
		before, was := a.failed[n.addr]
		switch {
		case n.err == nil && was:
			a.log.Info("metrics: node answers again", "node", n.addr)
		case n.err != nil:
			failed[n.addr] = n.err.Error()
			if before != failed[n.addr] {
				a.log.Warn("metrics: node does not answer", "node", n.addr, "err", n.err)
			}
		}
	}
	a.failed = failed
}

func (a *asker) askWave(addrs []string, answers map[string]*node) {
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(askedAtOnce)
	for _, addr := range slices.Compact(slices.Sorted(slices.Values(addrs))) {
		g.Go(func() error {
			n := a.ask(addr)
			mu.Lock()
			defer mu.Unlock()
			answers[addr] = n
			return nil
		})
	}
	_ = g.Wait()
}

// ask asks one address. It returns by the timeout, whatever the connection
// does.
func (a *asker) ask(addr string) *node {
	c, err := a.conn(addr)
	if err != nil {
		return &node{addr: addr, err: err}
	}
	if !c.busy.CompareAndSwap(false, true) {
		return &node{addr: addr, err: fmt.Errorf("no answer within %s", a.timeout)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.timeout)
	got := make(chan *node, 1)
	go func() {
		defer c.busy.Store(false)
		got <- question(ctx, addr, c)
	}()
	defer cancel()
	select {
	case n := <-got:
		var ne net.Error
		if errors.Is(n.err, context.DeadlineExceeded) || errors.As(n.err, &ne) && ne.Timeout() {
			n.err = fmt.Errorf("no answer within %s", a.timeout)
		}
		return n
	case <-ctx.Done():
		return &node{addr: addr, err: fmt.Errorf("no answer within %s", a.timeout)}
	}
}

// question sends both commands in one round trip.
func question(ctx context.Context, addr string, c *conn) *node {
	n := &node{addr: addr}
	pipe := c.client.Pipeline()
	info := pipe.Info(ctx)
	sub := "shards"
	if c.noShards.Load() {
		sub = "slots"
	}
	topology := pipe.Do(ctx, "cluster", sub)
	_, execErr := pipe.Exec(ctx)
	text, err := info.Result()
	if err == nil && text == "" { // go-redis 9.23 tells of a failed handshake in Exec alone
		err = execErr
	}
	if err != nil {
		n.err = err
		return n
	}
	n.info = redisinfo.ParseInfo(text)
	reply, err := topology.Result()
	if err != nil && sub == "shards" && isUnknownSubcommand(err) {
		c.noShards.Store(true)
		sub = "slots"
		reply, err = c.client.Do(ctx, "cluster", "slots").Result()
	}
	if isReply(err, "LOADING") {
		return n // it told what it could
	}
	if err != nil {
		n.err = fmt.Errorf("CLUSTER %s: %w", strings.ToUpper(sub), err)
		return n
	}
	n.view, n.err = parseView(sub, reply)
	return n
}

func parseView(sub string, reply any) ([]redisinfo.Shard, error) {
	if sub == "shards" {
		return redisinfo.ParseShards(reply)
	}
	owners, err := redisinfo.ParseSlots(reply)
	if err != nil {
		return nil, err
	}
	byMaster := map[string]int{}
	var out []redisinfo.Shard
	for _, o := range owners {
		i, ok := byMaster[o.Master.ID]
		if !ok {
			i = len(out)
			byMaster[o.Master.ID] = i
			s := redisinfo.Shard{Nodes: []redisinfo.ShardNode{{Endpoint: o.Master, Role: "master"}}}
			for _, e := range o.Replicas {
				s.Nodes = append(s.Nodes, redisinfo.ShardNode{Endpoint: e, Role: "replica"})
			}
			out = append(out, s)
		}
		out[i].Slots = append(out[i].Slots, o.Range)
	}
	return out, nil
}

func isUnknownSubcommand(err error) bool {
	return isReply(err, "ERR") && strings.Contains(strings.ToLower(err.Error()), "unknown")
}

func isReply(err error, prefix string) bool {
	var reply redis.Error
	return errors.As(err, &reply) && strings.HasPrefix(reply.Error(), prefix)
}
