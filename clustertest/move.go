package clustertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

const (
	// migrateBatch is how many keys one MIGRATE carries.
	migrateBatch = 100
	// migrateTimeout is how long a MIGRATE may stand still, in ms.
	migrateTimeout = 4000
)

// MoveSlots moves slots with their keys to another master, one after the
// other, as redis-cli --cluster reshard does, and returns when the live nodes
// agree on the new owner. Slots that to owns already are passed over. A master
// that gives away its last slot becomes a replica of the new owner, as Redis
// has it. When it fails the slot at hand stays half moved and the error names
// it. It blocks until ctx ends; without a deadline each step is bounded.
func (c *Cluster) MoveSlots(ctx context.Context, to *Node, slots ...int) error {
	if to == nil || to.cluster != c {
		return errors.New("clustertest: move slots: the target is no node of this cluster")
	}
	v := c.bestView(ctx)
	moved := map[int]bool{}
	var masters []*Node
	for _, slot := range slots {
		m := &Move{cluster: c, slot: slot, to: to, from: c.byID[v.owner(slot)]}
		if moved[slot] || m.from == to {
			continue
		}
		if len(moved) == 0 {
			if err := m.check(); err != nil {
				return err
			}
			if err := c.awaitEpochs(ctx, to); err != nil {
				return m.wrap("move", err)
			}
			masters = c.liveMasters(v)
		}
		if err := m.open(ctx); err != nil {
			return err
		}
		if err := m.assign(ctx, masters); err != nil {
			return m.wrap("move", err)
		}
		moved[slot] = true
	}
	return c.awaitOwner(ctx, to, slots...)
}

// BeginMove opens a slot for its move (IMPORTING, MIGRATING) and leaves it
// half moved: keys that are gone answer ASK, multi-key commands TRYAGAIN. Both
// masters must be alive. End it with [Move.Finish] or [Move.Abort].
func (c *Cluster) BeginMove(ctx context.Context, slot int, to *Node) (*Move, error) {
	m := &Move{cluster: c, slot: slot, to: to, from: c.NodeForSlot(slot)}
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// check says why the move cannot begin, or nil.
func (m *Move) check() error {
	switch {
	case m.slot < 0 || m.slot >= slotCount:
		return fmt.Errorf("clustertest: move slot %d: use 0 to %d", m.slot, slotCount-1)
	case m.to == nil || m.to.cluster != m.cluster:
		return fmt.Errorf("clustertest: move slot %d: the target is no node of this cluster", m.slot)
	case m.from == nil:
		return m.wrap("move", errors.New("no live node knows an owner"))
	case m.from == m.to:
		return m.wrap("move", errors.New("it is there already"))
	case !m.from.answers() || !m.to.answers():
		return m.wrap("move", errors.New("both masters must be alive and not paused"))
	}
	return nil
}

// open makes the slot IMPORTING and MIGRATING.
func (m *Move) open(ctx context.Context) error {
	if err := m.check(); err != nil {
		return err
	}
	err := m.to.setSlot(ctx, m.slot, "importing", m.from.id)
	if err == nil {
		err = m.from.setSlot(ctx, m.slot, "migrating", m.to.id)
		if err != nil {
			err = errors.Join(err, m.to.setSlot(ctx, m.slot, "stable"))
		}
	}
	if err != nil {
		return m.wrap("move", err)
	}
	return nil
}

// setSlot sends CLUSTER SETSLOT.
func (n *Node) setSlot(ctx context.Context, slot int, args ...any) error {
	return n.do(ctx, append([]any{"cluster", "setslot", slot}, args...)...).Err()
}

// A Move is a slot on its way from one master to another. Its methods may be
// called concurrently; they run one after the other.
type Move struct {
	cluster  *Cluster
	slot     int
	from, to *Node

	mu    sync.Mutex // guards what follows
	ended bool
}

// Slot is the slot that moves.
func (m *Move) Slot() int { return m.slot }

// From is the master that owned the slot when the move began.
func (m *Move) From() *Node { return m.from }

// To is the master that the slot moves to.
func (m *Move) To() *Node { return m.to }

func (m *Move) wrap(op string, err error) error {
	return fmt.Errorf("clustertest: %s slot %d from %v to %v: %w", op, m.slot, m.from, m.to, err)
}

// errEnded is the answer of a move that was finished or aborted.
var errEnded = errors.New("it was finished or aborted before")

// Step moves up to n keys and returns how many it moved. Zero without an error
// means that no key is left.
func (m *Move) Step(ctx context.Context, n int) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return 0, m.wrap("step", errEnded)
	}
	if n <= 0 {
		return 0, m.wrap("step", fmt.Errorf("%d keys: use 1 or more", n))
	}
	moved := 0
	for moved < n {
		k, err := m.carry(ctx, m.from, m.to, min(n-moved, migrateBatch))
		moved += k
		if err != nil {
			return moved, m.wrap("step", err)
		}
		if k == 0 {
			break
		}
	}
	return moved, nil
}

// carry moves up to n keys with one MIGRATE. Zero means that none is left.
func (m *Move) carry(ctx context.Context, from, to *Node, n int) (int, error) {
	for {
		keys, err := from.do(ctx, "cluster", "getkeysinslot", m.slot, n).StringSlice()
		if err != nil || len(keys) == 0 {
			return 0, err
		}
		host, port, err := net.SplitHostPort(to.Addr())
		if err != nil {
			return 0, err
		}
		args := []any{"migrate", host, port, "", 0, migrateTimeout}
		if password := m.cluster.options.Config["requirepass"]; password != "" {
			args = append(args, "auth", password)
		}
		args = append(args, "keys")
		for _, key := range keys {
			args = append(args, key)
		}
		reply, err := from.text(ctx, args...)
		if err != nil {
			return 0, err
		}
		if reply != "NOKEY" { // else all of them expired meanwhile
			return len(keys), nil
		}
	}
}

