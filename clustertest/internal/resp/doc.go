// Package resp reads and writes the Redis serialization protocol, RESP2 and
// RESP3, for code that stands where a server stands: a node of the embedded
// cluster and the proxy in front of a real one.
//
// [Reader] reads commands as a server does (multibulk and inline) and replies
// as a client does, both with the raw bytes, so that a proxy can pass on what
// it did not change. Replies are written by appending to a byte slice.
package resp

import (
	"errors"
	"fmt"
)

// Limits of the protocol as Redis has them.
const (
	maxInline   = 64 << 10
	maxBulk     = 512 << 20
	maxElements = 1 << 20
	maxDepth    = 64
)

// ErrProtocol matches errors of malformed input. Its message is what Redis
// answers, without the leading "-ERR ". The connection cannot be used on.
//
//lint:ignore ST1005 it is the text that Redis answers
var ErrProtocol = errors.New("Protocol error")

func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}
