package health

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/rcctl/rcctl/internal/redisinfo"
)

const slotCount = 16384

// nobody is the owner of a slot that has none.
const nobody = -1

// A member is one node of the topology with what is known about it.
type member struct {
	id, addr string
	line     redisinfo.Node // its own line if it answered, else another node's
	ans      *answer        // its answer at its announced address; nil if there is none
	failedBy int            // views of others that call it failed
	slots    []SlotRange    // what it owns
}

// view is what the member itself sees, nil if it gave none.
func (m *member) view() []redisinfo.Node {
	if m.ans == nil || m.ans.err != nil {
		return nil
	}
	return m.ans.view
}

// master is the id of the member's master, empty for masters.
func (m *member) master() string { return m.line.MasterID }

// topology is what all answers together say.
type topology struct {
	members []*member // by address
	byID    map[string]*member
	views   []*answer      // one per node that told about the topology, by address
	index   map[string]int // where a member with this id is in members
	owner   []int          // by slot: index in members, or nobody
	claimed []bool         // by slot: the owner says so itself
}

// buildTopology joins the answers: the members that any view names, where they
// listen, and who owns which slot.
func buildTopology(answers map[string]*answer) *topology {
	t := findMembers(answers)
	for _, a := range t.views {
		for _, n := range a.view {
			if m := t.byID[n.ID]; m != nil && !n.Has("myself") && (n.Has("fail") || n.Has("fail?")) {
				m.failedBy++
			}
		}
	}
	t.assignSlots()
	return t
}

// findMembers is the topology without what is said about the members.
func findMembers(answers map[string]*answer) *topology {
	t := &topology{byID: map[string]*member{}, index: map[string]int{}}
	seen := map[string]bool{}
	for _, addr := range slices.Sorted(maps.Keys(answers)) {
		a := answers[addr]
		if a.err != nil || a.view == nil || seen[a.self().ID] {
			continue
		}
		seen[a.self().ID] = true
		t.views = append(t.views, a)
	}
	for _, a := range t.views {
		t.addMembers(a)
	}
	for _, m := range t.byID {
		if a := answers[m.addr]; a != nil && (a.view == nil || a.self().ID == m.id) {
			m.ans = a
		}
		if v := m.view(); v != nil {
			m.line = *m.ans.self()
		}
		t.members = append(t.members, m)
	}
	slices.SortFunc(t.members, func(a, b *member) int {
		return cmp.Or(compareAddr(a.addr, b.addr), cmp.Compare(a.id, b.id))
	})
	for i, m := range t.members {
		t.index[m.id] = i
	}
	return t
}

// addMembers takes the nodes that one view names, and their addresses: where
// CLUSTER SLOTS sends clients, else the address in CLUSTER NODES.
func (t *topology) addMembers(a *answer) {
	for _, n := range a.view {
		if n.Has("noaddr") || n.Has("handshake") || t.byID[n.ID] != nil {
			continue
		}
		t.byID[n.ID] = &member{id: n.ID, line: n, addr: dialAddr(n.Host, n.Port, a.addr)}
	}
	for _, o := range a.owners {
		for _, e := range append([]redisinfo.Endpoint{o.Master}, o.Replicas...) {
			if m := t.byID[e.ID]; m != nil {
				m.addr = dialAddr(e.Host, e.Port, a.addr)
			}
		}
	}
}

// dialAddr is where a client goes for an announced address that it got from
// the node at asked: to the same host where none is announced or where a
// loopback address comes from a remote node, to the same port where 0 is
// announced (a port for TLS alone).
func dialAddr(host string, port int, asked string) string {
	askedHost, askedPort, _ := net.SplitHostPort(asked)
	if host == "" || isLoopback(host) && !isLoopback(askedHost) {
		host = askedHost
	}
	if port == 0 {
		return net.JoinHostPort(host, askedPort)
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// assignSlots finds the owner of every slot. A node's own word counts most, of
// two that claim a slot the one with the higher epoch; where nobody claims it,
// what most views say.
func (t *topology) assignSlots() {
	t.owner, t.claimed = make([]int, slotCount), make([]bool, slotCount)
	for s := range t.owner {
		t.owner[s] = nobody
	}
	for _, a := range t.views {
		t.claims(a.self())
	}
	votes := map[int]map[int]int{} // slot, member, votes
	for _, a := range t.views {
		for _, n := range a.view {
			i, known := t.index[n.ID]
			// A node that told about itself does not own what it does not claim.
			if !known || n.Has("myself") || t.members[i].view() != nil {
				continue
			}
			for _, r := range n.Slots {
				for s := r.First; s <= r.Last; s++ {
					if !t.claimed[s] {
						if votes[s] == nil {
							votes[s] = map[int]int{}
						}
						votes[s][i]++
					}
				}
			}
		}
	}
	for s, v := range votes {
		for i, n := range v {
			if best := t.owner[s]; best == nobody || n > v[best] || n == v[best] && i < best {
				t.owner[s] = i
			}
		}
	}
	for s, i := range t.owner {
		if i == nobody {
			continue
		}
		m := t.members[i]
		if n := len(m.slots); n > 0 && m.slots[n-1].Last == s-1 {
			m.slots[n-1].Last = s
		} else {
			m.slots = append(m.slots, SlotRange{First: s, Last: s})
		}
	}
}

// claims takes what a node says about itself.
func (t *topology) claims(self *redisinfo.Node) {
	me, known := t.index[self.ID]
	if !known || !self.Has("master") {
		return
	}
	for _, r := range self.Slots {
		for s := r.First; s <= r.Last; s++ {
			if other := t.owner[s]; other == nobody || t.members[other].line.ConfigEpoch < self.ConfigEpoch {
				t.owner[s], t.claimed[s] = me, true
			}
		}
	}
}

// slotsWhere are the slots that fit, as ranges, and their number.
func slotsWhere(fits func(slot int) bool) (out []SlotRange, n int) {
	out = []SlotRange{}
	for s := range slotCount {
		if !fits(s) {
			continue
		}
		n++
		if k := len(out); k > 0 && out[k-1].Last == s-1 {
			out[k-1].Last = s
		} else {
			out = append(out, SlotRange{First: s, Last: s})
		}
	}
	return out, n
}

// compareAddr orders addresses by host, then by port as a number.
func compareAddr(a, b string) int {
	hostA, portA, _ := net.SplitHostPort(a)
	hostB, portB, _ := net.SplitHostPort(b)
	nA, _ := strconv.Atoi(portA)
	nB, _ := strconv.Atoi(portB)
	return cmp.Or(cmp.Compare(hostA, hostB), cmp.Compare(nA, nB), cmp.Compare(a, b))
}