// drain carries all keys.
func (m *Move) drain(ctx context.Context, from, to *Node) error {
	for {
		if n, err := m.carry(ctx, from, to, migrateBatch); err != nil || n == 0 {
			return err
		}
	}
}

// Finish moves the remaining keys, assigns the slot to its new owner and
// returns when the live nodes agree.
func (m *Move) Finish(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return m.wrap("finish moving", errEnded)
	}
	if err := m.end(ctx); err != nil {
		return m.wrap("finish moving", err)
	}
	m.ended = true
	return m.cluster.awaitOwner(ctx, m.to, m.slot)
}

// end assigns the slot to its new owner.
func (m *Move) end(ctx context.Context) error {
	if err := m.cluster.awaitEpochs(ctx, m.to); err != nil {
		return err
	}
	return m.assign(ctx, m.cluster.liveMasters(m.cluster.bestView(ctx)))
}

// assign moves the remaining keys and tells the masters the new owner: first
// the new one, so that the slot is served all the time.
func (m *Move) assign(ctx context.Context, masters []*Node) error {
	if err := m.drain(ctx, m.from, m.to); err != nil {
		return err
	}
	if err := m.to.setSlot(ctx, m.slot, "node", m.to.id); err != nil {
		return err
	}
	for {
		err := m.from.setSlot(ctx, m.slot, "node", m.to.id)
		if err == nil {
			break
		}
		// A command that was under way may have left a key behind.
		if !strings.Contains(err.Error(), "hold keys") {
			return err
		}
		if err := m.drain(ctx, m.from, m.to); err != nil {
			return err
		}
	}
	var others []*Node
	for _, n := range masters {
		if n != m.from && n != m.to {
			others = append(others, n)
		}
	}
	return each(others, func(n *Node) error { return n.setSlot(ctx, m.slot, "node", m.to.id) })
}

// Abort brings the slot back: its keys are on the old owner afterwards and it
// is closed on both nodes. Redis has no way back for a slot that is half moved
// on which clients find each key all the time, so it goes to its new owner
// for a moment and then moves back. The last slot of a master cannot be
// brought back like that, since the master would become a replica.
func (m *Move) Abort(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return m.wrap("abort moving", errEnded)
	}
	count := 0
	for _, r := range m.cluster.bestView(ctx).slots(m.from.id) {
		count += r.Count()
	}
	if count == 1 {
		return m.wrap("abort moving", errors.New("it is the last slot there: finish the move"))
	}
	if err := m.end(ctx); err != nil {
		return m.wrap("abort moving", err)
	}
	m.ended = true
	if err := m.cluster.awaitOwner(ctx, m.to, m.slot); err != nil {
		return err
	}
	return m.cluster.MoveSlots(ctx, m.from, m.slot)
}

// liveMasters are the live nodes that a view calls masters, with or without
// slots.
func (c *Cluster) liveMasters(v view) []*Node {
	var masters []*Node
	for _, n := range c.liveNodes() {
		if line, ok := v.find(n.id); ok && line.Has("master") {
			masters = append(masters, n)
		}
	}
	return masters
}

// awaitEpochs waits until the node knows the config epochs of all live masters.
// A new owner takes an epoch above all it knows; if it does not know the last
// owner's, that one's news can win over its own and take the slot back.
func (c *Cluster) awaitEpochs(ctx context.Context, of *Node) error {
	return poll(ctx, func(ctx context.Context) error {
		var known view
		views := c.views(ctx, (*Node).view)
		for _, v := range views {
			if v.err != nil {
				return v.err
			}
			if v.node == of {
				known = v
			}
		}
		if known.node == nil {
			return nil // its view is old on purpose
		}
		for _, v := range views {
			line, _ := known.find(v.node.id)
			if self, _ := v.find(v.node.id); len(self.Slots) > 0 && line.ConfigEpoch < self.ConfigEpoch {
				return fmt.Errorf("%s does not know the config epoch of %s", of, v.node)
			}
		}
		return nil
	})
}

// awaitOwner waits until all live nodes name the owner of the slots and know
// its config epoch, so that no older news can change their minds. A node that
// still names another after a second is told again, as redis-cli --cluster fix
// does: after ten slots in a row a new owner was once seen to name the old one
// of the last slot until the wait ended, and why is not known.
func (c *Cluster) awaitOwner(ctx context.Context, owner *Node, slots ...int) error {
	patience := time.Now().Add(time.Second)
	err := poll(ctx, func(ctx context.Context) error {
		views := c.views(ctx, (*Node).view)
		var epoch uint64
		for _, v := range views {
			if line, ok := v.find(owner.id); ok && v.node == owner {
				epoch = line.ConfigEpoch
			}
		}
		for _, v := range views {
			if v.err != nil {
				return v.err
			}
			for _, slot := range slots {
				if got := v.owner(slot); got != owner.id {
					if time.Now().After(patience) {
						_ = v.node.setSlot(ctx, slot, "node", owner.id) // the next look tells
					}
					return fmt.Errorf("%s: slot %d belongs to %q, not to %s", v.node, slot, got, owner)
				}
			}
			if line, _ := v.find(owner.id); line.ConfigEpoch < epoch {
				return fmt.Errorf("%s does not know the config epoch of %s", v.node, owner)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("clustertest: wait for the new owner: %w", err)
	}
	return nil
}
