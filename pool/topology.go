package pool

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const slotCount = 16384

// topology is what the nodes last said about who serves what.
type topology struct {
	rounds rounds

	mu      sync.Mutex
	slots   []redis.ClusterSlot
	failed  map[string]error // why a node's CLUSTER SLOTS failed, by address
	changed func(old, now []redis.ClusterSlot)
}

func (t *topology) set(from string, slots []redis.ClusterSlot, err error) {
	t.mu.Lock()
	if err != nil {
		if t.failed == nil {
			t.failed = make(map[string]error)
		}
		t.failed[from] = err
		t.mu.Unlock()
		return
	}
	t.rounds.answered()
	delete(t.failed, from)
	old := t.slots
	t.slots = slots
	t.mu.Unlock()
	if old != nil && t.changed != nil && !sameSlots(old, slots) {
		t.changed(old, slots)
	}
}

// sameSlots compares without regard to the order of the entries.
func sameSlots(a, b []redis.ClusterSlot) bool {
	if len(a) != len(b) {
		return false
	}
	key := func(s redis.ClusterSlot) string {
		k := strconv.Itoa(s.Start) + "-" + strconv.Itoa(s.End)
		for i, n := range s.Nodes {
			if i < 2 {
				k += " " + n.Addr
			}
		}
		return k + " " + strconv.Itoa(len(s.Nodes))
	}
	seen := make(map[string]bool, len(a))
	for _, s := range a {
		seen[key(s)] = true
	}
	for _, s := range b {
		if !seen[key(s)] {
			return false
		}
	}
	return true
}

// has reports whether a node is in the topology.
func (t *topology) has(addr string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.slots {
		for _, n := range s.Nodes {
			if n.Addr == addr {
				return true
			}
		}
	}
	return false
}

// failures are the errors of the nodes whose last CLUSTER SLOTS failed.
func (t *topology) failures() map[string]error {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := make(map[string]error, len(t.failed))
	for a, err := range t.failed {
		m[a] = err
	}
	return m
}

// A shard is a master as the topology names it.
type shard struct {
	id, addr string
	slots    slotRanges
}

// shards are the masters in the order of their first slot.
func (t *topology) shards() []shard {
	t.mu.Lock()
	defer t.mu.Unlock()
	byAddr := make(map[string]int)
	var out []shard
	for _, s := range t.slots {
		if len(s.Nodes) == 0 {
			continue
		}
		n := s.Nodes[0]
		i, ok := byAddr[n.Addr]
		if !ok {
			i = len(out)
			byAddr[n.Addr] = i
			out = append(out, shard{id: n.ID, addr: n.Addr})
		}
		out[i].slots = append(out[i].slots, [2]int{s.Start, s.End})
	}
	slices.SortFunc(out, func(a, b shard) int { return a.slots[0][0] - b.slots[0][0] })
	return out
}

// unserved are the slots without a master.
func (t *topology) unserved() slotRanges {
	t.mu.Lock()
	defer t.mu.Unlock()
	var served [slotCount]bool
	for _, s := range t.slots {
		if len(s.Nodes) == 0 {
			continue
		}
		for i := max(s.Start, 0); i <= min(s.End, slotCount-1); i++ {
			served[i] = true
		}
	}
	var out slotRanges
	for i := range served {
		switch {
		case served[i]:
		case len(out) > 0 && out[len(out)-1][1] == i-1:
			out[len(out)-1][1] = i
		default:
			out = append(out, [2]int{i, i})
		}
	}
	return out
}

// hostFor is the host of the node on a port, if there is just one.
func (t *topology) hostFor(port string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := ""
	for _, s := range t.slots {
		for _, n := range s.Nodes {
			host, p, err := net.SplitHostPort(n.Addr)
			switch {
			case err != nil || p != port || host == found:
			case found != "":
				return ""
			default:
				found = host
			}
		}
	}
	return found
}

// slotRanges are runs of slots, both ends included.
type slotRanges [][2]int

