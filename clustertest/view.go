package clustertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/internal/redisinfo"
)

// A view is what one node says about the cluster.
type view struct {
	node  *Node
	lines []redisinfo.Node
	// Asked for by readiness only.
	state    string   // cluster_state of CLUSTER INFO
	linkUp   bool     // master_link_status of INFO replication
	replicas []string // ids of the replicas in CLUSTER SLOTS
	err      error
}

// view asks the node for its view.
func (n *Node) view(ctx context.Context) view {
	text, err := n.text(ctx, "cluster", "nodes")
	if err != nil {
		return view{node: n, err: err}
	}
	lines, err := redisinfo.ParseNodes(text)
	return view{node: n, lines: lines, err: err}
}

// fullView also asks for what readiness depends on.
func (n *Node) fullView(ctx context.Context) view {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var nodes, info, replication, slots *redis.Cmd
	_, err := n.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
		nodes = p.Do(ctx, "cluster", "nodes")
		info = p.Do(ctx, "cluster", "info")
		replication = p.Do(ctx, "info", "replication")
		slots = p.Do(ctx, "cluster", "slots")
		return nil
	})
	v := view{node: n}
	if err != nil {
		v.err = fmt.Errorf("%s: %w", n.Addr(), err)
		return v
	}
	text, _ := nodes.Text()
	v.lines, v.err = redisinfo.ParseNodes(text)
	text, _ = info.Text()
	v.state = field(text, "cluster_state")
	text, _ = replication.Text()
	v.linkUp = field(text, "master_link_status") == "up"
	v.replicas = replicaIDs(slots.Val())
	return v
}

// field is the value of a "name:value" line.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// replicaIDs are the ids of the replicas in a reply of CLUSTER SLOTS.
func replicaIDs(reply any) []string {
	var ids []string
	entries, _ := reply.([]any)
	for _, entry := range entries {
		parts, _ := entry.([]any)
		for i := 3; i < len(parts); i++ { // first, last, master, replicas
			if node, ok := parts[i].([]any); ok && len(node) > 2 {
				id, _ := node[2].(string)
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func (v view) find(id string) (redisinfo.Node, bool) {
	i := slices.IndexFunc(v.lines, func(l redisinfo.Node) bool { return l.ID == id })
	if i < 0 {
		return redisinfo.Node{}, false
	}
	return v.lines[i], true
}

// slots are the slots of a node.
func (v view) slots(id string) []redisinfo.SlotRange {
	line, _ := v.find(id)
	return line.Slots
}

// owner is the id of the master of a slot, or "".
func (v view) owner(slot int) string {
	for _, line := range v.lines {
		for _, r := range line.Slots {
			if r.First <= slot && slot <= r.Last {
				return line.ID
			}
		}
	}
	return ""
}

// views asks all live nodes for their views, except those whose view is old on
// purpose.
func (c *Cluster) views(ctx context.Context, ask func(*Node, context.Context) view) []view {
	live := slices.DeleteFunc(c.liveNodes(), (*Node).isFrozen)
	views := make([]view, len(live))
	index := make(map[*Node]int, len(live))
	for i, n := range live {
		index[n] = i
	}
	_ = each(live, func(n *Node) error { // errors are in the views
		views[index[n]] = ask(n, ctx)
		return nil
	})
	return views
}

// bestView is the newest view: the one with the highest config epoch. A node
// that came back after a failover takes a moment to learn of it.
func (c *Cluster) bestView(ctx context.Context) view {
	var best view
	var bestEpoch uint64
	for _, v := range c.views(ctx, (*Node).view) {
		var epoch uint64
		for _, line := range v.lines {
			epoch = max(epoch, line.ConfigEpoch)
		}
		if v.err == nil && (best.node == nil || epoch > bestEpoch) {
			best, bestEpoch = v, epoch
		}
	}
	return best
}

// WaitReady waits until all live nodes agree on the topology, every slot is
// served by a live master, and every live replica's link is up. Nodes that are
// killed, stopped or paused do not count. It blocks until ctx ends, or 30 s
// when ctx has no deadline; the error says what is missing.
func (c *Cluster) WaitReady(ctx context.Context) error {
	err := poll(ctx, func(ctx context.Context) error {
		return c.unready(c.views(ctx, (*Node).fullView))
	})
	if err != nil {
		return fmt.Errorf("clustertest: wait until ready: %w", err)
	}
	return nil
}

// poll calls check until it returns nil, more and more seldom. When ctx ends
// first the error says what the last check missed.
func poll(ctx context.Context, check func(context.Context) error) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, readyTimeout)
		defer cancel()
	}
	var missing error
	for pause := time.Millisecond; ; pause = min(pause*3/2, 50*time.Millisecond) {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if missing == nil || ctx.Err() == nil { // else it may only say that ctx ended
			missing = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), missing)
		case <-time.After(pause):
		}
	}
}

