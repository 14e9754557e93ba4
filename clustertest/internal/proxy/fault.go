package proxy

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// A Fault is what clustertest.Fault is; see there.
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
	proxy *Proxy
	fault Fault
	// Guarded by the faults' mutex.
	hits int
}

// Hits is the number of commands hit so far.
func (in *Injection) Hits() int {
	in.proxy.faults.mu.Lock()
	defer in.proxy.faults.mu.Unlock()
	return in.hits
}

// Remove ends the fault. It may be called twice.
func (in *Injection) Remove() { in.proxy.faults.remove(in) }

// faults are the faults of one node.
type faults struct {
	mu     sync.Mutex // guards what follows and the hits
	active []*Injection
}

func (fs *faults) add(in *Injection) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.active = append(fs.active, in)
}

func (fs *faults) remove(in *Injection) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.active = slices.DeleteFunc(fs.active, func(x *Injection) bool { return x == in })
}

// between are the commands that nodes send each other. They pass untouched
// unless a fault names them.
var between = map[string]bool{
	"PSYNC": true, "SYNC": true, "REPLCONF": true, "MIGRATE": true, "RESTORE-ASKING": true,
}

// match returns what is to happen to a command. Several faults add up: delays
// by their sum, of the rest the one injected first of each kind.
func (fs *faults) match(name string, args []string, fromNode bool, keys Keys) Fault {
	var all Fault
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for i := 0; i < len(fs.active); i++ {
		in := fs.active[i]
		f := in.fault
		switch {
		case f.Command != "" && !strings.EqualFold(f.Command, name):
			continue
		case f.Command == "" && (fromNode || between[name]), fromNode && !between[name]:
			continue
		case f.Key != "" && !keys.names(name, args, f.Key):
			continue
		}
		in.hits++
		if in.hits == f.Times {
			fs.active = slices.Delete(fs.active, i, i+1)
			i--
		}
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
	return all
}

// KeyPositions says where the keys of a command are, as COMMAND does.
type KeyPositions struct{ First, Last, Step int }

// Keys are the key positions of all commands, by name in upper case.
type Keys map[string]KeyPositions

// names reports whether a command names the key. Of a command whose keys are
// not at fixed positions every argument counts.
func (k Keys) names(name string, args []string, key string) bool {
	pos, ok := k[name]
	if !ok || pos.First <= 0 || pos.Step <= 0 {
		return slices.Contains(args[1:], key)
	}
	last := pos.Last
	if last < 0 {
		last += len(args)
	}
	for i := pos.First; i <= last && i < len(args); i += pos.Step {
		if args[i] == key {
			return true
		}
	}
	return false
}
