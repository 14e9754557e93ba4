package engine

import (
	"bufio"
	"bytes"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
	"github.com/rcctl/rcctl/hashtag"
)

// sink collects what the data engine writes.
type sink struct{ b []byte }

func (s *sink) Write(p []byte) (int, error) { s.b = append(s.b, p...); return len(p), nil }

// A store is the data of all nodes: one miniredis, a database for each data
// set. It is used under Cluster.mu only. Time never advances inside miniredis:
// deadlines are in our own index (expire.go), since its clock costs a walk
// over all keys.
type store struct {
	mini     *miniredis.Miniredis
	srv      *server.Server
	out      sink
	nextDB   int
	deadline deadlines
	expired  int64
}

// A dataset is the data of one shard. A replica reads that of its master,
// unless its replication is paused: then it has a copy.
type dataset struct {
	st     *store
	db     int
	direct *miniredis.RedisDB
	peer   *server.Peer
	keys   map[string]*entry
	slots  [hashtag.Slots]*entry // newest key of each slot
	counts [hashtag.Slots]int32
	ttls   int
	offset int64 // replication offset
	// waiters are blocked clients by key, oldest first.
	waiters map[string][]*waiter
	// ready are keys with waiters that were written by the running command.
	ready        []string
	hits, misses int64
}

// An entry is one key in the index.
type entry struct {
	key        string
	slot       int
	prev, next *entry
	deadline   time.Time // zero: no TTL
}

func newStore() (*store, error) {
	st := &store{mini: miniredis.NewMiniRedis()}
	// Dial starts the command engine without a listener; we need no connection.
	nc, err := st.mini.Dial()
	if err != nil {
		return nil, err
	}
	nc.Close()
	st.srv = st.mini.Server()
	return st, nil
}

func (st *store) close() { st.mini.Close() }

func (st *store) newDataset() *dataset {
	d := &dataset{st: st, db: st.nextDB, keys: map[string]*entry{}, waiters: map[string][]*waiter{}}
	st.nextDB++
	d.direct = st.mini.DB(d.db)
	d.peer = d.newPeer()
	return d
}

// newPeer makes a session of the data engine on this data set.
func (d *dataset) newPeer() *server.Peer {
	p := server.NewPeer(bufio.NewWriterSize(&d.st.out, 4096))
	d.st.srv.Dispatch(p, []string{"SELECT", strconv.Itoa(d.db)})
	p.Flush()
	d.st.out.b = d.st.out.b[:0]
	return p
}

// raw runs a command in the data engine and returns the reply, which is valid
// until the next call. The index is not told.
func (d *dataset) raw(proto int, args ...string) []byte {
	return d.st.on(d.peer, proto, args)
}

func (st *store) on(p *server.Peer, proto int, args []string) []byte {
	st.out.b = st.out.b[:0]
	p.Resp3 = proto == 3
	st.srv.Dispatch(p, args)
	p.Flush()
	b := st.out.b
	if len(b) > 0 && b[0] == '-' {
		b = b[:bytes.IndexByte(b, '\n')+1] // of XLEN a second reply follows an error
	}
	return b
}

// value runs a command and decodes its reply.
func (d *dataset) value(args ...string) resp.Value {
	v, _, _ := resp.Decode(d.raw(2, args...))
	return v
}

// changed brings the index up to date after a command that may have created,
// changed or removed key.
func (d *dataset) changed(key string) {
	e, exists := d.keys[key], d.direct.Exists(key)
	switch {
	case exists && e == nil:
		d.link(key)
	case !exists && e != nil:
		d.unlink(e)
	}
	if exists && len(d.waiters) > 0 && len(d.waiters[key]) > 0 {
		d.ready = append(d.ready, key)
	}
}

func (d *dataset) link(key string) *entry {
	slot := hashtag.Slot(key)
	e := &entry{key: key, slot: slot, next: d.slots[slot]}
	if e.next != nil {
		e.next.prev = e
	}
	d.slots[slot] = e
	d.counts[slot]++
	d.keys[key] = e
	return e
}

func (d *dataset) unlink(e *entry) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		d.slots[e.slot] = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	d.counts[e.slot]--
	d.setDeadline(e, time.Time{})
	delete(d.keys, e.key)
}

func (d *dataset) has(key string) bool { return d.keys[key] != nil }

// keysInSlot returns up to n keys of a slot, newest first.
func (d *dataset) keysInSlot(slot, n int) []string {
	var out []string
	for e := d.slots[slot]; e != nil && len(out) < n; e = e.next {
		out = append(out, e.key)
	}
	return out
}

// remove deletes a key.
func (d *dataset) remove(key string) {
	d.raw(2, "DEL", key)
	d.changed(key)
}

// flush deletes all keys.
func (d *dataset) flush() {
	d.raw(2, "FLUSHDB")
	d.keys = map[string]*entry{}
	clear(d.slots[:])
	clear(d.counts[:])
	d.ttls = 0
}

// copyTo copies one key with its deadline to another data set, over what is
// there. Times to live of hash fields do not exist before Redis 7.4.
func (d *dataset) copyTo(to *dataset, key string) {
	e := d.keys[key]
	if e == nil {
		return
	}
	d.raw(2, "COPY", key, key, "DB", strconv.Itoa(to.db), "REPLACE")
	to.changed(key)
	if te := to.keys[key]; te != nil {
		to.setDeadline(te, e.deadline)
		if e.deadline.IsZero() {
			to.raw(2, "PERSIST", key)
		}
	}
}

// clone copies the whole data set.
func (d *dataset) clone() *dataset {
	c := d.st.newDataset()
	for key := range d.keys {
		d.copyTo(c, key)
	}
	c.offset = d.offset
	return c
}
