package doctor

import (
	"cmp"
	"context"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/rcctl/rcctl/internal/redisinfo"
	"golang.org/x/sync/errgroup"
)

const (
	nodeDialTimeout = time.Second // one node; all are dialed at once
	seedDialTimeout = 2 * time.Second
	pingTimeout     = time.Second
	replyTimeout    = 3 * time.Second // a whole pipeline of INFO, CONFIG, CLIENT LIST
	nodesAtOnce     = 64
)

// gatherCluster asks the seeds for the nodes and then every node that any of
// them announces.
func gatherCluster(ctx context.Context, req Request) (*Cluster, *ClusterError) {
	seeds := make(chan seedAnswer, len(req.Client.Addrs))
	sctx, cancel := context.WithTimeout(ctx, req.Timeout)
	defer cancel()
	for _, a := range req.Client.Addrs {
		go func() { seeds <- askSeed(sctx, req, a) }()
	}
	c := &Cluster{Seeds: map[string]*Seed{}, TLS: req.Client.TLS != nil, User: req.Client.Username, Nodes: map[string]*Node{}}
	var failed []seedAnswer
	var view []redisinfo.Node
	left := len(req.Client.Addrs)
	for ; left > 0 && view == nil; left-- {
		a := <-seeds
		c.Seeds[a.seed.Addr] = a.seed
		if a.err != nil {
			failed = append(failed, a)
			continue
		}
		view = a.view
		c.add(view, a.seed.Addr)
		c.announce(a.slots)
	}
	if view == nil {
		return nil, worstSeed(failed)
	}
	// A seed that does not answer must not hold the others up: its answer is
	// collected at the end.
	c.probe(ctx, req)
	for ; left > 0; left-- {
		a := <-seeds
		c.Seeds[a.seed.Addr] = a.seed
	}
	return c, nil
}

// add adds the nodes of a view that are not known yet. from is where the
// view comes from: a node that announces no host is reached where it was
// asked.
func (c *Cluster) add(view []redisinfo.Node, from string) (added []*Node) {
	for _, v := range view {
		if v.Has("handshake") || v.Port == 0 || c.byID(v.ID) != nil {
			continue
		}
		if v.Host == "" {
			if !v.Has("myself") {
				continue
			}
			v.Host, _, _ = net.SplitHostPort(from)
		}
		n := &Node{Addr: v.Addr(), ID: v.ID}
		if other := c.Nodes[n.Addr]; other != nil {
			// Two ids at one address: the older one is a ghost, C05 names it.
			continue
		}
		c.Nodes[n.Addr] = n
		added = append(added, n)
	}
	return added
}

// announce notes where CLUSTER SLOTS sends clients: with a preferred endpoint
// of type hostname, that is not the address in CLUSTER NODES. What the first
// node said stays.
func (c *Cluster) announce(slots []redisinfo.SlotOwner) {
	byID := map[string]*Node{}
	for _, n := range c.Nodes {
		byID[n.ID] = n
	}
	for _, o := range slots {
		for _, e := range append([]redisinfo.Endpoint{o.Master}, o.Replicas...) {
			if n := byID[e.ID]; n != nil && n.Announced == "" && !e.Unknown && e.Addr("") != n.Addr {
				n.Announced = e.Addr("")
			}
		}
	}
}

// reachAnnounced tries the endpoint that clients are sent to.
func (n *Node) reachAnnounced(ctx context.Context, req Request) {
	if n.Announced == "" {
		return
	}
	d := newDialer(req, nodeDialTimeout)
	cl := d.client(n.Announced)
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, nodeDialTimeout+pingTimeout)
	defer cancel()
	n.AnnouncedReach = &Reach{OK: true}
	if err := cl.Ping(ctx).Err(); err != nil {
		f := d.explain(n.Announced, err)
		n.AnnouncedReach = &Reach{Kind: f.kind, Reason: f.text}
	}
}

// probe asks all nodes, and then those that only they know of.
func (c *Cluster) probe(ctx context.Context, req Request) {
	next := c.each()
	for len(next) > 0 {
		g := errgroup.Group{}
		g.SetLimit(nodesAtOnce)
		for _, n := range next {
			g.Go(func() error { probeNode(ctx, req, n); return nil })
		}
		g.Wait()
		var found []*Node
		for _, n := range next {
			found = append(found, c.add(slices.Collect(maps.Values(n.View)), n.Addr)...)
			c.announce(n.Slots)
		}
		next = found
	}
}

