package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// How many nodes are asked at once.
const fanOut = 32

// serverInfo is what HELLO says about a server.
type serverInfo struct {
	version string
	mode    string // "cluster", "standalone", "sentinel"
}

// knowsIdentity reports whether the server takes CLIENT SETINFO (7.2).
func (s serverInfo) knowsIdentity() bool {
	major, rest, _ := strings.Cut(s.version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	maj, err1 := strconv.Atoi(major)
	mnr, err2 := strconv.Atoi(minor)
	return err1 == nil && err2 == nil && (maj > 7 || maj == 7 && mnr >= 2)
}

// probeSeeds asks the seeds who they are, all at once, and returns when one
// cluster node has answered. When none does, the error names every seed.
func probeSeeds(ctx context.Context, cfg Config, opt *redis.ClusterOptions) (serverInfo, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		g     errgroup.Group
		mu    sync.Mutex
		errs  = make([]error, len(opt.Addrs))
		found = make(chan serverInfo, 1)
	)
	g.SetLimit(fanOut)
	go func() {
		for i, addr := range opt.Addrs {
			g.Go(func() error {
				info, err := probe(ctx, addr, cfg, opt)
				if err == nil {
					select {
					case found <- info:
					default:
					}
					return nil
				}
				mu.Lock()
				errs[i] = nodeError(addr, err, cfg)
				mu.Unlock()
				return nil
			})
		}
		_ = g.Wait()
		close(found)
	}()
	if info, ok := <-found; ok {
		return info, nil
	}
	mu.Lock()
	defer mu.Unlock()
	return serverInfo{}, errorList(errs).orNil()
}

// probe opens one connection to a seed and asks who it is.
func probe(ctx context.Context, addr string, cfg Config, opt *redis.ClusterOptions) (serverInfo, error) {
	c := redis.NewClient(nodeOptions(addr, opt))
	defer c.Close()
	hello, err := c.Do(ctx, "hello").Result()
	if err != nil {
		return serverInfo{}, err
	}
	info := parseHello(hello)
	if info.mode != "cluster" && info.mode != "" {
		ne := &NodeError{Addr: addr, Err: fmt.Errorf("%w: this is a single server", ErrNotCluster),
			Fix: "use redis.NewClient for it, not a cluster client, or give the address of a cluster node"}
		if info.mode == "sentinel" {
			ne.Err = fmt.Errorf("%w: this is a Sentinel", ErrNotCluster)
			ne.Fix = "use redis.NewFailoverClient, or give the address of a cluster node"
		}
		return info, ne
	}
	return info, nil
}

// nodeOptions are the options for a client of one node beside the cluster
// client: one connection, no retries.
func nodeOptions(addr string, opt *redis.ClusterOptions) *redis.Options {
	return &redis.Options{
		Addr:                       addr,
		Dialer:                     opt.Dialer,
		TLSConfig:                  opt.TLSConfig,
		ClientName:                 opt.ClientName,
		Protocol:                   opt.Protocol,
		Username:                   opt.Username,
		Password:                   opt.Password,
		CredentialsProvider:        opt.CredentialsProvider,
		CredentialsProviderContext: opt.CredentialsProviderContext,
		MaxRetries:                 -1,
		DialerRetries:              1,
		DialTimeout:                opt.DialTimeout,
		ReadTimeout:                opt.ReadTimeout,
		WriteTimeout:               opt.WriteTimeout,
		ContextTimeoutEnabled:      true,
		PoolSize:                   1,
		PipelinePoolSize:           -1,
		DisableIdentity:            true,
		MaintNotificationsConfig:   opt.MaintNotificationsConfig,
	}
}