// unready says why a cluster with these views is not ready, or nil.
func (c *Cluster) unready(views []view) error {
	if len(views) == 0 {
		return errors.New("no node is alive")
	}
	live := map[string]bool{}
	for _, n := range c.liveNodes() {
		live[n.id] = true
	}
	first := views[0].summary(live)
	for _, v := range views {
		switch {
		case v.err != nil:
			return v.err
		case v.state != "ok":
			return fmt.Errorf("%s: cluster_state is %q", v.node, v.state)
		case v.summary(live) != first:
			return fmt.Errorf("%s and %s disagree:\n%s\n%s", views[0].node, v.node, first, v.summary(live))
		}
		if err := v.unready(live); err != nil {
			return err
		}
	}
	return nil
}

// unready says what is missing in the view of one node, or nil.
func (v view) unready(live map[string]bool) error {
	served := 0
	epochs := map[uint64]string{}
	for _, line := range v.lines {
		if other := epochs[line.ConfigEpoch]; len(line.Slots) > 0 && other != "" {
			return fmt.Errorf("%s: %s and %s have the config epoch %d both", v.node, other, line.Addr(), line.ConfigEpoch)
		} else if len(line.Slots) > 0 {
			epochs[line.ConfigEpoch] = line.Addr()
		}
		for _, r := range line.Slots {
			if !live[line.ID] {
				return fmt.Errorf("%s: slots %d-%d belong to %s, which does not answer", v.node, r.First, r.Last, line.Addr())
			}
			served += r.Count()
		}
		if !live[line.ID] {
			continue
		}
		for _, flag := range []string{"fail", "fail?", "handshake", "noaddr"} {
			if line.Has(flag) {
				return fmt.Errorf("%s: calls %s %q", v.node, line.Addr(), flag)
			}
		}
		if line.MasterID == "" {
			continue
		}
		if line.ID == v.node.id && !v.linkUp {
			return fmt.Errorf("%s: the link to its master is down", v.node)
		}
		if live[line.MasterID] && len(v.slots(line.MasterID)) > 0 && !slices.Contains(v.replicas, line.ID) {
			return fmt.Errorf("%s: CLUSTER SLOTS does not list the replica %s", v.node, line.Addr())
		}
	}
	if served != slotCount {
		return fmt.Errorf("%s: %d of %d slots are served", v.node, served, slotCount)
	}
	return nil
}

// summary writes down the roles, slots and config epochs of the live nodes, so
// that views can be compared. Epochs count: as long as they differ, or two
// masters have the same, a takeover may not win over what others believe.
func (v view) summary(live map[string]bool) string {
	var lines []string
	for _, line := range v.lines {
		if live[line.ID] {
			text := fmt.Sprintf("%s %s replica-of=%q", line.ID, line.Addr(), line.MasterID)
			if len(line.Slots) > 0 {
				text += fmt.Sprintf(" epoch=%d slots=%v", line.ConfigEpoch, line.Slots)
			}
			lines = append(lines, text)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