// probeNode gathers one node, in at most 12 round trips.
func probeNode(ctx context.Context, req Request, n *Node) {
	n.reachAnnounced(ctx, req)
	d := newDialer(req, nodeDialTimeout)
	d.name = n.Announced
	n.Dialed = d.target(n.Addr)
	cl := d.client(n.Addr)
	defer cl.Close()
	pctx, cancel := context.WithTimeout(ctx, nodeDialTimeout+pingTimeout)
	err := cl.Ping(pctx).Err()
	cancel()
	if err != nil {
		f := d.explain(n.Addr, err)
		n.Reach = Reach{Kind: f.kind, Reason: f.text}
		if f.kind != kindLoading {
			n.unread(f.text)
			return
		}
	} else {
		n.Reach = Reach{OK: true}
	}
	n.sample(ctx, cl)
	n.LocalAddr, n.Cert = d.localAddr(), d.certOf(cmp.Or(n.Announced, n.Addr))
	// The interval is between the samples: on a busy host the first may take
	// longer than that, and rates over a few milliseconds would be noise.
	first := time.Now()
	n.clock(ctx, cl)
	n.ladder(ctx, cl)
	wait(ctx, req.Interval-time.Since(first))
	n.later(ctx, cl, first)
}

// unread says why nothing of a node could be read.
func (n *Node) unread(why string) {
	for _, p := range []*string{&n.ViewReason, &n.SlotsReason, &n.ClusterInfoReason, &n.InfoReason, &n.LaterReason,
		&n.ConfigReason, &n.ClientsReason, &n.DefaultUserReason, &n.ClockReason} {
		*p = why
	}
}

type seedAnswer struct {
	seed  *Seed
	view  []redisinfo.Node
	slots []redisinfo.SlotOwner // nil if the user may not ask
	err   *failure
}

// worstSeed is the error that says most about why no seed is usable: a seed
// that answers and refuses is more telling than one that is not there.
func worstSeed(failed []seedAnswer) *ClusterError {
	order := []string{kindNotCluster, kindAuth, kindTLS, kindLoading, kindProtocol, kindTimeout, kindRefused, kindNetwork}
	best := failed[0].err
	for _, f := range failed[1:] {
		if slices.Index(order, f.err.kind) < slices.Index(order, best.kind) {
			best = f.err
		}
	}
	return &ClusterError{best.text}
}

// askSeed asks one seed what it is and which nodes it knows.
func askSeed(ctx context.Context, req Request, addr string) seedAnswer {
	d := newDialer(req, min(req.Timeout, seedDialTimeout))
	cl := d.client(addr)
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, min(req.Timeout, seedDialTimeout+200*time.Millisecond))
	defer cancel()
	pipe := cl.Pipeline()
	info := pipe.Info(ctx, "server", "cluster")
	nodes := pipe.Do(ctx, "CLUSTER", "NODES")
	slots := pipe.Do(ctx, "CLUSTER", "SLOTS")
	_, err := pipe.Exec(ctx)
	a := seedAnswer{seed: &Seed{Addr: addr}}
	fail := func(f failure) seedAnswer {
		a.err, a.seed.Error = &f, f.text
		return a
	}
	if text := info.Val(); text != "" && redisinfo.ParseInfo(text).String("cluster_enabled") == "0" {
		return fail(notCluster(addr, redisinfo.ParseInfo(text)))
	}
	reply, nerr := text(nodes, err)
	if nerr != nil {
		return fail(d.explain(addr, nerr))
	}
	view, perr := redisinfo.ParseNodes(reply)
	if perr != nil {
		return fail(failure{kindProtocol, addr + ": " + perr.Error()})
	}
	for _, v := range view {
		if v.Has("myself") {
			a.seed.NodeID = v.ID
		}
	}
	a.view = view
	if reply, err := result(slots, err); err == nil {
		a.slots, _ = redisinfo.ParseSlots(reply) // every node is asked again later
	}
	return a
}
