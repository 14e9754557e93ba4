package engine

import (
	"container/heap"
	"strconv"
	"strings"
	"time"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

// deadlines is a heap of the keys that have a time to live, soonest first.
// Entries whose key got another deadline meanwhile are dropped when they come
// up, or all at once when they outnumber the others.
type deadlines struct {
	items deadlineHeap
	live  int
}

type deadlineItem struct {
	at  time.Time
	set *dataset
	key string
}

type deadlineHeap []deadlineItem

func (h deadlineHeap) Len() int           { return len(h) }
func (h deadlineHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h deadlineHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *deadlineHeap) Push(x any)        { *h = append(*h, x.(deadlineItem)) }
func (h *deadlineHeap) Pop() any {
	old := *h
	it := old[len(old)-1]
	*h = old[:len(old)-1]
	return it
}

func (it deadlineItem) valid() bool {
	e := it.set.keys[it.key]
	return e != nil && e.deadline.Equal(it.at)
}

// setDeadline records when a key expires; the zero time means never.
func (d *dataset) setDeadline(e *entry, at time.Time) {
	q := &d.st.deadline
	if !e.deadline.IsZero() {
		d.ttls--
		q.live--
	}
	e.deadline = at
	if at.IsZero() {
		return
	}
	d.ttls++
	q.live++
	heap.Push(&q.items, deadlineItem{at, d, e.key})
	if len(q.items) > 2*q.live+1000 {
		kept := q.items[:0]
		for _, it := range q.items {
			if it.valid() {
				kept = append(kept, it)
			}
		}
		clear(q.items[len(kept):])
		q.items = kept
		heap.Init(&q.items)
	}
}

// expire removes every key whose deadline has passed.
func (st *store) expire(now time.Time) {
	q := &st.deadline
	for len(q.items) > 0 && !q.items[0].at.After(now) {
		it := heap.Pop(&q.items).(deadlineItem)
		if !it.valid() {
			continue
		}
		// The data engine may have dropped the TTL on its own, with the key.
		if v := it.set.value("PTTL", it.key); v.Int() < 0 {
			it.set.setDeadline(it.set.keys[it.key], time.Time{})
			continue
		}
		it.set.remove(it.key)
		st.expired++
	}
}

// ttlEffect records what a command did to deadlines. It runs after the
// command and after dataset.changed.
func (d *dataset) ttlEffect(c *command, args []string, before time.Time, now time.Time) {
	switch c.name {
	case "set":
		if hasOption(args[3:], "KEEPTTL") {
			return
		}
		d.readBack(args[1], args[3:], now)
	case "getex":
		if len(args) == 2 {
			return
		}
		d.readBack(args[1], args[2:], now)
	case "setex", "psetex", "restore", "restore-asking", "getset", "mset", "msetnx":
		for _, key := range c.written(nil, args) {
			d.readBack(key, nil, now)
		}
	case "rename", "renamenx", "copy":
		if e := d.keys[args[2]]; e != nil {
			if d.value("PTTL", args[2]).Int() >= 0 {
				d.setDeadline(e, before)
			} else {
				d.setDeadline(e, time.Time{})
			}
		}
	default:
		for _, key := range c.written(nil, args) {
			if e := d.keys[key]; e != nil && !e.deadline.IsZero() && d.value("PTTL", key).Int() < 0 {
				d.setDeadline(e, time.Time{})
			}
		}
	}
}

// readBack takes over the time to live that a command has just set.
func (d *dataset) readBack(key string, opts []string, now time.Time) {
	e := d.keys[key]
	if e == nil {
		return
	}
	ms := d.value("PTTL", key).Int()
	if ms < 0 {
		d.setDeadline(e, time.Time{})
		return
	}
	at := now.Add(time.Duration(ms) * time.Millisecond)
	for i := 0; i+1 < len(opts); i++ {
		n, err := strconv.ParseInt(opts[i+1], 10, 64)
		switch {
		case err != nil:
		case strings.EqualFold(opts[i], "PXAT"):
			at = time.UnixMilli(n)
		case strings.EqualFold(opts[i], "EXAT"):
			at = time.Unix(n, 0)
		}
	}
	d.setDeadline(e, at)
}

func hasOption(args []string, name string) bool {
	for _, a := range args {
		if strings.EqualFold(a, name) {
			return true
		}
	}
	return false
}

// cmdTTL is TTL, PTTL, EXPIRETIME and PEXPIRETIME.
func cmdTTL(x *call) {
	e := x.ds.keys[x.args[1]]
	x.access(e != nil)
	switch {
	case e == nil:
		x.int(-2)
	case e.deadline.IsZero():
		x.int(-1)
	default:
		left := max(e.deadline.Sub(x.now), 0).Milliseconds()
		switch x.cmd.name {
		case "ttl":
			x.int((left + 500) / 1000)
		case "pttl":
			x.int(left)
		case "expiretime":
			x.int((e.deadline.UnixMilli() + 500) / 1000)
		default:
			x.int(e.deadline.UnixMilli())
		}
	}
}

// cmdExpire is EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT.
func cmdExpire(x *call) {
	n, err := strconv.ParseInt(x.args[2], 10, 64)
	if err != nil {
		x.err("ERR value is not an integer or out of range")
		return
	}
	var nx, xx, gt, lt bool
	for _, o := range x.args[3:] {
		switch strings.ToUpper(o) {
		case "NX":
			nx = true
		case "XX":
			xx = true
		case "GT":
			gt = true
		case "LT":
			lt = true
		default:
			x.err("ERR Unsupported option " + o)
			return
		}
	}
	switch {
	case nx && (xx || gt || lt):
		x.err("ERR NX and XX, GT or LT options at the same time are not compatible")
		return
	case gt && lt:
		x.err("ERR GT and LT options at the same time are not compatible")
		return
	}
	const limit = int64(1) << 52
	if n > limit || n < -limit {
		x.err("ERR invalid expire time in '" + x.cmd.name + "' command")
		return
	}
	var at time.Time
	switch x.cmd.name {
	case "expire":
		at = x.now.Add(clampDuration(n, time.Second))
	case "pexpire":
		at = x.now.Add(clampDuration(n, time.Millisecond))
	case "expireat":
		at = time.Unix(n, 0)
	default:
		at = time.UnixMilli(n)
	}
	e := x.ds.keys[x.args[1]]
	if e == nil {
		x.int(0)
		return
	}
	old := e.deadline
	if nx && !old.IsZero() || xx && old.IsZero() || gt && (old.IsZero() || !at.After(old)) || lt && !old.IsZero() && !at.Before(old) {
		x.int(0)
		return
	}
	x.int(1)
	if !at.After(x.now) {
		x.ds.remove(e.key)
		return
	}
	x.ds.raw(2, "PEXPIRE", e.key, "1000000")
	x.ds.setDeadline(e, at)
}

// clampDuration is n units, at most 200 years.
func clampDuration(n int64, unit time.Duration) time.Duration {
	const most = 200 * 365 * 24 * time.Hour
	if n > int64(most/unit) {
		return most
	}
	if n < -int64(most/unit) {
		return -most
	}
	return time.Duration(n) * unit
}

func cmdPersist(x *call) {
	e := x.ds.keys[x.args[1]]
	if e == nil || e.deadline.IsZero() {
		x.int(0)
		return
	}
	x.ds.raw(2, "PERSIST", e.key)
	x.ds.setDeadline(e, time.Time{})
	x.int(1)
}

func (x *call) int(n int64)     { x.out = resp.AppendInt(x.out, n) }
func (x *call) ok()             { x.out = append(x.out, "+OK\r\n"...) }
func (x *call) bulk(s string)   { x.out = resp.AppendBulk(x.out, s) }
func (x *call) simple(s string) { x.out = resp.AppendSimple(x.out, s) }
func (x *call) array(n int)     { x.out = resp.AppendArray(x.out, n) }
func (x *call) mapHead(n int)   { x.out = resp.AppendMap(x.out, n, x.proto) }
func (x *call) null()           { x.out = resp.AppendNull(x.out, x.proto) }
func (x *call) text(s string)   { x.out = resp.AppendVerbatim(x.out, s, x.proto) }

func (x *call) bulks(list []string) {
	x.array(len(list))
	for _, s := range list {
		x.bulk(s)
	}
}

// access counts a key that was looked up for reading.
func (x *call) access(hit bool) {
	if hit {
		x.ds.hits++
	} else {
		x.ds.misses++
	}
}