func (r slotRanges) String() string {
	s := make([]string, len(r))
	for i, x := range r {
		if s[i] = strconv.Itoa(x[0]); x[1] != x[0] {
			s[i] += "-" + strconv.Itoa(x[1])
		}
	}
	return strings.Join(s, " ")
}

func (r slotRanges) count() (n int) {
	for _, x := range r {
		n += x[1] - x[0] + 1
	}
	return n
}

// topologyHook takes over CLUSTER SLOTS on one node: go-redis fails with
// redis.Nil on an endpoint that is NULL, which every command would then report
// as a missing key. Endpoints that are NULL, empty or "?" get the host of the
// node that was asked, as the protocol wants it.
//
// Each call is bounded by itself, and calls come at a bounded rate, whatever
// go-redis starts.
type topologyHook struct {
	addr    string
	topo    *topology
	timeout time.Duration
}

func (h *topologyHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *topologyHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *topologyHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		slotsCmd, ok := cmd.(*redis.ClusterSlotsCmd)
		if !ok {
			return next(ctx, cmd)
		}
		if err := h.topo.rounds.admit(ctx, h.addr); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, h.timeout)
		defer cancel()
		raw := redis.NewSliceCmd(ctx, "cluster", "slots")
		err := next(ctx, raw)
		var slots []redis.ClusterSlot
		if err == nil {
			// A node that is known from such a redirect alone has no host to
			// lend to the others.
			slots, err = parseClusterSlots(raw.Val(), completeHost(h.addr, h.topo.hostFor))
		}
		h.topo.set(h.addr, slots, err)
		slotsCmd.SetVal(slots)
		return err
	}
}

// parseClusterSlots reads a CLUSTER SLOTS reply that the node at from gave.
func parseClusterSlots(reply []any, from string) ([]redis.ClusterSlot, error) {
	fromHost, fromPort, err := net.SplitHostPort(from)
	if err != nil {
		return nil, err
	}
	out := make([]redis.ClusterSlot, 0, len(reply))
	for _, e := range reply {
		entry, ok := e.([]any)
		if !ok || len(entry) < 2 {
			return nil, fmt.Errorf("CLUSTER SLOTS: want [start, end, nodes...], got %.100v", e)
		}
		start, ok1 := entry[0].(int64)
		end, ok2 := entry[1].(int64)
		if !ok1 || !ok2 || start < 0 || end >= slotCount || start > end {
			return nil, fmt.Errorf("CLUSTER SLOTS: bad slot range %.40v-%.40v", entry[0], entry[1])
		}
		s := redis.ClusterSlot{Start: int(start), End: int(end)}
		for _, n := range entry[2:] {
			node, err := parseClusterNode(n, fromHost, fromPort)
			if err != nil {
				return nil, err
			}
			s.Nodes = append(s.Nodes, node)
		}
		out = append(out, s)
	}
	return out, nil
}

// parseClusterNode completes what a node leaves out about itself and others:
// an endpoint that is unknown or, from elsewhere, a loopback address is on the
// host that was asked, and port 0 (a server with TLS only) is the port asked.
func parseClusterNode(v any, fromHost, fromPort string) (redis.ClusterNode, error) {
	fields, ok := v.([]any)
	if !ok || len(fields) < 2 {
		return redis.ClusterNode{}, fmt.Errorf("CLUSTER SLOTS: want [host, port, id], got %.100v", v)
	}
	endpoint, _ := fields[0].(string) // NULL is nil
	if endpoint == "" || endpoint == "?" || (isLoopback(endpoint) && !isLoopback(fromHost) && fromHost != "localhost") {
		endpoint = fromHost
	}
	number, ok := fields[1].(int64)
	if !ok || number < 0 || number > 65535 {
		return redis.ClusterNode{}, fmt.Errorf("CLUSTER SLOTS: bad port %.40v of %q", fields[1], endpoint)
	}
	port := strconv.FormatInt(number, 10)
	if number == 0 {
		port = fromPort
	}
	n := redis.ClusterNode{Addr: net.JoinHostPort(endpoint, port)}
	if len(fields) > 2 {
		n.ID, _ = fields[2].(string)
	}
	return n, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
