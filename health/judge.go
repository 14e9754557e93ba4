package health

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// round is everything a report is made of: what was asked and answered, and
// what the process knows about itself.
type round struct {
	time    time.Time
	took    time.Duration
	seeds   []string
	answers map[string]*answer

	poolTimeouts uint64   // since the round before
	breakers     []string // addresses

	maxLag           time.Duration
	maxLagBytes      int64
	replicasOptional bool
	tls              bool // probes speak TLS
}

// judge makes the report of a round whose answers come to t. It does no I/O
// and reads no clock.
func judge(r round, t *topology) *Report {
	rep := &Report{
		Schema: "rcctl.health.v1", Time: r.time, Took: r.took,
		Known:   len(t.views) > 0,
		Reasons: []Reason{}, Shards: []Shard{},
		Slots: Slots{
			Unserved: []SlotRange{}, Unassigned: []SlotRange{}, Refused: []SlotRange{},
			Migrating: []OpenSlot{}, Importing: []OpenSlot{},
		},
	}
	if rep.Known {
		rep.Slots = t.coverage()
		rep.Shards, rep.Strays = t.shards()
	}
	rep.Strays = append(rep.Strays, strangers(r, t)...)
	j := &judgement{round: r, topology: t, report: rep}
	j.strangers()
	if rep.Known {
		j.masters()
		j.slots()
		j.divergence()
		j.replicas()
		j.endpoints()
	}
	j.process()
	slices.SortStableFunc(rep.Reasons, func(a, b Reason) int {
		return cmp.Compare(b.Verdict.level(), a.Verdict.level())
	})
	rep.Verdict = OK
	if len(rep.Reasons) > 0 {
		rep.Verdict = rep.Reasons[0].Verdict
	}
	if !rep.Known {
		rep.Verdict = Down
	}
	return rep
}

// The states of a slot.
const (
	served = iota
	unassigned
	unanswered
	refused
)

// state is the state of a slot.
func (t *topology) state(slot int) int {
	switch i := t.owner[slot]; {
	case i == nobody:
		return unassigned
	case !t.claimed[slot] || t.members[i].view() == nil:
		return unanswered
	case t.members[i].ans.state == "fail":
		return refused
	}
	return served
}

// coverage counts the slots that are served.
func (t *topology) coverage() Slots {
	out := Slots{Migrating: []OpenSlot{}, Importing: []OpenSlot{}}
	_, out.Served = slotsWhere(func(s int) bool { return t.state(s) == served })
	out.Unserved, _ = slotsWhere(func(s int) bool { return t.state(s) != served })
	out.Unassigned, _ = slotsWhere(func(s int) bool { return t.state(s) == unassigned })
	out.Refused, _ = slotsWhere(func(s int) bool { return t.state(s) == refused })
	for _, m := range t.members {
		if m.view() == nil {
			continue
		}
		out.Migrating = append(out.Migrating, t.open(m, m.line.Migrating)...)
		out.Importing = append(out.Importing, t.open(m, m.line.Importing)...)
	}
	return out
}

func (t *topology) open(m *member, slots map[int]string) (out []OpenSlot) {
	for _, s := range slices.Sorted(maps.Keys(slots)) {
		other := slots[s]
		if o := t.byID[other]; o != nil {
			other = o.addr
		}
		out = append(out, OpenSlot{Slot: s, Node: m.addr, Other: other})
	}
	return out
}

// shards groups the members: masters with slots and their replicas. What fits
// nowhere is a stray.
func (t *topology) shards() (shards []Shard, strays []Node) {
	shards = []Shard{}
	for _, m := range t.members {
		if len(m.slots) == 0 {
			if owner := t.byID[m.master()]; owner == nil || len(owner.slots) == 0 {
				strays = append(strays, t.node(m))
			}
			continue
		}
		s := Shard{Slots: m.slots, Master: t.node(m), Replicas: []Node{}}
		for _, r := range t.replicasOf(m) {
			s.Replicas = append(s.Replicas, t.node(r))
			s.CanFailOver = s.CanFailOver || t.candidate(r)
		}
		shards = append(shards, s)
	}
	slices.SortFunc(shards, func(a, b Shard) int { return cmp.Compare(a.Slots[0].First, b.Slots[0].First) })
	return shards, strays
}

func (t *topology) replicasOf(m *member) (out []*member) {
	for _, r := range t.members {
		if r.master() == m.id && len(r.slots) == 0 {
			out = append(out, r)
		}
	}
	return out
}

// candidate reports whether a replica could take over from its master now.
func (t *topology) candidate(r *member) bool {
	if r.view() == nil || r.ans.loading() || r.line.Has("nofailover") || r.failedBy > len(t.views)/2 {
		return false
	}
	m := t.byID[r.master()]
	return m == nil || m.view() == nil || linkUp(r)
}

// linkUp says whether the link to the master is up; when the replica may not
// say so (ACL) it is believed to be.
func linkUp(r *member) bool {
	s := r.ans.info.String("master_link_status")
	return s == "up" || s == "" && r.ans.denied != nil
}

// node is a member for the report.
func (t *topology) node(m *member) Node {
	n := Node{Addr: m.addr, ID: m.id, Failed: m.failedBy, ConfigEpoch: m.line.ConfigEpoch, LagBytes: -1, Lag: -1}
	if m.ans == nil {
		n.Error = "not asked, or another node answers at this address"
		return n
	}
	n.RTT = m.ans.rtt
	n.Loading = m.ans.loading()
	if m.ans.err != nil {
		n.Error = m.ans.err.Error()
		return n
	}
	n.Answered = true
	n.ClusterDown = m.ans.state == "fail"
	if m.ans.denied != nil {
		n.Error = m.ans.denied.Error()
	}
	if name, v := m.ans.info.Version(); name != "" {
		n.Version = name + " " + v
	}
	if m.master() != "" {
		n.LinkUp = linkUp(m)
		n.LagBytes, n.Lag = t.lag(m)
	}
	return n
}

// lag is what a replica is behind its master, -1 where it is not known.
func (t *topology) lag(r *member) (bytes int64, ago time.Duration) {
	bytes, ago = -1, -1
	m := t.byID[r.master()]
	if m == nil || m.view() == nil {
		return bytes, ago
	}
	sent, okS := m.ans.info.Int("master_repl_offset")
	got, okG := r.ans.info.Int("slave_repl_offset")
	if okS && okG {
		bytes = max(0, sent-got)
	}
	for _, l := range m.ans.info.Replicas() {
		if l.Port == r.line.Port && (l.Host == r.line.Host || l.Host == r.line.Hostname) {
			ago = l.Lag
		}
	}
	return bytes, ago
}

// strangers are the seeds that are no member.
func strangers(r round, t *topology) (out []Node) {
	for _, seed := range r.seeds {
		a := r.answers[seed]
		if a == nil || t.has(a) {
			continue
		}
		n := Node{Addr: seed, RTT: a.rtt, Loading: a.loading(), LagBytes: -1, Lag: -1}
		if a.err != nil {
			n.Error = a.err.Error()
		}
		out = append(out, n)
	}
	return out
}

// has reports whether an answer is a member's, at whatever address.
func (t *topology) has(a *answer) bool {
	if a.err == nil && a.view != nil {
		return true
	}
	for _, m := range t.members {
		if m.addr == a.addr {
			return true
		}
	}
	return false
}
