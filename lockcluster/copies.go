package lockcluster

import (
	"bytes"
	"container/list"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// copies are the last good copies of this process, least recently used out
// first. They are read only while a shard is sick.
type copies struct {
	clock   clock
	entries int
	bytes   int
	age     time.Duration

	mu    sync.RWMutex
	byKey map[string]*list.Element
	order *list.List
	size  int
}

type goodCopy struct {
	key     string
	value   []byte
	missing bool
	fill    token
	at      atomic.Int64 // when it was last known good
}

// newCopies returns nil, which keeps nothing, for no entries.
func newCopies(entries, size int, age time.Duration, clock clock) *copies {
	if entries == 0 {
		return nil
	}
	return &copies{clock: clock, entries: entries, bytes: size, age: age, byKey: map[string]*list.Element{}, order: list.New()}
}

func (s *copies) put(key string, value []byte, missing bool, fill token) {
	if s == nil {
		return
	}
	s.putAt(key, value, missing, fill, s.clock.now())
}

// recent is how exact the age and the order of copies are: hits within it
// write nothing.
const recent = time.Second

func (s *copies) known(key string, fill token, now time.Duration) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.byKey[key]
	if e == nil {
		return false
	}
	g := e.Value.(*goodCopy)
	return g.fill == fill && !fill.zero() && now-time.Duration(g.at.Load()) < recent
}

func (s *copies) putAt(key string, value []byte, missing bool, fill token, now time.Duration) {
	if s == nil || s.known(key, fill, now) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byKey[key]; e != nil {
		g := e.Value.(*goodCopy)
		if !fill.zero() && g.fill == fill {
			g.at.Store(int64(now))
			s.order.MoveToFront(e)
			return
		}
		s.remove(e)
	}
	if len(key)+len(value) > s.bytes {
		return
	}
	key = strings.Clone(key)
	g := &goodCopy{key: key, value: bytes.Clone(value), missing: missing, fill: fill}
	g.at.Store(int64(now))
	s.byKey[key] = s.order.PushFront(g)
	s.size += len(key) + len(value)
	for s.order.Len() > s.entries || s.size > s.bytes {
		s.remove(s.order.Back())
	}
}

func (s *copies) remove(e *list.Element) {
	g := s.order.Remove(e).(*goodCopy)
	delete(s.byKey, g.key)
	s.size -= len(g.key) + len(g.value)
}

func (s *copies) get(key string) (answer, bool) {
	if s == nil {
		return answer{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[key]
	if e == nil {
		return answer{}, false
	}
	g := e.Value.(*goodCopy)
	if s.clock.now()-time.Duration(g.at.Load()) > s.age {
		s.remove(e)
		return answer{}, false
	}
	return answer{value: g.value, missing: g.missing, source: LastGood}, true
}

// drop forgets a copy: the key was invalidated, or filled by somebody else.
func (s *copies) drop(key string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byKey[key]; e != nil {
		s.remove(e)
	}
}

func (s *copies) len() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order.Len()
}
