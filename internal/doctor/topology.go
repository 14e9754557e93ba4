package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rcctl/rcctl/hashtag"
	"github.com/rcctl/rcctl/internal/redisinfo"
)

// each are the nodes in the order of their addresses.
func (c *Cluster) each() []*Node {
	out := make([]*Node, 0, len(c.Nodes))
	for _, a := range slices.Sorted(maps.Keys(c.Nodes)) {
		out = append(out, c.Nodes[a])
	}
	return out
}

// answering are the nodes that gave their view of the cluster.
func (c *Cluster) answering() []*Node {
	return slices.DeleteFunc(c.each(), func(n *Node) bool { return len(n.View) == 0 })
}

// byID is a node by its id, or nil.
func (c *Cluster) byID(id string) *Node {
	for _, n := range c.Nodes {
		if n.ID == id {
			return n
		}
	}
	return nil
}

// name is a node's address, or what is known of it.
func (c *Cluster) name(id string) string {
	if n := c.byID(id); n != nil {
		return n.Addr
	}
	return "node " + short(id)
}

func short(id string) string { return id[:min(8, len(id))] }

// opinion counts what the answering nodes say about one node.
type opinion struct {
	known, failed, suspected, master int
	node                             redisinfo.Node // as one of them has it
}

// opinions are the opinions of all answering nodes by node id.
func (c *Cluster) opinions() map[string]*opinion {
	m := map[string]*opinion{}
	for _, n := range c.answering() {
		for id, v := range n.View {
			o := m[id]
			if o == nil {
				o = &opinion{}
				m[id] = o
			}
			o.known++
			if o.node.ID == "" || v.Has("myself") {
				o.node = v
			}
			if v.Has("fail") {
				o.failed++
			}
			if v.Has("fail?") {
				o.suspected++
			}
			if v.Has("master") {
				o.master++
			}
		}
	}
	return m
}

// owners is the owner of each slot by node id, "" for nobody: what the owner
// itself says counts most, then the number of nodes that say so.
func (c *Cluster) owners() [hashtag.Slots]string {
	votes := make([]map[string]int, hashtag.Slots)
	for _, n := range c.answering() {
		for id, v := range n.View {
			weight := 1
			if v.Has("myself") {
				weight = len(c.Nodes) + 1
			}
			for _, r := range v.Slots {
				for s := max(r.First, 0); s <= min(r.Last, hashtag.Slots-1); s++ {
					if votes[s] == nil {
						votes[s] = map[string]int{}
					}
					votes[s][id] += weight
				}
			}
		}
	}
	var out [hashtag.Slots]string
	for s, v := range votes {
		best := 0
		for id, n := range v {
			if n > best || (n == best && id < out[s]) {
				out[s], best = id, n
			}
		}
	}
	return out
}

// slotsOf are the slots of each owner by node id; "" has those of nobody.
func (c *Cluster) slotsOf() map[string][]int {
	m := map[string][]int{}
	for s, id := range c.owners() {
		m[id] = append(m[id], s)
	}
	return m
}

// masters are the nodes that own slots, by address.
func (c *Cluster) masters() []*Node {
	var out []*Node
	for id := range c.slotsOf() {
		if n := c.byID(id); n != nil {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *Node) int { return strings.Compare(a.Addr, b.Addr) })
	return out
}

// replicasOf are the replicas of a master by the opinion of the majority.
func (c *Cluster) replicasOf(id string) []*Node {
	var out []*Node
	for rid, o := range c.opinions() {
		if o.node.MasterID != id || o.master*2 > o.known {
			continue
		}
		if n := c.byID(rid); n != nil {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *Node) int { return strings.Compare(a.Addr, b.Addr) })
	return out
}

// failed: more than half of the nodes that know it mark it as failed.
func (o *opinion) isFailed() bool { return o != nil && o.failed*2 > o.known }

// slotText is "0-5460 (5461 slots)".
func slotText(slots []int) string {
	word := "slots"
	if len(slots) == 1 {
		word = "slot"
	}
	text := redisinfo.FormatRanges(redisinfo.Ranges(slots))
	if len(text) > 120 {
		text = text[:strings.LastIndexByte(text[:120], ' ')] + " ..."
	}
	return fmt.Sprintf("%s (%d %s)", text, len(slots), word)
}

// delta is what happened on a node between its two samples, or why that is
// not known.
func (n *Node) delta() (redisinfo.Delta, string) {
	switch {
	case n.InfoReason != "":
		return redisinfo.Delta{}, n.InfoReason
	case n.LaterReason != "":
		return redisinfo.Delta{}, n.LaterReason
	case n.Seconds <= 0:
		return redisinfo.Delta{}, "there is only one sample"
	}
	return redisinfo.Between(n.Info, n.Later), ""
}

// perNode runs f for each node that was reached and sums the findings that
// are ok up into one. Nodes not reached are X01's subject; when none answers,
// the check is skipped.
func perNode(c *Cluster, f func(n *Node) Finding) []Finding {
	var out, good []Finding
	for _, n := range c.each() {
		if !n.Reach.OK {
			continue
		}
		x := f(n)
		if x.Scope == "" {
			x.Scope = "node"
		}
		if x.Subject == "" {
			x.Subject = n.Addr
		}
		if x.Outcome == OK {
			good = append(good, x)
		} else {
			out = append(out, x)
		}
	}
	if len(out)+len(good) == 0 {
		return []Finding{skip("cluster", nodesText(len(c.Nodes)), "no node of the cluster answers")}
	}
	return append(merge(out), summed(good)...)
}

// merge makes one finding of those that differ in their subject only.
func merge(fs []Finding) []Finding {
	var out []Finding
next:
	for _, f := range fs {
		for i := range out {
			o := out[i]
			subject := o.Subject
			o.Subject = f.Subject
			if o == f {
				out[i].Subject = subject + ", " + f.Subject
				continue next
			}
		}
		out = append(out, f)
	}
	return out
}

// summed is one finding for all nodes that are ok, with the distinct values.
func summed(good []Finding) []Finding {
	switch len(good) {
	case 0:
		return nil
	case 1:
		return good
	}
	values := map[string]int{}
	for _, g := range good {
		values[g.Current]++
	}
	keys := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b))
	})
	f := good[0]
	f.Subject = fmt.Sprintf("%d nodes", len(good))
	f.Current = strings.Join(keys[:min(3, len(keys))], "; ")
	if len(keys) > 3 {
		f.Current += "; ..."
	}
	return []Finding{f}
}
