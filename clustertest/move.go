package clustertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
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
	for _, slot := range slots {
		if from := c.NodeForSlot(slot); from == to && to != nil {
			continue
		}
		m, err := c.BeginMove(ctx, slot, to)
		if err != nil {
			return err
		}
		if err := m.assign(ctx); err != nil {
			return m.wrap("move", err)
		}
	}
	return c.awaitOwner(ctx, to, slots...)
}

// BeginMove opens a slot for its move (IMPORTING, MIGRATING) and leaves it
// half moved: keys that are gone answer ASK, multi-key commands TRYAGAIN. Both
// masters must be alive. End it with [Move.Finish] or [Move.Abort].
func (c *Cluster) BeginMove(ctx context.Context, slot int, to *Node) (*Move, error) {
	if slot < 0 || slot >= slotCount {
		return nil, fmt.Errorf("clustertest: move slot %d: use 0 to %d", slot, slotCount-1)
	}
	m := &Move{cluster: c, slot: slot, to: to, from: c.NodeForSlot(slot)}
	switch {
	case to == nil || to.cluster != c:
		return nil, fmt.Errorf("clustertest: move slot %d: the target is no node of this cluster", slot)
	case m.from == nil:
		return nil, m.wrap("move", errors.New("no live node knows an owner"))
	case m.from == to:
		return nil, m.wrap("move", errors.New("it is there already"))
	case !m.from.answers() || !to.answers():
		return nil, m.wrap("move", errors.New("both masters must be alive and not paused"))
	}
	err := to.setSlot(ctx, slot, "importing", m.from.id)
	if err == nil {
		err = m.from.setSlot(ctx, slot, "migrating", to.id)
		if err != nil {
			err = errors.Join(err, to.setSlot(ctx, slot, "stable"))
		}
	}
	if err != nil {
		return nil, m.wrap("move", err)
	}
	return m, nil
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
	if err := m.assign(ctx); err != nil {
		return m.wrap("finish moving", err)
	}
	m.ended = true
	return m.cluster.awaitOwner(ctx, m.to, m.slot)
}

// assign moves the remaining keys and tells the masters the new owner: first
// the new one, so that the slot is served all the time.
func (m *Move) assign(ctx context.Context) error {
	if err := m.drain(ctx, m.from, m.to); err != nil {
		return err
	}
	v := m.cluster.bestView(ctx)
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
	for _, n := range m.cluster.liveNodes() {
		if line, ok := v.find(n.id); ok && line.Has("master") && n != m.from && n != m.to {
			others = append(others, n)
		}
	}
	return each(others, func(n *Node) error { return n.setSlot(ctx, m.slot, "node", m.to.id) })
}

// Abort moves the keys back and closes the slot on both nodes.
func (m *Move) Abort(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return m.wrap("abort moving", errEnded)
	}
	if err := m.giveBack(ctx); err != nil {
		return m.wrap("abort moving", err)
	}
	m.ended = true
	return nil
}

// giveBack carries the keys back while the slot stays open, so that each key
// is found on one side or the other all the time, then closes it on the old
// owner, which sends nobody over any more, then on the other.
func (m *Move) giveBack(ctx context.Context) error {
	if err := m.drain(ctx, m.to, m.from); err != nil {
		return err
	}
	if err := m.from.setSlot(ctx, m.slot, "stable"); err != nil {
		return err
	}
	for {
		if err := m.drain(ctx, m.to, m.from); err != nil {
			return err
		}
		if err := m.to.setSlot(ctx, m.slot, "stable"); err != nil {
			return err
		}
		// A client that was sent over before may have written meanwhile.
		left, err := m.to.do(ctx, "cluster", "countkeysinslot", m.slot).Int()
		if err != nil || left == 0 {
			return err
		}
		if err := m.to.setSlot(ctx, m.slot, "importing", m.from.id); err != nil {
			return err
		}
	}
}

// awaitOwner waits until all live nodes name the owner of the slots.
func (c *Cluster) awaitOwner(ctx context.Context, owner *Node, slots ...int) error {
	err := poll(ctx, func(ctx context.Context) error {
		for _, v := range c.views(ctx, (*Node).view) {
			if v.err != nil {
				return v.err
			}
			for _, slot := range slots {
				if got := v.owner(slot); got != owner.id {
					return fmt.Errorf("%s: slot %d belongs to %q, not to %s", v.node, slot, got, owner)
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("clustertest: wait for the new owner: %w", err)
	}
	return nil
}
