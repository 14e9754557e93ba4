package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rcctl/rcctl/internal/redisinfo"
	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// sampleTimeout bounds one question to one node, and fanOut how many nodes are
// asked at the same time.
const (
	sampleTimeout = 800 * time.Millisecond
	fanOut        = 16
)

// servers asks every node of the cluster for its counters, on connections of
// its own. It sends no command with a key, so it is never redirected.
type servers struct {
	cfg  pool.Config // defaults filled in
	name string      // of its connections

	mu    sync.Mutex
	nodes []*server // in the order in which they were found

	owners  atomic.Pointer[[16384]int16] // slot to index in nodes, -1 if not known
	epochs  [16384]uint64                // config epochs of these owners
	turn    int                          // which node is asked for the topology next
	began   time.Time                    // of the first sample; zero before
	changes *timeline                    // told what changes
}

// A server is one node. Its fields are guarded by servers.mu.
type server struct {
	id, addr, role string
	client         *redis.Client
	last           *redisinfo.Info
	lastAt         time.Time
	late           bool   // found after the run had begun
	epoch          uint64 // of the view that told the role
	failed         bool   // marked so, and no answer since
	err            error
	restarted      bool
	reset          string // evidence
	disabled       bool
	unsure         string // why its counters do not cover the whole run
	moved, ask     uint64
	counters       map[string]uint64
	cpuSeconds     float64
	cpuSpan        float64 // seconds that cpuSeconds covers
	maxClients     int64
}

func newServers(cfg pool.Config, name string, changes *timeline) *servers {
	s := &servers{cfg: withPoolDefaults(cfg), name: name, changes: changes}
	var none [16384]int16
	for i := range none {
		none[i] = -1
	}
	s.owners.Store(&none)
	return s
}

func (s *servers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		_ = n.client.Close()
	}
}

// owner is the number of the node that owns a slot, -1 if it is not known.
func (s *servers) owner(slot int) int { return int(s.owners.Load()[slot]) }

// boot finds the nodes through the seeds and takes the first sample of each.
func (s *servers) boot(ctx context.Context) error {
	var errs []error
	for _, seed := range s.cfg.Addrs {
		c := nodeClient(s.cfg, seed, s.name)
		nodes, err := askNodes(ctx, c)
		_ = c.Close()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", seed, err))
			continue
		}
		host, _, _ := net.SplitHostPort(seed)
		s.learn(nodes, host)
		errs = nil
		break
	}
	if len(errs) > 0 {
		return fmt.Errorf("no seed tells the nodes of the cluster: %w", errors.Join(errs...))
	}
	s.discover(ctx, true)
	s.sample(ctx)
	s.began = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		if n.last == nil {
			n.unsure = fmt.Sprintf("%s did not answer before the run: %v", n.addr, n.err)
		}
	}
	return nil
}

// askNodes is CLUSTER NODES with the addresses that CLUSTER SLOTS gives to
// clients, which may be host names: the client's counts go by them, and
// certificates may be valid for nothing else.
func askNodes(ctx context.Context, c *redis.Client) ([]redisinfo.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	pipe := c.Pipeline()
	reply, slots := pipe.ClusterNodes(ctx), pipe.Do(ctx, "CLUSTER", "SLOTS")
	_, _ = pipe.Exec(ctx) // each command has its own error
	if err := reply.Err(); err != nil {
		return nil, err
	}
	nodes, err := redisinfo.ParseNodes(reply.Val())
	owners, serr := redisinfo.ParseSlots(slots.Val())
	if err != nil || serr != nil {
		return nodes, err // a user may be allowed the one without the other
	}
	for _, o := range owners {
		for _, e := range append(o.Replicas, o.Master) {
			i := slices.IndexFunc(nodes, func(n redisinfo.Node) bool { return n.ID == e.ID })
			if i >= 0 && !e.Unknown {
				nodes[i].Host, nodes[i].Port = e.Host, e.Port
			}
		}
	}
	return nodes, nil
}

