package fault

import (
	"testing"
	"time"
)

// second calls the first argument of a command its key.
func second(args []string) []string {
	if len(args) < 2 {
		return nil
	}
	return args[1:2]
}

func TestFaultsAddUp(t *testing.T) {
	var s Set
	if !s.Empty() {
		t.Error("a new set is not empty")
	}
	counter := s.Add(Fault{})
	s.Add(Fault{Command: "get", Delay: time.Second, Times: 1})
	s.Add(Fault{Command: "GET", Delay: time.Minute, Error: "ERR first"})
	s.Add(Fault{Command: "GET", Error: "ERR second", DropBefore: true, Truncate: 3})
	s.Add(Fault{Command: "GET", DropAfter: true, Truncate: 4})
	other := s.Add(Fault{Command: "SET", Error: "ERR never"})

	want := Fault{Delay: time.Minute + time.Second, Error: "ERR first", DropBefore: true, DropAfter: true, Truncate: 3}
	if got := s.Match([]string{"Get", "key"}, false, second); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want.Delay = time.Minute // the other one was for one time
	if got := s.Match([]string{"GET", "key"}, false, second); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if counter.Hits() != 2 || other.Hits() != 0 {
		t.Errorf("%d and %d hits", counter.Hits(), other.Hits())
	}
}

func TestAFaultMatchesByCommandKeyAndOrigin(t *testing.T) {
	all, migrate, key := Fault{Error: "x"}, Fault{Command: "migrate", Error: "x"}, Fault{Key: "k", Error: "x"}
	for _, test := range []struct {
		name     string
		fault    Fault
		args     []string
		fromNode bool
		hit      bool
	}{
		{"any command", all, []string{"PING"}, false, true},
		{"what nodes send each other", all, []string{"migrate", "h"}, false, false},
		{"that, by name", migrate, []string{"MIGRATE", "h"}, false, true},
		{"that, by name, from a node", migrate, []string{"MIGRATE", "h"}, true, true},
		{"any command of a node", all, []string{"PING"}, true, false},
		{"the key", key, []string{"GET", "k"}, false, true},
		{"another key", key, []string{"GET", "K"}, false, false},
		{"no key", key, []string{"PING"}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s Set
			in := s.Add(test.fault)
			got := s.Match(test.args, test.fromNode, second)
			if hit := got.Error != ""; hit != test.hit || in.Hits() != map[bool]int{true: 1}[test.hit] {
				t.Errorf("hit: %v, %d hits", hit, in.Hits())
			}
		})
	}
}

func TestAFaultEndsByItselfOrIsRemoved(t *testing.T) {
	var s Set
	twice, forever := s.Add(Fault{Times: 2}), s.Add(Fault{})
	for range 5 {
		s.Match([]string{"PING"}, false, second)
	}
	if twice.Hits() != 2 || forever.Hits() != 5 {
		t.Errorf("%d and %d hits", twice.Hits(), forever.Hits())
	}
	twice.Remove()
	if s.Empty() {
		t.Error("the other fault is gone too")
	}
	forever.Remove()
	forever.Remove()
	if !s.Empty() {
		t.Error("a removed fault is still there")
	}
}
