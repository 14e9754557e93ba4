package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
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

// An Injection is a fault at work on a node.
type Injection struct {
	n    *Node
	f    Fault
	hits int
}

// Inject adds a fault.
func (n *Node) Inject(f Fault) *Injection {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	i := &Injection{n: n, f: f}
	n.faults = append(n.faults, i)
	return i
}

// Hits is how many commands were hit.
func (i *Injection) Hits() int {
	i.n.c.mu.Lock()
	defer i.n.c.mu.Unlock()
	return i.hits
}

// Remove ends the fault. It may be called twice.
func (i *Injection) Remove() {
	i.n.c.mu.Lock()
	defer i.n.c.mu.Unlock()
	i.n.faults = slices.DeleteFunc(i.n.faults, func(o *Injection) bool { return o == i })
}

func (i *Injection) matches(args []string) bool {
	if i.f.Command != "" && !strings.EqualFold(i.f.Command, args[0]) {
		return false
	}
	if i.f.Key == "" {
		return true
	}
	cmd, _ := table().lookup(args)
	return cmd != nil && slices.Contains(cmd.keys(nil, args), i.f.Key)
}

// fault finds the first fault that hits the command and does what comes
// before its execution. ok is false when the connection is lost.
func (c *conn) fault(args []string) (hit *Injection, ok bool) {
	m := c.n.c
	m.mu.Lock()
	for _, i := range c.n.faults {
		if (i.f.Times == 0 || i.hits < i.f.Times) && i.matches(args) {
			i.hits++
			hit = i
			break
		}
	}
	m.mu.Unlock()
	if hit == nil {
		return nil, true
	}
	if hit.f.Delay > 0 {
		t := time.NewTimer(hit.f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-c.done:
			return hit, false
		}
	}
	switch {
	case hit.f.Error != "":
		m.mu.Lock()
		c.dirty = c.dirty || c.multi // as with every error while queueing
		m.mu.Unlock()
		c.send(resp.AppendError(nil, hit.f.Error))
	case hit.f.DropBefore:
		c.write()
		c.abort()
		return hit, false
	}
	return hit, true
}

// spoil does what a fault does to the reply. It reports whether the
// connection goes on.
func (c *conn) spoil(hit *Injection, reply []byte) bool {
	switch {
	case hit.f.DropAfter:
		c.write()
	case hit.f.Truncate > 0:
		c.send(reply[:min(len(reply), hit.f.Truncate)])
		c.write()
	default:
		c.send(reply)
		return true
	}
	c.abort()
	return false
}