// discover looks for new nodes and new owners of slots: at all nodes, or at
// the next one in turn.
func (s *servers) discover(ctx context.Context, all bool) {
	s.mu.Lock()
	ask := slices.Clone(s.nodes)
	if !all && len(ask) > 0 {
		s.turn++
		ask = []*server{ask[s.turn%len(ask)]}
	}
	s.mu.Unlock()
	var g errgroup.Group
	g.SetLimit(fanOut)
	for _, n := range ask {
		g.Go(func() error {
			if nodes, err := askNodes(ctx, n.client); err == nil {
				host, _, _ := net.SplitHostPort(n.addr)
				s.learn(nodes, host)
			}
			return nil
		})
	}
	_ = g.Wait()
}

// learn takes over one node's view. host stands in for a node that does not
// know its own address.
func (s *servers) learn(view []redisinfo.Node, host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owners, moved := *s.owners.Load(), map[[2]int16]int{}
	for _, v := range view {
		if v.Has("noaddr") || v.Has("handshake") || v.Port == 0 {
			continue
		}
		if v.Host == "" {
			v.Host = host
		}
		i := slices.IndexFunc(s.nodes, func(n *server) bool { return n.id == v.ID })
		if i < 0 {
			i = len(s.nodes)
			s.nodes = append(s.nodes, &server{
				id: v.ID, addr: v.Addr(), late: !s.began.IsZero(),
				client: nodeClient(s.cfg, v.Addr(), s.name), counters: map[string]uint64{},
			})
		}
		s.note(s.nodes[i], v)
		for _, r := range v.Slots {
			for slot := r.First; slot <= r.Last && slot < len(owners); slot++ {
				if v.ConfigEpoch < s.epochs[slot] {
					continue // the view of a node that is behind
				}
				s.epochs[slot] = v.ConfigEpoch
				if was := owners[slot]; was != int16(i) {
					owners[slot] = int16(i)
					moved[[2]int16{was, int16(i)}]++
				}
			}
		}
	}
	for m, n := range moved {
		if m[0] >= 0 {
			s.changes.slotsMoved(s.nodes[m[0]].addr, s.nodes[m[1]].addr, n)
		}
	}
	s.owners.Store(&owners)
}

// note takes over a node's role and state and tells what changed. Views of
// nodes that are behind are known by their lower epochs; a node is failed when
// any view says so, until it answers again.
func (s *servers) note(n *server, v redisinfo.Node) {
	role := "replica"
	if v.Has("master") {
		role = "master"
	}
	if v.ConfigEpoch >= n.epoch {
		if n.role != "" && n.role != role {
			s.changes.add(n.addr + " is a " + role + " now")
		}
		n.role, n.epoch = role, v.ConfigEpoch
	}
	if v.Has("fail") && !n.failed {
		n.failed = true
		s.changes.add(n.addr + " is marked as failed")
	}
}

// sample asks every node once. Nodes that do not answer keep their last
// sample.
func (s *servers) sample(ctx context.Context) {
	s.mu.Lock()
	nodes := slices.Clone(s.nodes)
	s.mu.Unlock()
	var g errgroup.Group
	g.SetLimit(fanOut)
	for _, n := range nodes {
		g.Go(func() error { s.sampleOne(ctx, n); return nil })
	}
	_ = g.Wait()
}

func (s *servers) sampleOne(ctx context.Context, n *server) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	reply, err := n.client.Info(ctx, "all").Result()
	s.mu.Lock()
	defer s.mu.Unlock()
	n.err = err
	if err != nil {
		return
	}
	info := redisinfo.ParseInfo(reply)
	if n.failed && info.Fields["loading"] != "1" {
		n.failed = false
		s.changes.add(n.addr + " answers again")
	}
	n.add(&info, time.Now(), s.began)
}

