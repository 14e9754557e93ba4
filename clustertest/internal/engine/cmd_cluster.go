package engine

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rcctl/rcctl/hashtag"
)

func parseSlot(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n < hashtag.Slots
}

// visible reports whether the node is in this one's table.
func (n *Node) visible(i int) bool { return !n.forgotten[n.view().nodes[i].id] }

// cmdClusterSlots lists the ranges with their nodes; failed replicas are left
// out.
func cmdClusterSlots(x *call) {
	t := x.n.view()
	ranges := t.runs
	x.array(len(ranges))
	for _, r := range ranges {
		nodes := []int{r.owner}
		for _, i := range t.replicas(r.owner) {
			if !t.nodes[i].fail && x.n.visible(i) {
				nodes = append(nodes, i)
			}
		}
		x.array(2 + len(nodes))
		x.int(int64(r.first))
		x.int(int64(r.last))
		for _, i := range nodes {
			x.slotNode(i)
		}
	}
}

// slotNode is one node of CLUSTER SLOTS.
func (x *call) slotNode(i int) {
	o := x.n.c.nodes[i]
	x.array(4)
	x.out = x.n.appendEndpoint(x.out, o, x.proto)
	x.int(int64(o.announcedPort()))
	x.bulk(o.id)
	var meta [][2]string
	hostname := o.conf.get("cluster-announce-hostname")
	kind := x.n.conf.get("cluster-preferred-endpoint-type")
	if kind != "ip" {
		meta = append(meta, [2]string{"ip", o.announcedIP()})
	}
	if kind != "hostname" && hostname != "" {
		meta = append(meta, [2]string{"hostname", hostname})
	}
	x.mapHead(len(meta))
	for _, m := range meta {
		x.bulk(m[0])
		x.bulk(m[1])
	}
}

func cmdClusterShards(x *call) {
	t := x.n.view()
	masters := t.masters()
	x.array(len(masters))
	for _, m := range masters {
		x.mapHead(2)
		x.bulk("slots")
		ranges := t.rangesOf(m)
		x.array(2 * len(ranges))
		for _, r := range ranges {
			x.int(int64(r.first))
			x.int(int64(r.last))
		}
		x.bulk("nodes")
		nodes := append([]int{m}, t.replicas(m)...)
		x.array(len(nodes))
		for _, i := range nodes {
			x.shardNode(t, i)
		}
	}
}

func (x *call) shardNode(t *topology, i int) {
	o := x.n.c.nodes[i]
	hostname := o.conf.get("cluster-announce-hostname")
	fields := 7
	if hostname != "" {
		fields++
	}
	x.mapHead(fields)
	x.bulk("id")
	x.bulk(o.id)
	x.bulk("port")
	x.int(int64(o.announcedPort()))
	x.bulk("ip")
	x.bulk(o.announcedIP())
	x.bulk("endpoint")
	x.out = x.n.appendEndpoint(x.out, o, x.proto)
	if hostname != "" {
		x.bulk("hostname")
		x.bulk(hostname)
	}
	x.bulk("role")
	if t.nodes[i].master == noNode {
		x.bulk("master")
	} else {
		x.bulk("replica")
	}
	x.bulk("replication-offset")
	x.int(o.data.offset)
	x.bulk("health")
	switch {
	case t.nodes[i].fail:
		x.bulk("fail")
	default:
		x.bulk("online")
	}
}

// nodeLine is a node's line of CLUSTER NODES.
func (n *Node) nodeLine(i int) string {
	t := n.view()
	m, o := t.nodes[i], n.c.nodes[i]
	var b strings.Builder
	b.WriteString(m.id + " " + o.announcedIP() + ":" + strconv.Itoa(o.announcedPort()) + "@" + strconv.Itoa(o.busPort()))
	if h := o.conf.get("cluster-announce-hostname"); h != "" {
		b.WriteString("," + h)
	}
	b.WriteByte(' ')
	if i == n.index {
		b.WriteString("myself,")
	}
	if m.master == noNode {
		b.WriteString("master")
	} else {
		b.WriteString("slave")
	}
	switch {
	case m.fail:
		b.WriteString(",fail")
	case m.pfail:
		b.WriteString(",fail?")
	}
	master, epoch := "-", m.configEpoch
	if m.master != noNode {
		master, epoch = t.nodes[m.master].id, t.nodes[m.master].configEpoch
	}
	ping, pong := "0", "0"
	if i != n.index {
		pong = strconv.FormatInt(n.started.UnixMilli(), 10)
		if m.silent {
			ping = strconv.FormatInt(o.silentAt.UnixMilli(), 10)
		}
	}
	link := "connected"
	if m.silent && i != n.index {
		link = "disconnected"
	}
	b.WriteString(" " + master + " " + ping + " " + pong + " " + strconv.FormatUint(epoch, 10) + " " + link)
	for _, r := range t.rangesOf(i) {
		b.WriteString(" " + strconv.Itoa(r.first))
		if r.last > r.first {
			b.WriteString("-" + strconv.Itoa(r.last))
		}
	}
	if i == n.index {
		for _, s := range slices.Sorted(maps.Keys(n.migrating)) {
			b.WriteString(" [" + strconv.Itoa(s) + "->-" + n.migrating[s] + "]")
		}
		for _, s := range slices.Sorted(maps.Keys(n.importing)) {
			b.WriteString(" [" + strconv.Itoa(s) + "-<-" + n.importing[s] + "]")
		}
	}
	return b.String()
}

