package pool

import (
	"errors"
	"strings"
)

// ErrConfig matches errors of a Config that cannot work. The error names every
// bad field with its value and the fix. Correct the Config; trying again is
// useless.
var ErrConfig = errors.New("bad Config")

// ErrNotCluster matches errors of New when a seed answers but is no cluster
// node. Use redis.NewClient (single server) or redis.NewFailoverClient
// (Sentinel), or give addresses of a cluster.
var ErrNotCluster = errors.New("not a cluster")

// ErrUnserved matches errors of New when slots are served by nobody, or when a
// node says that the cluster is down. Repair the cluster, or set AllowDegraded.
var ErrUnserved = errors.New("slots without a master")

// ErrUnavailable matches errors of commands that were not sent because their
// node does not answer and is being probed. It comes within microseconds. Use
// what you fall back to (see Config.Fallback), or try again when a second has
// passed; go-redis does not retry it.
var ErrUnavailable = errors.New("unavailable")

// ErrSharedConfig matches errors of [Shared] when a pool of that name exists
// with another Config. Use one Config for the name, or another name.
var ErrSharedConfig = errors.New("shared pool exists with another Config")

// A NodeError is what is wrong with one node. Find it with errors.As.
type NodeError struct {
	// Addr is the announced host:port, or the seed as it was given.
	Addr string
	// ID is the node id, empty while it is not known.
	ID string
	// Slots are the slots the node serves, "0-5460 10923", empty while they
	// are not known.
	Slots string
	// Err is the cause.
	Err error
	// Fix is what to do about it, empty when there is no good advice.
	Fix string
}

// Error is one line: node, cause, fix.
func (e *NodeError) Error() string {
	var b strings.Builder
	b.WriteString("node " + e.Addr)
	var about []string
	if e.ID != "" {
		about = append(about, "id "+e.ID[:min(8, len(e.ID))])
	}
	if e.Slots != "" {
		about = append(about, "slots "+e.Slots)
	}
	if len(about) > 0 {
		b.WriteString(" (" + strings.Join(about, ", ") + ")")
	}
	b.WriteString(": " + strings.TrimSuffix(e.Err.Error(), "."))
	if e.Fix != "" {
		b.WriteString(": " + e.Fix)
	}
	return b.String()
}

// Unwrap is the cause.
func (e *NodeError) Unwrap() error { return e.Err }

// errorList is several errors on one line.
type errorList []error

func (l errorList) Error() string {
	s := make([]string, len(l))
	for i, err := range l {
		s[i] = err.Error()
	}
	return strings.Join(s, "; ")
}

func (l errorList) Unwrap() []error { return l }

// orNil is the list, its only error, or nil.
func (l errorList) orNil() error {
	switch len(l) {
	case 0:
		return nil
	case 1:
		return l[0]
	}
	return l
}
