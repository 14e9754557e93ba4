// Package fault decides which commands of a node go wrong, and how. Both
// backends ask it, so that a fault hits the same commands on both.
package fault

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Fault is clustertest.Fault; see there.
type Fault struct {
	Command    string
	Key        string
	Times      int
	Delay      time.Duration
	Error      string
	DropBefore bool
	DropAfter  bool
	Truncate   int
}

// An Injection is a fault at work.
type Injection struct {
	set   *Set
	fault Fault
	hits  int // guarded by the mutex of set
}

// Hits is the number of commands hit so far.
func (in *Injection) Hits() int {
	in.set.mu.Lock()
	defer in.set.mu.Unlock()
	return in.hits
}

// Remove ends the fault. It may be called twice.
func (in *Injection) Remove() {
	s := in.set
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(func(other *Injection) bool { return other != in })
}

// A Set are the faults of one node. The zero value has none. Its methods may be
// called concurrently.
type Set struct {
	mu     sync.Mutex // guards active and the hits
	active []*Injection
	count  atomic.Int32 // of active
}

// Add puts a fault to work.
func (s *Set) Add(f Fault) *Injection {
	in := &Injection{set: s, fault: f}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = append(s.active, in)
	s.count.Store(int32(len(s.active)))
	return in
}

// Empty reports whether no fault is at work. It is cheap.
func (s *Set) Empty() bool { return s.count.Load() == 0 }

func (s *Set) keep(stays func(*Injection) bool) {
	s.active = slices.DeleteFunc(s.active, func(in *Injection) bool { return !stays(in) })
	s.count.Store(int32(len(s.active)))
}

// between are the commands that nodes send each other. They pass untouched
// unless a fault names them.
var between = map[string]bool{
	"PSYNC": true, "SYNC": true, "REPLCONF": true, "MIGRATE": true, "RESTORE-ASKING": true,
}

// Match returns what is to happen to a command and counts the hits. Several
// faults add up: delays by their sum, of the rest the one injected first of
// each kind. On a connection that comes from another node only what nodes send
// each other is hit. keys finds the keys that args name.
func (s *Set) Match(args []string, fromNode bool, keys func(args []string) []string) Fault {
	var all Fault
	if s.Empty() {
		return all
	}
	internode := between[strings.ToUpper(args[0])]
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := false
	for _, in := range s.active {
		f := in.fault
		switch {
		case f.Command != "" && !strings.EqualFold(f.Command, args[0]):
			continue
		case f.Command == "" && internode, fromNode && !internode:
			continue
		case f.Key != "" && !slices.Contains(keys(args), f.Key):
			continue
		}
		in.hits++
		ended = ended || in.hits == f.Times
		all.Delay += f.Delay
		all.DropBefore = all.DropBefore || f.DropBefore
		all.DropAfter = all.DropAfter || f.DropAfter
		if all.Error == "" {
			all.Error = f.Error
		}
		if all.Truncate == 0 {
			all.Truncate = f.Truncate
		}
	}
	if ended {
		s.keep(func(in *Injection) bool { return in.fault.Times == 0 || in.hits < in.fault.Times })
	}
	return all
}
