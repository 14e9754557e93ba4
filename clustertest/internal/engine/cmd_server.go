package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rcctl/rcctl/hashtag"
)

const (
	latencyDoctor = "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Redis instance. You may use \"CONFIG SET latency-monitor-threshold <milliseconds>.\" in order to enable it. If we weren't in a deep space mission I'd suggest to take a look at https://redis.io/topics/latency-monitor.\n"
	memoryDoctor  = "Hi Sam, this instance is empty or is using very little memory, my issues detector can't be used in these conditions. Please, leave for your mission on Earth and fill it with some data. The new Sam and I will be back to our programming as soon as I finished rebooting.\n"
)

func cmdConfigResetStat(x *call) {
	out := x.out
	x.n.stats.reset()
	x.ds.hits, x.ds.misses, x.n.c.st.expired = 0, 0, 0
	x.out = out
	x.ok()
}

func cmdCommand(x *call) { x.out = append(x.out, table().raw[x.proto]...) }

func cmdCommandCount(x *call) { x.int(int64(len(table().order))) }

func cmdCommandInfo(x *call) {
	if len(x.args) == 2 {
		cmdCommand(x)
		return
	}
	x.array(len(x.args) - 2)
	for _, name := range x.args[2:] {
		parent, sub, isSub := strings.Cut(strings.ToLower(name), "|")
		c := table().byName[parent]
		if c != nil && isSub {
			c = c.subs[sub]
		}
		if c == nil || c.value.Kind == 0 {
			x.null()
			continue
		}
		x.out = appendValue(x.out, c.value, x.proto)
	}
}

func cmdCommandGetKeys(x *call) {
	args := x.args[2:]
	c, _ := table().lookup(args)
	switch {
	case c == nil:
		x.err("ERR Invalid command specified")
		return
	case !c.arityOK(args):
		x.err("ERR Invalid number of arguments specified for command")
		return
	case len(c.specs) == 0:
		x.err("ERR The command has no key arguments")
		return
	}
	keys := c.keys(nil, args)
	if len(keys) == 0 {
		x.err("ERR Invalid arguments specified for command")
		return
	}
	x.bulks(keys)
}

func cmdCommandList(x *call) {
	if len(x.args) > 2 {
		x.err("ERR 'command|list' with a filter is not emulated by the embedded cluster")
		return
	}
	x.array(len(table().order))
	for _, c := range table().order {
		x.bulk(c.name)
	}
}

// cmdCommandDocs has no documentation to give: redis-cli then goes without
// hints.
func cmdCommandDocs(x *call) { x.mapHead(0) }

func cmdTime(x *call) {
	x.array(2)
	x.bulk(strconv.FormatInt(x.now.Unix(), 10))
	x.bulk(strconv.FormatInt(int64(x.now.Nanosecond()/1000), 10))
}

// cmdWait answers at once: a replica that is not cut off has everything.
func cmdWait(x *call) {
	if x.n.isReplica() {
		x.err("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.")
		return
	}
	if _, err := strconv.ParseInt(x.args[1], 10, 64); err != nil {
		x.err("ERR value is not an integer or out of range")
		return
	}
	if ms, err := strconv.ParseInt(x.args[2], 10, 64); err != nil {
		x.err("ERR timeout is not an integer or out of range")
		return
	} else if ms < 0 {
		x.err("ERR timeout is negative")
		return
	}
	n := 0
	for _, i := range x.n.c.topo.replicas(x.n.index) {
		if !x.n.c.topo.nodes[i].silent && !x.n.c.nodes[i].loose {
			n++
		}
	}
	x.int(int64(n))
}

func cmdRole(x *call) {
	t := x.n.view()
	if m := t.nodes[x.n.index].master; m != noNode {
		o := x.n.c.nodes[m]
		state := "connected"
		if t.nodes[m].silent || x.n.loose {
			state = "connect"
		}
		x.array(5)
		x.bulk("slave")
		x.bulk(o.announcedIP())
		x.int(int64(o.announcedPort()))
		x.bulk(state)
		x.int(x.ds.offset)
		return
	}
	var live []*Node
	for _, i := range t.replicas(x.n.index) {
		if !t.nodes[i].silent {
			live = append(live, x.n.c.nodes[i])
		}
	}
	x.array(3)
	x.bulk("master")
	x.int(x.ds.offset)
	x.array(len(live))
	for _, o := range live {
		x.bulks([]string{o.announcedIP(), strconv.Itoa(o.announcedPort()), strconv.FormatInt(o.data.offset, 10)})
	}
}

func cmdFlush(x *call) {
	if len(x.args) > 2 || len(x.args) == 2 && !strings.EqualFold(x.args[1], "sync") && !strings.EqualFold(x.args[1], "async") {
		x.err("ERR syntax error")
		return
	}
	if len(x.ds.keys) > 0 {
		for c := range x.n.conns {
			if c.watch != nil {
				c.watchLost = true
			}
		}
	}
	x.ds.flush()
	x.ok()
}

