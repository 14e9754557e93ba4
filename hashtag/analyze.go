package hashtag

import (
	"cmp"
	"iter"
	"slices"
)

const (
	trackedTags   = 4096 // tags counted at a time
	staticKeys    = 10   // a tag with fewer keys is not called static
	staticShare   = 0.01 // ... nor one with a smaller share of all keys
	hottestSlots  = 20
	hottestPerTag = 3 // example keys of a tag
)

// A Skew says how evenly keys are spread.
type Skew struct {
	Keys      int         // keys looked at
	SlotsUsed int         // slots with at least one of them
	Hottest   []SlotCount // the slots with most keys, at most 20, hottest first
	Nodes     []NodeCount // by keys, most first; empty without owners
	Static    []TagCount  // static tags, most keys first
}

// A SlotCount is the keys of one slot.
type SlotCount struct {
	Slot  int
	Keys  int
	Share float64 // of all keys, 0 to 1
	Node  string  // owner, empty when not known
}

// A NodeCount is the keys of one node.
type NodeCount struct {
	Node  string
	Slots int // slots it owns
	Keys  int
	Share float64 // of all keys, 0 to 1
}

// A TagCount is the keys of one static tag: a hash tag that is the same for so
// many keys (10 or more, and 1 % or more of all) that it pins a whole keyspace
// to one slot, and with it to one node, whatever the number of nodes.
type TagCount struct {
	Tag      string
	Slot     int
	Keys     int     // at least; exact while there are at most 4096 tags
	Share    float64 // of all keys, 0 to 1
	Node     string  // owner, empty when not known
	Examples []string
}

// Analyze says how evenly keys are spread over slots and nodes, and finds
// static tags. owner gives the node that owns a slot, or "" when nobody does;
// it may be nil. Analyze needs the same memory for any number of keys.
func Analyze(keys iter.Seq[string], owner func(slot int) string) Skew {
	var perSlot [Slots]int
	tags := tagCounter{count: make(map[string]*TagCount)}
	for key := range keys {
		perSlot[Slot(key)]++
		if tag, ok := Tag(key); ok {
			tags.add(tag, key)
		}
	}
	if owner == nil {
		owner = func(int) string { return "" }
	}
	s := AnalyzeSlots(&perSlot, owner)
	s.Static = tags.static(s.Keys, owner)
	return s
}

// AnalyzeSlots is [Analyze] for the numbers of keys of each slot, as CLUSTER
// COUNTKEYSINSLOT gives them. It cannot find static tags.
func AnalyzeSlots(perSlot *[Slots]int, owner func(slot int) string) Skew {
	if owner == nil {
		owner = func(int) string { return "" }
	}
	var s Skew
	for _, n := range perSlot {
		s.Keys += n
	}
	for slot, n := range perSlot {
		if n > 0 {
			s.Hottest = append(s.Hottest, SlotCount{slot, n, share(n, s.Keys), owner(slot)})
		}
	}
	s.SlotsUsed = len(s.Hottest)
	slices.SortStableFunc(s.Hottest, func(a, b SlotCount) int { return cmp.Compare(b.Keys, a.Keys) })
	s.Hottest = slices.Clip(s.Hottest[:min(len(s.Hottest), hottestSlots)])
	s.Nodes = perNode(perSlot, s.Keys, owner)
	return s
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

func perNode(perSlot *[Slots]int, keys int, owner func(int) string) []NodeCount {
	nodes := map[string]*NodeCount{}
	for slot, n := range perSlot {
		addr := owner(slot)
		if addr == "" && n == 0 {
			continue
		}
		c := nodes[addr]
		if c == nil {
			c = &NodeCount{Node: addr}
			nodes[addr] = c
		}
		c.Slots++
		c.Keys += n
	}
	if len(nodes) == 1 && nodes[""] != nil { // no owners known
		return nil
	}
	var list []NodeCount
	for _, c := range nodes {
		c.Share = share(c.Keys, keys)
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b NodeCount) int {
		return cmp.Or(cmp.Compare(b.Keys, a.Keys), cmp.Compare(a.Node, b.Node))
	})
	return list
}

// A tagCounter counts the most frequent tags in bounded memory (Misra and
// Gries, "Finding repeated elements", 1982): a new tag that finds no room
// takes one from every counter. A tag with 1 of 4096 keys or more survives.
type tagCounter struct {
	count map[string]*TagCount
	under int // what the counters were lowered by
}

func (t *tagCounter) add(tag, key string) {
	c := t.count[tag]
	switch {
	case c != nil:
		c.Keys++
	case len(t.count) < trackedTags:
		c = &TagCount{Tag: tag, Keys: 1}
		t.count[tag] = c
	default:
		t.under++
		for name, c := range t.count {
			if c.Keys--; c.Keys == 0 {
				delete(t.count, name)
			}
		}
		return
	}
	if len(c.Examples) < hottestPerTag {
		c.Examples = append(c.Examples, key)
	}
}

func (t *tagCounter) static(keys int, owner func(int) string) []TagCount {
	var list []TagCount
	for _, c := range t.count {
		if c.Keys < staticKeys || share(c.Keys+t.under, keys) < staticShare {
			continue
		}
		c.Slot, c.Share = Slot(c.Tag), share(c.Keys, keys)
		c.Node = owner(c.Slot)
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b TagCount) int {
		return cmp.Or(cmp.Compare(b.Keys, a.Keys), cmp.Compare(a.Tag, b.Tag))
	})
	return list
}
