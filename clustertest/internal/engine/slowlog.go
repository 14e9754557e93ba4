package engine

import (
	"slices"
	"strconv"
	"time"
)

// A slowlog keeps the commands that took longest, newest first.
type slowlog struct {
	entries []slowEntry
	next    int64
}

type slowEntry struct {
	id   int64
	at   time.Time
	took time.Duration
	args []string
	addr string
	name string
}

func (s *slowlog) add(x *call, took time.Duration) {
	if x.c == nil || x.inScript {
		return
	}
	e := slowEntry{id: s.next, at: x.now, took: took, args: slices.Clone(x.args), addr: x.c.addr, name: x.c.name}
	s.next++
	s.entries = append([]slowEntry{e}, s.entries...)
	if most, _ := strconv.Atoi(x.n.conf.get("slowlog-max-len")); len(s.entries) > most {
		s.entries = s.entries[:max(most, 0)]
	}
}

func cmdSlowlogGet(x *call) {
	count := 10
	if len(x.args) > 2 {
		n, err := strconv.Atoi(x.args[2])
		if err != nil || n < -1 {
			x.err("ERR count should be greater than or equal to -1")
			return
		}
		count = n
	}
	list := x.n.slow.entries
	if count >= 0 && len(list) > count {
		list = list[:count]
	}
	x.array(len(list))
	for _, e := range list {
		x.array(6)
		x.int(e.id)
		x.int(e.at.Unix())
		x.int(e.took.Microseconds())
		x.bulks(e.args)
		x.bulk(e.addr)
		x.bulk(e.name)
	}
}

func cmdSlowlogReset(x *call) {
	x.n.slow.entries = nil
	x.ok()
}
