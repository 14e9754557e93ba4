package engine

import (
	"strconv"
	"strings"
)

func cmdClusterSetSlot(x *call) {
	n, c := x.n, x.n.c
	if n.isReplica() {
		x.err("ERR Please use SETSLOT only with masters.")
		return
	}
	slot, ok := parseSlot(x.args[2])
	if !ok {
		x.err("ERR Invalid or out of range slot")
		return
	}
	t := c.topo
	owner := int(t.slots[slot])
	action := strings.ToLower(x.args[3])
	if action == "stable" && len(x.args) == 4 {
		delete(n.migrating, slot)
		delete(n.importing, slot)
		x.ok()
		return
	}
	if len(x.args) != 5 || action != "migrating" && action != "importing" && action != "node" {
		x.err("ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP")
		return
	}
	if action == "migrating" && owner != n.index {
		x.err("ERR I'm not the owner of hash slot " + strconv.Itoa(slot))
		return
	}
	if action == "importing" && owner == n.index {
		x.err("ERR I'm already the owner of hash slot " + strconv.Itoa(slot))
		return
	}
	other := t.indexOf(x.args[4])
	if other == noNode {
		word := "I don't know about node "
		if action == "node" {
			word = "Unknown node "
		}
		x.err("ERR " + word + x.args[4])
		return
	}
	if t.nodes[other].master != noNode {
		x.err("ERR Target node is not a master")
		return
	}
	switch action {
	case "migrating":
		n.migrating[slot] = x.args[4]
	case "importing":
		n.importing[slot] = x.args[4]
	case "node":
		if owner == n.index && other != n.index && n.data.counts[slot] > 0 {
			x.err("ERR Can't assign hashslot " + strconv.Itoa(slot) + " to a different node while I still hold keys for this hash slot.")
			return
		}
		n.assign(slot, other)
	}
	x.ok()
}

// assign is SETSLOT NODE. It takes effect when the old or the new owner hears
// it: a third node could only change its own view, which gossip would repair.
func (n *Node) assign(slot, to int) {
	c := n.c
	owner := int(c.topo.slots[slot])
	imported := false
	if to == n.index {
		_, imported = n.importing[slot]
		delete(n.importing, slot)
	}
	if owner == n.index && to != n.index {
		delete(n.migrating, slot)
	}
	if owner == to || owner != n.index && to != n.index {
		return
	}
	if owner != noNode {
		delete(c.nodes[owner].migrating, slot)
	}
	c.update(func(t *topology) {
		t.slots[slot] = int16(to)
		if imported {
			t.bumpEpoch(to)
		}
	})
}

// bumpEpoch gives the node the highest epoch, if it has not got it.
func (t *topology) bumpEpoch(i int) bool {
	for j, m := range t.nodes {
		if j != i && m.configEpoch >= t.nodes[i].configEpoch || t.nodes[i].configEpoch == 0 {
			t.epoch++
			t.nodes[i].configEpoch = t.epoch
			return true
		}
	}
	return false
}

// cmdClusterAddSlots is ADDSLOTS, DELSLOTS and their forms with ranges.
func cmdClusterAddSlots(x *call) {
	n := x.n
	add := strings.HasPrefix(x.cmd.name, "cluster|add")
	var slots []int
	if strings.HasSuffix(x.cmd.name, "range") {
		if len(x.args)%2 != 0 {
			x.err("ERR wrong number of arguments for '" + x.cmd.name + "' command")
			return
		}
		for i := 2; i < len(x.args); i += 2 {
			a, okA := parseSlot(x.args[i])
			b, okB := parseSlot(x.args[i+1])
			if !okA || !okB {
				x.err("ERR Invalid or out of range slot")
				return
			}
			if a > b {
				x.err("ERR start slot number " + x.args[i] + " is greater than end slot number " + x.args[i+1])
				return
			}
			for s := a; s <= b; s++ {
				slots = append(slots, s)
			}
		}
	} else {
		for _, a := range x.args[2:] {
			s, ok := parseSlot(a)
			if !ok {
				x.err("ERR Invalid or out of range slot")
				return
			}
			slots = append(slots, s)
		}
	}
	seen := map[int]bool{}
	for _, s := range slots {
		owner := x.n.c.topo.slots[s]
		switch {
		case add && owner != noNode:
			x.err("ERR Slot " + strconv.Itoa(s) + " is already busy")
			return
		case !add && owner == noNode:
			x.err("ERR Slot " + strconv.Itoa(s) + " is already unassigned")
			return
		case seen[s]:
			x.err("ERR Slot " + strconv.Itoa(s) + " specified multiple times")
			return
		}
		seen[s] = true
	}
	n.c.update(func(t *topology) {
		for _, s := range slots {
			if add {
				t.slots[s] = int16(n.index)
			} else {
				t.slots[s] = noNode
			}
		}
	})
	for _, s := range slots {
		delete(n.importing, s)
	}
	x.ok()
}