func cmdKeys(x *call) {
	var list []string
	for k := range x.ds.keys {
		if globMatch(x.args[1], k, false) {
			list = append(list, k)
		}
	}
	slices.Sort(list)
	x.bulks(list)
}

func cmdRandomKey(x *call) {
	if len(x.ds.keys) == 0 {
		x.null()
		return
	}
	i := rand.IntN(len(x.ds.keys))
	for k := range x.ds.keys {
		if i--; i < 0 {
			x.bulk(k)
			return
		}
	}
}

// cmdScan walks the slots: the cursor is the next slot, so that keys which
// stay are seen once whatever else changes.
func cmdScan(x *call) {
	cursor, err := strconv.ParseUint(x.args[1], 10, 64)
	if err != nil {
		x.err("ERR invalid cursor")
		return
	}
	pattern, kind, count := "", "", 10
	for i := 2; i < len(x.args); i += 2 {
		if i+1 == len(x.args) {
			x.err("ERR syntax error")
			return
		}
		v := x.args[i+1]
		switch strings.ToLower(x.args[i]) {
		case "match":
			pattern = v
		case "type":
			kind = strings.ToLower(v)
		case "count":
			if count, err = strconv.Atoi(v); err != nil {
				x.err("ERR value is not an integer or out of range")
				return
			}
			if count < 1 {
				x.err("ERR syntax error")
				return
			}
		default:
			x.err("ERR syntax error")
			return
		}
	}
	var found []string
	slot, seen := int(min(cursor, hashtag.Slots)), 0
	for ; slot < hashtag.Slots && seen < count; slot++ {
		for e := x.ds.slots[slot]; e != nil; e = e.next {
			seen++
			if pattern != "" && !globMatch(pattern, e.key, false) || kind != "" && x.ds.value("TYPE", e.key).Str != kind {
				continue
			}
			found = append(found, e.key)
		}
	}
	x.array(2)
	x.bulk(strconv.Itoa(slot % hashtag.Slots))
	x.bulks(found)
}

func cmdDebug(x *call) {
	switch {
	case len(x.args) == 3 && strings.EqualFold(x.args[1], "sleep"):
		f, err := strconv.ParseFloat(x.args[2], 64)
		if err != nil || math.IsNaN(f) || f < 0 || f > 1e6 {
			x.err("ERR value is not a valid float")
			return
		}
		// The node answers nobody meanwhile; this client hears at once.
		x.n.startHold(time.Duration(f*float64(time.Second)), false)
		x.ok()
	case len(x.args) == 3 && strings.EqualFold(x.args[1], "set-active-expire"):
		x.ok()
	default:
		x.err("ERR 'debug " + strings.ToLower(x.args[1]) + "' is not emulated by the embedded cluster")
	}
}

func cmdShutdown(x *call) {
	n := x.n
	for _, a := range x.args[1:] {
		switch strings.ToLower(a) {
		case "save", "nosave", "now", "force":
		case "abort":
			x.err("ERR No shutdown in progress.")
			return
		default:
			x.err("ERR syntax error")
			return
		}
	}
	x.c.closing = true
	n.c.conns.Go(n.Stop)
	x.out = x.out[:0]
}

func cmdMemoryUsage(x *call) {
	if !x.ds.has(x.args[2]) {
		x.null()
		return
	}
	size := int64(len(x.args[2])) + 48
	if v := x.ds.value("STRLEN", x.args[2]); !v.IsError() {
		size += v.Int()
	} else {
		size += 64
	}
	x.int(size)
}

func cmdObject(x *call) {
	key := x.args[2]
	if !x.ds.has(key) {
		x.null()
		return
	}
	switch x.cmd.name {
	case "object|refcount":
		x.int(1)
	case "object|idletime":
		x.out = append(x.out, x.ds.raw(x.proto, "OBJECT", "IDLETIME", key)...)
	case "object|freq":
		x.err("ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
	default:
		x.bulk(x.ds.encoding(key))
	}
}

// encoding is what a small value of this kind would have.
func (d *dataset) encoding(key string) string {
	switch d.value("TYPE", key).Str {
	case "string":
		v := d.value("GET", key).Str
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && strconv.FormatInt(n, 10) == v {
			return "int"
		}
		if len(v) <= 44 {
			return "embstr"
		}
		return "raw"
	case "list":
		return "quicklist"
	case "hash":
		return d.smallOr("HLEN", key, 512, "listpack", "hashtable")
	case "zset":
		return d.smallOr("ZCARD", key, 128, "listpack", "skiplist")
	case "set":
		for _, e := range d.value("SMEMBERS", key).Elems {
			if !isNumber(e.Str) {
				return "hashtable"
			}
		}
		return d.smallOr("SCARD", key, 512, "intset", "hashtable")
	}
	return "stream"
}

func (d *dataset) smallOr(count, key string, most int64, small, large string) string {
	if d.value(count, key).Int() <= most {
		return small
	}
	return large
}
