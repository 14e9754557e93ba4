package pool

import (
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// EventKind says what happened.
type EventKind string

// What a Cluster tells its subscribers.
const (
	NodeAdded     EventKind = "node added"     // a node joined the topology
	NodeGone      EventKind = "node gone"      // a node left it
	RoleChanged   EventKind = "role changed"   // a replica became a master, or the reverse
	SlotsMoved    EventKind = "slots moved"    // slots have another master
	CoverageLost  EventKind = "coverage lost"  // slots have no master
	CoverageBack  EventKind = "coverage back"  // all slots have one again
	BreakerOpen   EventKind = "breaker open"   // a node does not answer; commands to it are refused
	BreakerClosed EventKind = "breaker closed" // it answers again
)

// An Event is something that happened to a Cluster.
type Event struct {
	Time time.Time
	Kind EventKind
	Addr string // the node, empty for coverage
	// Slots are how many slots moved or have no master.
	Slots int
	// Role is the new role of RoleChanged and NodeAdded, "master" or "replica".
	Role string
	// Err is why a breaker opened.
	Err error
}

// eventBuffer is how many events a slow subscriber can be behind.
const eventBuffer = 128

type hub struct {
	mu     sync.Mutex
	subs   map[chan Event]struct{}
	closed bool
	logged map[string]time.Time
}

// Subscribe returns a channel of events and the function that ends it. The
// channel is closed then, and with the Cluster. A subscriber that is more than
// 128 events behind misses the ones that follow; nobody waits for it.
func (c *Cluster) Subscribe() (<-chan Event, func()) {
	ch := make(chan Event, eventBuffer)
	h := &c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(ch)
		return ch, func() {}
	}
	if h.subs == nil {
		h.subs = make(map[chan Event]struct{})
	}
	h.subs[ch] = struct{}{}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, ok := h.subs[ch]; ok {
			delete(h.subs, ch)
			close(ch)
		}
	}
}

// publish tells the subscribers, and the operator in the log.
func (c *core) publish(e Event) {
	e.Time = time.Now()
	h := &c.hub
	h.mu.Lock()
	for ch := range h.subs {
		select {
		case ch <- e:
		default:
		}
	}
	say := h.mayLog(string(e.Kind)+e.Addr, e.Time)
	h.mu.Unlock()
	if !say {
		return
	}
	level := slog.LevelInfo
	if e.Kind == BreakerOpen || e.Kind == CoverageLost {
		level = slog.LevelWarn
	}
	args := []any{"pool", c.cfg.Name}
	if e.Addr != "" {
		args = append(args, "node", e.Addr)
	}
	if e.Slots != 0 {
		args = append(args, "slots", e.Slots)
	}
	if e.Role != "" {
		args = append(args, "role", e.Role)
	}
	if e.Err != nil {
		args = append(args, "err", e.Err)
	}
	c.cfg.Logger.Log(c.life, level, "redis cluster: "+string(e.Kind), args...)
}

// mayLog lets one line per subject and ten seconds through.
func (h *hub) mayLog(subject string, now time.Time) bool {
	if now.Sub(h.logged[subject]) < 10*time.Second {
		return false
	}
	if h.logged == nil || len(h.logged) > 1000 {
		h.logged = make(map[string]time.Time)
	}
	h.logged[subject] = now
	return true
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for ch := range h.subs {
		close(ch)
	}
	h.subs = nil
}

// topologyChanged compares two answers of CLUSTER SLOTS.
func (c *core) topologyChanged(old, now []redis.ClusterSlot) {
	oldRoles, newRoles := rolesOf(old), rolesOf(now)
	oldOwner, newOwner := ownersOf(old), ownersOf(now)
	for addr, role := range newRoles {
		switch was, known := oldRoles[addr]; {
		case !known:
			c.publish(Event{Kind: NodeAdded, Addr: addr, Role: role})
		case was != role:
			c.publish(Event{Kind: RoleChanged, Addr: addr, Role: role})
		}
	}
	for addr := range oldRoles {
		if _, ok := newRoles[addr]; !ok {
			c.publish(Event{Kind: NodeGone, Addr: addr})
		}
	}
	moved := make(map[string]int)
	lost, had := 0, 0
	for slot := range newOwner {
		if newOwner[slot] == "" {
			lost++
		}
		if oldOwner[slot] == "" {
			had++
		}
		if newOwner[slot] != oldOwner[slot] && newOwner[slot] != "" && oldOwner[slot] != "" {
			moved[newOwner[slot]]++
		}
	}
	for addr, n := range moved {
		c.publish(Event{Kind: SlotsMoved, Addr: addr, Slots: n})
	}
	switch {
	case lost > had:
		c.publish(Event{Kind: CoverageLost, Slots: lost})
	case lost == 0 && had > 0:
		c.publish(Event{Kind: CoverageBack})
	}
}

func rolesOf(slots []redis.ClusterSlot) map[string]string {
	roles := make(map[string]string)
	for _, s := range slots {
		for i, n := range s.Nodes {
			switch {
			case i == 0:
				roles[n.Addr] = "master"
			case roles[n.Addr] == "":
				roles[n.Addr] = "replica"
			}
		}
	}
	return roles
}

// ownersOf are the masters' addresses by slot.
func ownersOf(slots []redis.ClusterSlot) []string {
	owner := make([]string, slotCount)
	for _, s := range slots {
		if len(s.Nodes) > 0 {
			for i := s.Start; i <= s.End; i++ {
				owner[i] = s.Nodes[0].Addr
			}
		}
	}
	return owner
}
