package engine

import (
	"math"
	"sort"

	"github.com/rcctl/rcctl/hashtag"
)

const noNode = -1

// A topology is what the nodes agree on. It is never changed once it is
// published; Cluster.update makes the next one.
type topology struct {
	epoch uint64
	nodes []member
	slots [hashtag.Slots]int16 // index of the owner, or noNode
	// uncovered: a slot has no owner, or a failed one. minority: fewer than
	// half of the masters that serve slots can be reached.
	uncovered, minority bool
	// runs are the owned slots as ranges, in order.
	runs []slotRange
}

// A member is one node in the topology.
type member struct {
	id          string
	master      int // index of its master, noNode for masters
	configEpoch uint64
	pfail, fail bool
	// silent: the node is killed or frozen, though nobody says so yet.
	silent bool
}

func (t *topology) clone() *topology {
	c := *t
	c.nodes = append([]member(nil), t.nodes...)
	return &c
}

// judge derives runs, uncovered and minority.
func (t *topology) judge() {
	t.runs = nil
	for s := 0; s < hashtag.Slots; {
		o := t.slots[s]
		e := s
		for e+1 < hashtag.Slots && t.slots[e+1] == o {
			e++
		}
		if o != noNode {
			t.runs = append(t.runs, slotRange{s, e, int(o)})
		}
		s = e + 1
	}
	covered := 0
	reachable := map[int]bool{}
	for _, r := range t.runs {
		m := t.nodes[r.owner]
		if !m.fail {
			covered += r.last - r.first + 1
		}
		reachable[r.owner] = !m.fail && !m.pfail
	}
	n := 0
	for _, ok := range reachable {
		if ok {
			n++
		}
	}
	t.uncovered = covered < hashtag.Slots
	t.minority = len(reachable) > 0 && n < len(reachable)/2+1
}

// size is the number of masters that serve slots, alive those of them that
// are not silent.
func (t *topology) size() (size, alive int) {
	seen := make([]bool, len(t.nodes))
	for _, r := range t.runs {
		if !seen[r.owner] {
			seen[r.owner] = true
			size++
			if !t.nodes[r.owner].silent {
				alive++
			}
		}
	}
	return size, alive
}

// replicas are the indexes of a master's replicas.
func (t *topology) replicas(master int) []int {
	var out []int
	for i := range t.nodes {
		if t.nodes[i].master == master {
			out = append(out, i)
		}
	}
	return out
}

// shard is the index of the master of the node's shard: itself for a master.
func (t *topology) shard(i int) int {
	if m := t.nodes[i].master; m != noNode {
		return m
	}
	return i
}

// slotRange is a run of slots of one owner.
type slotRange struct {
	first, last int
	owner       int
}

func (t *topology) rangesOf(owner int) []slotRange {
	var out []slotRange
	for _, r := range t.runs {
		if r.owner == owner {
			out = append(out, r)
		}
	}
	return out
}

// owned is how many slots a node serves.
func (t *topology) owned(i int) int {
	n := 0
	for _, r := range t.runs {
		if r.owner == i {
			n += r.last - r.first + 1
		}
	}
	return n
}

func (t *topology) indexOf(id string) int {
	for i := range t.nodes {
		if t.nodes[i].id == id {
			return i
		}
	}
	return noNode
}

// down reports whether a node with this setting refuses to serve.
func (t *topology) down(fullCoverage bool) bool {
	return t.minority || fullCoverage && t.uncovered
}

// masters are the indexes of the masters that own slots, in slot order, then
// those without.
func (t *topology) masters() []int {
	first := map[int]int{}
	for _, r := range t.runs {
		if _, ok := first[r.owner]; !ok {
			first[r.owner] = r.first
		}
	}
	var out []int
	for i := range t.nodes {
		if t.nodes[i].master == noNode {
			out = append(out, i)
		}
	}
	key := func(i int) int {
		if s, ok := first[i]; ok {
			return s
		}
		return hashtag.Slots
	}
	sort.SliceStable(out, func(a, b int) bool { return key(out[a]) < key(out[b]) })
	return out
}

// spread gives the slots to the first masters evenly, in order, as redis-cli
// --cluster create does.
func (t *topology) spread(masters int) {
	first := 0
	for i := range masters {
		last := int(math.Round(float64(i+1)*hashtag.Slots/float64(masters) - 1))
		for ; first <= last; first++ {
			t.slots[first] = int16(i)
		}
	}
}
