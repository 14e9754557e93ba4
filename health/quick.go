package health

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rcctl/rcctl/internal/redisinfo"
	"github.com/redis/go-redis/v9"
)

// The bounds of QuickCheck: for learning the masters, and then for all of them
// at once to answer.
const (
	quickTopology = 2 * time.Second
	quickNode     = time.Second
)

// QuickCheck asks every master, through the client's own connections, to
// answer PING and to say who serves the slots. It returns nil when all of them
// answer, every slot has an owner in every answer, and no master calls the
// cluster down. Otherwise it returns all that is wrong, joined: a [*NodeError]
// for each master that does not answer, a [*SlotError] for slots that nobody
// serves (find them with errors.As), or an error that matches [ErrNotCluster].
//
// It returns within 2 s for the topology plus 1 s for the nodes, or when ctx
// ends, also when the client was made without ContextTimeoutEnabled. What it
// started then ends by the client's own dial and read timeouts.
//
// It may be called concurrently. Each call costs one CLUSTER SLOTS, and one
// pipeline of three commands per master: use a [Checker] to be asked often.
func QuickCheck(ctx context.Context, c *redis.ClusterClient) error {
	ctx, cancel := context.WithTimeout(ctx, quickTopology+quickNode)
	defer cancel()
	q := &quickRun{started: make(chan struct{})}
	started := q.started
	done := make(chan error, 1)
	go func() { done <- c.ForEachMaster(ctx, q.node) }()

	topology := time.NewTimer(quickTopology)
	defer topology.Stop()
	for {
		select {
		case <-started:
			started = nil
			topology.Stop()
		case <-topology.C:
			return fmt.Errorf("health: no answer about the topology within %s: %w", quickTopology, context.DeadlineExceeded)
		case <-ctx.Done():
			if started != nil {
				return fmt.Errorf("health: no answer about the topology: %w", context.Cause(ctx))
			}
			// The nodes have the same context: they end now.
			if err := <-done; err != nil {
				return topologyError(err)
			}
			return q.judge()
		case err := <-done:
			if err != nil {
				return topologyError(err)
			}
			return q.judge()
		}
	}
}

// topologyError explains why ForEachMaster could not learn the masters.
func topologyError(err error) error {
	switch {
	case errors.Is(err, redis.Nil):
		return fmt.Errorf("health: topology: the cluster announces no endpoint for a node (cluster-preferred-endpoint-type is unknown-endpoint, or a hostname is missing), which this client cannot use: %w", err)
	case notCluster(err):
		return fmt.Errorf("health: topology: %w: use redis.NewClient for a single server: %w", ErrNotCluster, err)
	}
	return fmt.Errorf("health: topology: %w", err)
}

// quickRun collects what the masters say.
type quickRun struct {
	once    sync.Once
	started chan struct{}

	mu      sync.Mutex
	answers []quickAnswer
}

type quickAnswer struct {
	addr   string
	err    error
	owners []redisinfo.SlotOwner
	down   bool // cluster_state:fail
}

// node asks one master. It returns by the deadline, whatever the client does.
func (q *quickRun) node(ctx context.Context, c *redis.Client) error {
	q.once.Do(func() { close(q.started) })
	ctx, cancel := context.WithTimeout(ctx, quickNode)
	defer cancel()
	got := make(chan quickAnswer, 1)
	go func() { got <- askMaster(ctx, c) }()
	var a quickAnswer
	select {
	case a = <-got:
	case <-ctx.Done():
		a = quickAnswer{addr: c.Options().Addr, err: fmt.Errorf("no answer in time: %w", context.Cause(ctx))}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.answers = append(q.answers, a)
	return nil
}

func askMaster(ctx context.Context, c *redis.Client) quickAnswer {
	a := quickAnswer{addr: c.Options().Addr}
	pipe := c.Pipeline()
	ping := pipe.Ping(ctx)
	slots := pipe.Do(ctx, "cluster", "slots")
	info := pipe.ClusterInfo(ctx)
	if cmds, err := pipe.Exec(ctx); handshakeFailed(cmds, err) {
		a.err = err
		return a
	}
	if a.err = ping.Err(); a.err != nil {
		return a
	}
	reply, err := slots.Result()
	if err == nil {
		a.owners, err = redisinfo.ParseSlots(reply)
	}
	if err != nil {
		a.err = fmt.Errorf("CLUSTER SLOTS: %w", err)
		return a
	}
	// A user without the right to ask has no say about it, that is all.
	text, _ := info.Result()
	a.down = redisinfo.ParseClusterInfo(text)["cluster_state"] == "fail"
	return a
}

// judge says what is wrong with the answers, nil if nothing is.
func (q *quickRun) judge() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	slices.SortFunc(q.answers, func(a, b quickAnswer) int { return strings.Compare(a.addr, b.addr) })
	var errs []error
	var holes []SlotRange
	downAddr, answered := "", 0
	for _, a := range q.answers {
		if a.err != nil {
			errs = append(errs, &NodeError{Addr: a.addr, Slots: q.slotsOf(a.addr), Err: a.err})
			continue
		}
		answered++
		var served []SlotRange
		for _, o := range a.owners {
			served = append(served, o.Range)
		}
		holes = append(holes, redisinfo.Missing(served)...)
		if a.down && downAddr == "" {
			downAddr = a.addr
		}
	}
	if len(q.answers) == 0 {
		holes = redisinfo.Missing(nil) // ForEachMaster had nobody to ask
	}
	if len(holes) > 0 || downAddr != "" {
		errs = append(errs, &SlotError{Unserved: union(holes), Addr: downAddr})
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("health: %w", joined(errs))
}

// slotsOf are the slots of a node by the first answer that knows it.
func (q *quickRun) slotsOf(addr string) (out []SlotRange) {
	for _, a := range q.answers {
		host, _, _ := net.SplitHostPort(a.addr)
		for _, o := range a.owners {
			if sameAddr(o.Master.Addr(host), addr) {
				out = append(out, o.Range)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// sameAddr compares an announced address with the one the client uses: go-redis
// replaces an announced loopback host by the host of the seed.
func sameAddr(announced, used string) bool {
	if announced == used {
		return true
	}
	host, port, err := net.SplitHostPort(announced)
	_, usedPort, err2 := net.SplitHostPort(used)
	ip := net.ParseIP(host)
	return err == nil && err2 == nil && port == usedPort && ip != nil && ip.IsLoopback()
}

// union joins overlapping and touching ranges.
func union(r []SlotRange) []SlotRange {
	return redisinfo.Missing(redisinfo.Missing(r))
}
