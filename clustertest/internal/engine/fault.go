package engine

import (
	"time"

	"github.com/rcctl/rcctl/clustertest/internal/fault"
	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

// Inject adds a fault. It stays when the node ends and starts again.
func (n *Node) Inject(f fault.Fault) *fault.Injection { return n.faults.Add(f) }

// KeysOf are the keys that a command names, by the table of redis-server 7.0.
// Of a command that it does not know every argument counts.
func KeysOf(args []string) []string {
	cmd, parent := table().lookup(args)
	switch {
	case cmd != nil:
		return cmd.keys(nil, args)
	case parent != nil:
		return nil
	}
	return args[1:]
}

// fault finds the faults that hit the command and does what comes before its
// execution. done: the command was answered. lost: the connection was reset.
func (c *conn) fault(args []string) (hit fault.Fault, done, lost bool) {
	hit = c.n.faults.Match(args, false, KeysOf)
	if hit.Delay > 0 {
		t := time.NewTimer(hit.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-c.done:
			return hit, false, true
		}
	}
	switch {
	case hit.Error != "":
		c.refuseWith(args, hit.Error)
		return hit, true, false
	case hit.DropBefore:
		c.write()
		c.abort()
		return hit, false, true
	}
	return hit, false, false
}

// refuseWith answers an error in place of a command, and does to a transaction
// what an error of the server does: an EXEC that is refused ends it, and a
// command that is refused spoils it.
func (c *conn) refuseWith(args []string, msg string) {
	m := c.n.c
	m.mu.Lock()
	defer m.mu.Unlock()
	if cmd, _ := table().lookup(args); c.multi && cmd != nil && cmd.name == "exec" {
		c.discard()
	}
	c.dirty = c.multi
	c.send(resp.AppendError(nil, msg))
}

// spoils reports whether a fault does something to the reply.
func spoils(f fault.Fault) bool { return f.DropAfter || f.Truncate > 0 }

// spoil does what a fault does to the reply, and ends the connection.
func (c *conn) spoil(hit fault.Fault, reply []byte) {
	if !hit.DropAfter {
		c.send(reply[:min(len(reply), hit.Truncate)])
	}
	c.write()
	c.abort()
}