// parseHello reads HELLO's reply, a map in RESP3 and a flat list in RESP2.
func parseHello(reply any) (info serverInfo) {
	field := func(k, v any) {
		switch k {
		case "version":
			info.version, _ = v.(string)
		case "mode":
			info.mode, _ = v.(string)
		}
	}
	switch r := reply.(type) {
	case map[any]any:
		for k, v := range r {
			field(k, v)
		}
	case []any:
		for i := 0; i+1 < len(r); i += 2 {
			field(r[i], r[i+1])
		}
	}
	return info
}

// check verifies the whole cluster: topology, coverage, and an answer from
// every master over a connection that has authenticated.
func (c *core) check(ctx context.Context) error {
	var mu sync.Mutex
	failed := make(map[string]error)
	err := c.client.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		if err := checkMaster(ctx, node, c.cfg); err != nil {
			mu.Lock()
			failed[node.Options().Addr] = err
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return c.noTopology(err)
	}
	problems := c.masterProblems(failed)
	if u := c.topo.unserved(); len(u) > 0 {
		problems = append(problems, fmt.Errorf("%w: %d of %d slots are served by nobody: %s: bring their master back or promote its replica (CLUSTER FAILOVER TAKEOVER), or assign them; AllowDegraded starts without them",
			ErrUnserved, u.count(), slotCount, u))
	}
	if len(problems) == 0 {
		return nil
	}
	if c.cfg.AllowDegraded && ctx.Err() == nil {
		c.cfg.Logger.Warn("redis cluster is degraded", "pool", c.cfg.Name, "err", problems.orNil())
		return nil
	}
	return problems.orNil()
}

// checkMaster sends PING and asks whether the node itself thinks that the
// cluster serves.
func checkMaster(ctx context.Context, node *redis.Client, cfg Config) error {
	ctx, cancel := context.WithTimeout(ctx, cfg.DialTimeout+cfg.WriteTimeout+cfg.ReadTimeout)
	defer cancel()
	if err := node.Ping(ctx).Err(); err != nil {
		return err
	}
	info, err := node.ClusterInfo(ctx).Result()
	switch {
	case err != nil && isReply(err):
		return nil // not allowed to ask; commands will tell
	case err != nil:
		return err
	case strings.Contains(info, "cluster_state:fail"):
		return fmt.Errorf("%w: the node answers CLUSTERDOWN (cluster_state:fail)", ErrUnserved)
	}
	return nil
}

func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// masterProblems names the masters that failed with their slots, in order.
func (c *core) masterProblems(failed map[string]error) (problems errorList) {
	for _, s := range c.topo.shards() {
		err, ok := failed[s.addr]
		if !ok {
			continue
		}
		delete(failed, s.addr)
		ne := nodeError(s.addr, err, c.cfg)
		ne.ID, ne.Slots = s.id, s.slots.String()
		if ne.Fix == "" && errors.Is(err, ErrUnserved) {
			ne.Fix = "see CLUSTER INFO and CLUSTER NODES there: a master is missing or slots are unassigned"
		}
		problems = append(problems, ne)
	}
	for addr, err := range failed { // go-redis dialed another address than announced
		problems = append(problems, nodeError(addr, err, c.cfg))
	}
	return problems
}

// noTopology explains why no node told the topology.
func (c *core) noTopology(err error) error {
	var problems errorList
	failures := c.topo.failures()
	addrs := make([]string, 0, len(failures))
	for a := range failures {
		addrs = append(addrs, a)
	}
	slices.Sort(addrs)
	for _, a := range addrs {
		problems = append(problems, nodeError(a, failures[a], c.cfg))
	}
	if len(problems) == 0 {
		return err
	}
	return problems.orNil()
}

// bounded runs fn and returns its error, or the context's soon after the
// context has ended: a Dialer or credentials provider that does not watch its
// context must not hang New.
func bounded(ctx context.Context, fn func() error) error {
	done := make(chan error, 1)
	go func() { done <- fn() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	grace := time.NewTimer(50 * time.Millisecond)
	defer grace.Stop()
	select {
	case err := <-done:
		return err
	case <-grace.C:
		return ctx.Err()
	}
}