// add books what happened since the last sample. Sums over neighbouring
// samples lose less to a restart than the difference of first and last.
func (n *server) add(info *redisinfo.Info, at, began time.Time) {
	before := n.last
	if before == nil {
		before = n.firstBase(info, at, began)
	}
	if before != nil {
		d := redisinfo.Between(*before, *info)
		n.restarted = n.restarted || d.Restarted
		if d.Reset {
			n.reset = d.ResetEvidence
		}
		n.disabled = n.disabled || d.ErrorsDisabled
		n.moved += d.Errors["MOVED"]
		n.ask += d.Errors["ASK"]
		for k, v := range d.Counters {
			n.counters[k] += v
		}
		if cpu := mainThreadCPU(*info) - mainThreadCPU(*before); !d.Restarted && cpu > 0 && !n.lastAt.IsZero() {
			n.cpuSeconds += cpu
			n.cpuSpan += at.Sub(n.lastAt).Seconds()
		}
	}
	n.last, n.lastAt = info, at
	if v, ok := info.Int("maxclients"); ok {
		n.maxClients = v
	}
}

// firstBase is what the first sample of a node that was found late is compared
// with: nothing at all when the node started after the run began, since then
// all it counted belongs to the run.
func (n *server) firstBase(info *redisinfo.Info, at, began time.Time) *redisinfo.Info {
	if !n.late {
		return nil
	}
	up, ok := info.Int("uptime_in_seconds")
	if ok && at.Add(-time.Duration(up)*time.Second).After(began.Add(-time.Second)) {
		return &redisinfo.Info{Fields: map[string]string{"run_id": info.RunID()}}
	}
	if info.Errors["MOVED"]+info.Errors["ASK"] > 0 {
		n.unsure = fmt.Sprintf("%s joined during the run; what it answered before its first sample is not known", n.addr)
	}
	return nil
}

func mainThreadCPU(i redisinfo.Info) float64 {
	sys, ok1 := i.Float("used_cpu_sys_main_thread")
	user, ok2 := i.Float("used_cpu_user_main_thread")
	if !ok1 || !ok2 {
		sys, _ = i.Float("used_cpu_sys")
		user, _ = i.Float("used_cpu_user")
	}
	return sys + user
}

// finish takes the last sample of every node, again and again until all have
// answered or ctx is done.
func (s *servers) finish(ctx context.Context) {
	s.discover(ctx, true)
	since := time.Now()
	for {
		s.sample(ctx)
		if len(s.silent(since)) == 0 || ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// silent are the nodes without a sample since t.
func (s *servers) silent(t time.Time) (addrs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		if n.lastAt.Before(t) {
			addrs = append(addrs, n.addr)
		}
	}
	return addrs
}

// redirects are the sums of all nodes so far.
func (s *servers) redirects() (sum ServerRedirects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		sum.Moved += n.moved
		sum.Ask += n.ask
	}
	return sum
}

// blind says which nodes' counters do not cover the whole run and why. Nodes
// without a sample since t count as gone.
func (s *servers) blind(t time.Time) (reasons []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		say := func(format string, args ...any) {
			reasons = append(reasons, n.addr+": "+fmt.Sprintf(format, args...))
		}
		if n.restarted {
			say("restarted during the run; what it counted after its last sample before that is lost")
		}
		if n.reset != "" {
			say("its statistics were reset during the run (CONFIG RESETSTAT; %s)", n.reset)
		}
		if n.disabled {
			say("errorstats are disabled there (too many distinct errors); CONFIG RESETSTAT turns them on again")
		}
		if n.last != nil && !countsErrors(*n.last) {
			_, v := n.last.Version()
			say("version %s has no errorstats (Redis 6.2 and later do)", v)
		}
		if n.unsure != "" {
			reasons = append(reasons, n.unsure)
		}
		if n.lastAt.Before(t) {
			say("gone: no sample at the end of the run (%v)", n.err)
		}
	}
	sort.Strings(reasons)
	return reasons
}

// countsErrors reports whether the version has errorstats.
func countsErrors(i redisinfo.Info) bool {
	name, v := i.Version()
	if name != "redis" {
		return true
	}
	var major, minor int
	if _, err := fmt.Sscanf(v, "%d.%d", &major, &minor); err != nil {
		return true
	}
	return major > 6 || major == 6 && minor >= 2
}