func cmdClusterNodes(x *call) {
	var b strings.Builder
	for i := range x.n.view().nodes {
		if x.n.visible(i) {
			b.WriteString(x.n.nodeLine(i))
			b.WriteByte('\n')
		}
	}
	x.text(b.String())
}

func cmdClusterInfo(x *call) {
	t := x.n.view()
	var ok, pfail, fail, known int
	for _, r := range t.runs {
		n := r.last - r.first + 1
		switch m := t.nodes[r.owner]; {
		case m.fail:
			fail += n
		case m.pfail:
			pfail += n
		default:
			ok += n
		}
	}
	for i := range t.nodes {
		if x.n.visible(i) {
			known++
		}
	}
	size, _ := t.size()
	state := "ok"
	if t.down(x.n.conf.fullCoverage) {
		state = "fail"
	}
	mine := t.nodes[t.shard(x.n.index)].configEpoch
	var b []byte
	for _, kv := range []struct {
		name string
		v    int
	}{
		{"cluster_slots_assigned", ok + pfail + fail}, {"cluster_slots_ok", ok}, {"cluster_slots_pfail", pfail},
		{"cluster_slots_fail", fail}, {"cluster_known_nodes", known}, {"cluster_size", size},
		{"cluster_current_epoch", int(t.epoch)}, {"cluster_my_epoch", int(mine)}, {"cluster_stats_messages_sent", 0},
		{"cluster_stats_messages_received", 0}, {"total_cluster_links_buffer_limit_exceeded", 0},
	} {
		if b == nil {
			b = appendInfoLine(b, "cluster_state", state)
		}
		b = appendInfoLine(b, kv.name, strconv.Itoa(kv.v))
	}
	x.text(string(b))
}

func cmdClusterKeySlot(x *call) { x.int(int64(hashtag.Slot(x.args[2]))) }

func cmdClusterCountKeys(x *call) {
	slot, ok := parseSlot(x.args[2])
	if !ok {
		x.err("ERR Invalid slot")
		return
	}
	x.int(int64(x.ds.counts[slot]))
}

func cmdClusterGetKeys(x *call) {
	slot, ok := parseSlot(x.args[2])
	count, err := strconv.Atoi(x.args[3])
	if err != nil {
		x.err("ERR value is not an integer or out of range")
		return
	}
	if !ok || count < 0 {
		x.err("ERR Invalid slot or number of keys")
		return
	}
	x.bulks(x.ds.keysInSlot(slot, count))
}

func cmdClusterReplicas(x *call) {
	t := x.n.view()
	m := t.indexOf(x.args[2])
	switch {
	case m == noNode:
		x.err("ERR Unknown node " + x.args[2])
		return
	case t.nodes[m].master != noNode:
		x.err("ERR The specified node is not a master")
		return
	}
	list := t.replicas(m)
	x.array(len(list))
	for _, i := range list {
		x.bulk(x.n.nodeLine(i))
	}
}

func cmdClusterFailureReports(x *call) {
	t := x.n.view()
	i := t.indexOf(x.args[2])
	switch {
	case i == noNode:
		x.err("ERR Unknown node " + x.args[2])
	case t.nodes[i].fail:
		_, alive := t.size()
		x.int(int64(max(alive-1, 0)))
	default:
		x.int(0)
	}
}

func cmdClusterLinks(x *call) {
	t := x.n.view()
	var peers []int
	for i := range t.nodes {
		if i != x.n.index && !t.nodes[i].silent {
			peers = append(peers, i)
		}
	}
	x.array(2 * len(peers))
	for _, i := range peers {
		for _, dir := range []string{"to", "from"} {
			x.mapHead(6)
			x.bulk("direction")
			x.bulk(dir)
			x.bulk("node")
			x.bulk(t.nodes[i].id)
			x.bulk("create-time")
			x.int(x.n.started.UnixMilli())
			x.bulk("events")
			x.bulk(map[string]string{"to": "rw", "from": "r"}[dir])
			x.bulk("send-buffer-allocated")
			x.int(0)
			x.bulk("send-buffer-used")
			x.int(0)
		}
	}
}
