package engine

import (
	"strings"
	"time"
)

// waitWhileHeld waits while the node is frozen or holds its clients back.
func (c *conn) waitWhileHeld(args []string) bool {
	for {
		m := c.n.c
		m.mu.Lock()
		paused, h := c.n.paused, c.n.hold
		m.mu.Unlock()
		switch {
		case paused != nil:
			select {
			case <-paused:
			case <-c.done:
				return false
			}
		case h != nil && h.applies(c, args):
			select {
			case <-h.over:
			case <-c.done:
				return false
			}
		default:
			select {
			case <-c.done:
				return false
			default:
				return true
			}
		}
	}
}

// A hold keeps clients waiting: CLIENT PAUSE, DEBUG SLEEP.
type hold struct {
	over   chan struct{}
	timer  *time.Timer
	writes bool // only commands that write
}

func (h *hold) applies(c *conn, args []string) bool {
	name := strings.ToLower(args[0])
	if c.direct || name == "client" {
		return false // UNPAUSE must get through
	}
	if !h.writes {
		return true
	}
	cmd, _ := table().lookup(args)
	return cmd != nil && (cmd.flags&(flagWrite|flagMayReplicate) != 0 || name == "exec")
}

// startHold begins a hold of d, or prolongs the one there is.
func (n *Node) startHold(d time.Duration, writes bool) {
	n.endHold()
	h := &hold{over: make(chan struct{}), writes: writes}
	h.timer = time.AfterFunc(d, func() {
		n.c.mu.Lock()
		defer n.c.mu.Unlock()
		if n.hold == h {
			n.endHold()
		}
	})
	n.hold = h
}

func (n *Node) endHold() {
	if h := n.hold; h != nil {
		h.timer.Stop()
		close(h.over)
		n.hold = nil
	}
}
