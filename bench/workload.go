package bench

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rcctl/rcctl/hashtag"
)

// Op is a kind of operation.
type Op string

// The operations of a mix.
const (
	OpGet Op = "get" // GET key
	OpSet Op = "set" // SET key value EX ttl
)

// Share is the weight of one operation in a mix, above 0.
type Share struct {
	Op     Op  `json:"op"`
	Weight int `json:"weight"`
}

// Mix is what a run sends, in shares of the sum of the weights.
type Mix []Share

// ParseMix reads "get=90,set=10".
func ParseMix(s string) (Mix, error) {
	var m Mix
	for part := range strings.SplitSeq(s, ",") {
		name, weight, ok := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.Atoi(weight)
		if !ok || err != nil {
			return nil, &OptionError{"Mix", s, fmt.Sprintf("in %q want operation=weight with a whole number, such as get=90,set=10", part)}
		}
		m = append(m, Share{Op(strings.ToLower(name)), n})
	}
	return m, m.validate()
}

// String is the form that ParseMix reads.
func (m Mix) String() string {
	parts := make([]string, len(m))
	for i, s := range m {
		parts[i] = fmt.Sprintf("%s=%d", s.Op, s.Weight)
	}
	return strings.Join(parts, ",")
}

func (m Mix) validate() error {
	seen := map[Op]bool{}
	for _, s := range m {
		switch {
		case s.Op != OpGet && s.Op != OpSet:
			return &OptionError{"Mix", m.String(), fmt.Sprintf("unknown operation %q: want get or set", s.Op)}
		case s.Weight <= 0 || s.Weight > 1_000_000:
			return &OptionError{"Mix", m.String(), fmt.Sprintf("weight of %s: want 1 to 1000000; leave an operation out instead of 0", s.Op)}
		case seen[s.Op]:
			return &OptionError{"Mix", m.String(), fmt.Sprintf("%s is there twice", s.Op)}
		}
		seen[s.Op] = true
	}
	return nil
}

// A workload turns the number of an operation into the operation. The same
// number always gives the same one, whichever worker sends it.
type workload struct {
	seed   uint64
	keys   int
	prefix string
	names  []string // of the first keys; the others are built when needed
	slots  []uint16 // of the same keys
	pick   func(u uint64, i int64) int
	ops    []Op
	upTo   []uint64 // running sum of the weights
	values []byte
	size   int
}

// maxNames bounds the memory spent on names made ahead (about 60 bytes each).
const maxNames = 1 << 20

func newWorkload(o Options) *workload {
	w := &workload{seed: o.Seed, keys: o.Keys, prefix: o.Prefix + ":" + o.runID() + ":", size: o.ValueSize}
	w.names = make([]string, min(o.Keys, maxNames))
	w.slots = make([]uint16, len(w.names))
	for i := range w.names {
		w.names[i] = w.prefix + strconv.Itoa(i)
		w.slots[i] = uint16(hashtag.Slot(w.names[i]))
	}
	w.pick = o.Dist.picker(o.Keys)
	var sum uint64
	for _, s := range o.Mix {
		sum += uint64(s.Weight)
		w.ops = append(w.ops, s.Op)
		w.upTo = append(w.upTo, sum)
	}
	w.values = make([]byte, o.ValueSize+4096)
	for i := range w.values {
		w.values[i] = byte(mix64(o.Seed + uint64(i)))
	}
	return w
}

// An operation is one command to send.
type operation struct {
	op    Op
	key   string
	slot  int
	value []byte // of a set
}

func (w *workload) at(i int64) operation {
	r := mix64(w.seed ^ mix64(uint64(i)))
	o := operation{op: w.ops[0]}
	if len(w.ops) > 1 {
		x := (r >> 32) % w.upTo[len(w.upTo)-1]
		for k, end := range w.upTo {
			if x < end {
				o.op = w.ops[k]
				break
			}
		}
	}
	u := mix64(r)
	o.key, o.slot = w.key(w.pick(u, i))
	if o.op == OpSet {
		o.value = w.value(u)
	}
	return o
}

func (w *workload) key(id int) (string, int) {
	if id < len(w.names) {
		return w.names[id], int(w.slots[id])
	}
	s := w.prefix + strconv.Itoa(id)
	return s, hashtag.Slot(s)
}

// value is a slice of shared random bytes; nobody writes to it.
func (w *workload) value(u uint64) []byte {
	off := int(u % 4096)
	return w.values[off : off+w.size]
}

// mix64 is the finalizer of SplitMix64: neighbouring numbers in, unrelated
// numbers out.
func mix64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit maps a random number to [0, 1).
func unit(u uint64) float64 { return float64(u>>11) / (1 << 53) }
