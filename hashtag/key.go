package hashtag

import (
	"fmt"
	"strings"
)

// Key builds a key whose slot is the slot of tag: Key("user:1000", "profile")
// is "{user:1000}:profile". All keys built with one tag are in one slot,
// whatever the parts are.
//
// It returns an error when the tag is empty or when the tag or a part contains
// '{' or '}': an id with a brace in it, taken from outside, would move the key
// to another slot.
func Key(tag string, parts ...string) (string, error) {
	if tag == "" {
		return "", fmt.Errorf("hashtag: the tag is empty: an empty tag is not hashed, give the id that the keys share")
	}
	if err := noBraces("tag", tag); err != nil {
		return "", err
	}
	n := len(tag) + 2
	for i, p := range parts {
		if strings.ContainsAny(p, "{}") {
			return "", noBraces(fmt.Sprintf("part %d", i+1), p)
		}
		n += 1 + len(p)
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteByte('{')
	b.WriteString(tag)
	b.WriteByte('}')
	for _, p := range parts {
		b.WriteByte(':')
		b.WriteString(p)
	}
	return b.String(), nil
}

func noBraces(what, s string) error {
	if strings.ContainsAny(s, "{}") {
		return fmt.Errorf("hashtag: %s %q contains a brace, which would change the slot: escape it or use another id", what, s)
	}
	return nil
}

// A SlotGroup is the keys of one slot.
type SlotGroup struct {
	Slot  int
	Index []int // positions in the input, ascending
}

// Group sorts keys by their slot: one group for each slot, by ascending slot.
// Keys that are there twice are there twice in their group.
func Group(keys []string) []SlotGroup {
	if len(keys) == 0 {
		return nil
	}
	order := bySlot(keys)
	index := make([]int, len(keys))
	groups := make([]SlotGroup, 0, min(len(keys), 64))
	for start := 0; start < len(order); {
		slot := order[start].slot()
		end := start
		for end < len(order) && order[end].slot() == slot {
			index[end] = order[end].index()
			end++
		}
		groups = append(groups, SlotGroup{slot, index[start:end:end]})
		start = end
	}
	return groups
}

// A place is a slot and a position in the input; places sort by slot, then by
// position.
type place uint64

func (p place) slot() int  { return int(p >> 48) }
func (p place) index() int { return int(p & (1<<48 - 1)) }

// bySlot sorts keys by slot and keeps the order of those in one slot: two
// passes over the two halves of the slot number, 128 buckets each.
func bySlot(keys []string) []place {
	const half, mask = 7, 1<<7 - 1
	order, next := make([]place, len(keys)), make([]place, len(keys))
	var count [2][mask + 1]int
	for i, k := range keys {
		slot := Slot(k)
		order[i] = place(slot)<<48 | place(i)
		count[0][slot&mask]++
		count[1][slot>>half]++
	}
	for pass := range count {
		start := 0
		for b, n := range count[pass] {
			count[pass][b] = start
			start += n
		}
		for _, p := range order {
			b := p.slot() >> (pass * half) & mask
			next[count[pass][b]] = p
			count[pass][b]++
		}
		order, next = next, order
	}
	return order
}
