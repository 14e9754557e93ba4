package health

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rcctl/rcctl/internal/redisinfo"
)

// ErrNotCluster matches errors of [QuickCheck] when what answers is no cluster
// node. Use redis.NewClient for a single server.
var ErrNotCluster = errors.New("not a cluster")

// ErrClosed is returned by a [Checker] after Close.
var ErrClosed = errors.New("health: checker is closed")

// SlotRange is a run of slots, both ends included: First and Last are 0 to
// 16383.
type SlotRange = redisinfo.SlotRange

// FormatRanges writes ranges as "0-5460 10923", "none" if there are none.
func FormatRanges(r []SlotRange) string { return redisinfo.FormatRanges(r) }

// A NodeError is a master that did not answer, or answered with an error.
type NodeError struct {
	// Addr is the node's announced host:port.
	Addr string
	// Slots are the slots it should serve, as the nodes that answered say;
	// empty when none of them did.
	Slots []SlotRange
	// Err is the cause; context.DeadlineExceeded when there was no answer in
	// time.
	Err error
}

// Error is one line: address, slots, cause.
func (e *NodeError) Error() string {
	if len(e.Slots) == 0 {
		return fmt.Sprintf("master %s: %v", e.Addr, e.Err)
	}
	return fmt.Sprintf("master %s (slots %s): %v", e.Addr, FormatRanges(e.Slots), e.Err)
}

// Unwrap is the cause.
func (e *NodeError) Unwrap() error { return e.Err }

// A SlotError is about slots that nobody serves although the masters answer.
type SlotError struct {
	// Unserved are the slots that at least one master knows no owner for:
	// commands on their keys fail with CLUSTERDOWN there.
	Unserved []SlotRange
	// Addr is a master that refuses to serve because it calls the cluster
	// down (cluster_state:fail), or empty.
	Addr string
}

// Error is one line that names the ranges.
func (e *SlotError) Error() string {
	switch {
	case e.Addr == "":
		return fmt.Sprintf("slots %s are served by nobody: assign them (CLUSTER ADDSLOTSRANGE) or bring their master back", FormatRanges(e.Unserved))
	case len(e.Unserved) == 0:
		return fmt.Sprintf("master %s refuses commands: it calls the cluster down (cluster_state:fail)", e.Addr)
	}
	return fmt.Sprintf("slots %s are not served: master %s calls the cluster down (cluster_state:fail)", FormatRanges(e.Unserved), e.Addr)
}

// joined is several errors on one line.
type joined []error

func (j joined) Error() string {
	s := make([]string, len(j))
	for i, err := range j {
		s[i] = err.Error()
	}
	return strings.Join(s, "; ")
}

func (j joined) Unwrap() []error { return j }