func cmdClusterFlushSlots(x *call) {
	if len(x.ds.keys) > 0 {
		x.err("ERR DB must be empty to perform CLUSTER FLUSHSLOTS.")
		return
	}
	x.n.c.update(func(t *topology) {
		for s, o := range t.slots {
			if int(o) == x.n.index {
				t.slots[s] = noNode
			}
		}
	})
	x.ok()
}

func cmdClusterFailover(x *call) {
	force, takeover := false, false
	if len(x.args) == 3 {
		switch strings.ToLower(x.args[2]) {
		case "force":
			force = true
		case "takeover":
			takeover = true
		default:
			x.err("ERR syntax error")
			return
		}
	}
	t := x.n.c.topo
	m := t.nodes[x.n.index].master
	switch {
	case m == noNode:
		x.err("ERR You should send CLUSTER FAILOVER to a replica")
		return
	case !force && !takeover && t.nodes[m].silent:
		x.err("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE")
		return
	}
	size, alive := t.size()
	if !takeover && alive < size/2+1 {
		x.ok() // started, and never won: no majority votes
		return
	}
	if !force && !takeover && x.n.loose {
		// The orderly way waits until the replica has everything.
		x.n.loose = false
		x.n.data = x.n.c.nodes[m].data
	}
	x.n.c.promote(x.n.index)
	x.ok()
}

func cmdClusterReplicate(x *call) {
	n, c := x.n, x.n.c
	t := c.topo
	to := t.indexOf(x.args[2])
	switch {
	case to == noNode:
		x.err("ERR Unknown node " + x.args[2])
		return
	case to == n.index:
		x.err("ERR Can't replicate myself")
		return
	case t.nodes[to].master != noNode:
		x.err("ERR I can only replicate a master, not a replica.")
		return
	case t.nodes[n.index].master == noNode && (t.owned(n.index) > 0 || len(n.data.keys) > 0):
		x.err("ERR To set a master the node must be empty and without assigned slots.")
		return
	}
	c.update(func(t *topology) { t.nodes[n.index].master = to })
	n.loose = false
	n.demoted()
	n.follow(c.nodes[to])
	x.ok()
}

func cmdClusterForget(x *call) {
	t := x.n.c.topo
	i := t.indexOf(x.args[2])
	switch {
	case i == noNode || x.n.forgotten[x.args[2]]:
		x.err("ERR Unknown node " + x.args[2])
	case i == x.n.index:
		x.err("ERR I tried hard but I can't forget myself...")
	case t.nodes[x.n.index].master == i:
		x.err("ERR Can't forget my master!")
	default:
		x.n.forgotten[x.args[2]] = true
		x.ok()
	}
}

func cmdClusterMeet(x *call) {
	port, err := strconv.Atoi(x.args[3])
	if err != nil {
		x.err("ERR Invalid TCP base port specified: " + x.args[3])
		return
	}
	for _, o := range x.n.c.nodes {
		if o.ip == x.args[2] && o.port == port {
			delete(x.n.forgotten, o.id)
			delete(o.forgotten, x.n.id)
		}
	}
	x.ok()
}

// cmdClusterReset makes the node an empty master. It stays a member: the
// embedded cluster has no strangers.
func cmdClusterReset(x *call) {
	n, c := x.n, x.n.c
	if !n.isReplica() && len(n.data.keys) > 0 {
		x.err("ERR CLUSTER RESET can't be called with master nodes containing keys")
		return
	}
	wasReplica := n.isReplica()
	c.update(func(t *topology) {
		t.nodes[n.index].master = noNode
		for s, o := range t.slots {
			if int(o) == n.index {
				t.slots[s] = noNode
			}
		}
	})
	if wasReplica {
		n.data = c.st.newDataset()
	}
	n.loose = false
	n.demoted()
	x.ok()
}

func cmdClusterBumpEpoch(x *call) {
	bumped := false
	x.n.c.update(func(t *topology) { bumped = t.bumpEpoch(x.n.index) })
	word := "STILL "
	if bumped {
		word = "BUMPED "
	}
	x.simple(word + strconv.FormatUint(x.n.c.topo.nodes[x.n.index].configEpoch, 10))
}

func cmdClusterSetEpoch(x *call) {
	n, err := strconv.ParseUint(x.args[2], 10, 63)
	switch {
	case err != nil:
		x.err("ERR Invalid config epoch specified: " + x.args[2])
	case len(x.n.c.nodes) > 1:
		x.err("ERR The user can assign a config epoch only when the node does not know any other node.")
	default:
		x.n.c.update(func(t *topology) {
			t.nodes[x.n.index].configEpoch = n
			t.epoch = max(t.epoch, n)
		})
		x.ok()
	}
}
