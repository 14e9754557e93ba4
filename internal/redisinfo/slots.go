package redisinfo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SlotRange is a run of slots, both ends included.
type SlotRange struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// Count is the number of slots in the range.
func (r SlotRange) Count() int { return r.Last - r.First + 1 }

// String is "5" or "0-5460".
func (r SlotRange) String() string {
	if r.First == r.Last {
		return strconv.Itoa(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// FormatRanges writes ranges as "0-5460 10923 12000-12005", "none" if empty.
func FormatRanges(r []SlotRange) string {
	if len(r) == 0 {
		return "none"
	}
	parts := make([]string, len(r))
	for i := range r {
		parts[i] = r[i].String()
	}
	return strings.Join(parts, " ")
}

// Ranges are the runs in a set of slots, in order. Slots may come in any
// order and more than once; slots is not changed.
func Ranges(slots []int) []SlotRange {
	var out []SlotRange
	for _, s := range slices.Compact(slices.Sorted(slices.Values(slots))) {
		if n := len(out); n > 0 && out[n-1].Last == s-1 {
			out[n-1].Last = s
			continue
		}
		out = append(out, SlotRange{s, s})
	}
	return out
}

// Missing are the slots of a cluster that are in none of the ranges: what
// nobody serves. Ranges may overlap and come in any order.
func Missing(r []SlotRange) []SlotRange {
	sorted := slices.Clone(r)
	slices.SortFunc(sorted, func(a, b SlotRange) int { return a.First - b.First })
	var out []SlotRange
	next := 0
	for _, s := range sorted {
		if s.First > next {
			out = append(out, SlotRange{next, s.First - 1})
		}
		next = max(next, s.Last+1)
	}
	if next < slotCount {
		out = append(out, SlotRange{next, slotCount - 1})
	}
	return out
}
