package hashtag

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
)

// A tracked command knows how far it came. go-redis alone does not tell: after
// a connection breaks it puts the error on commands that were answered before,
// and after a failed handshake commands that were never sent have no error.
type tracked struct {
	redis.Cmder
	index    []int // the keys it names
	sent     bool  // it was, or may have been, written to a connection
	answered bool  // it has a reply that is not a redirect
}

// NoRetry keeps go-redis from sending the pipeline again: it does so when the
// first reply is a temporary error, although the others were executed.
func (t *tracked) NoRetry() bool { return true }

// Args is what go-redis asks for when it writes the command.
func (t *tracked) Args() []any {
	t.sent = true
	return t.Cmder.Args()
}

// SetErr is called by go-redis with the outcome of every attempt.
func (t *tracked) SetErr(err error) {
	// A server's answer to a handshake looks like one to the command. After it
	// comes another attempt, whose answer counts.
	if t.answered && (err != nil || t.Err() == nil) {
		return
	}
	t.Cmder.SetErr(err)
	switch {
	case isRedirect(err): // refused, and maybe sent elsewhere next
		t.sent = false
	case err == nil || isReply(err):
		t.answered = true
	}
}

// A lastTracked command also knows exactly whether it was written. Its Args
// alone do not tell: cluster clients look at them to find the node.
type lastTracked struct {
	tracked
	written *bool
}

// Args has a last argument that notes when it is written.
func (t *lastTracked) Args() []any {
	args := slices.Clone(t.tracked.Args())
	last := len(args) - 1
	if s, err := encode(args[last]); err == nil {
		args[last] = notedArg{s, t.written}
	}
	return args
}

type notedArg struct {
	arg     string
	written *bool
}

func (n notedArg) MarshalBinary() ([]byte, error) { *n.written = true; return []byte(n.arg), nil }

// String is for hooks that print commands.
func (n notedArg) String() string { return n.arg }

// isReply reports whether a server sent err.
func isReply(err error) bool {
	var r redis.Error
	return errors.As(err, &r)
}

// isRedirect reports whether err is a MOVED or an ASK.
func isRedirect(err error) bool {
	_, redirect := redirectAddr(err)
	return redirect
}

func redirectAddr(err error) (string, bool) {
	if err == nil {
		return "", false
	}
	if addr, ok := redis.IsMovedError(err); ok {
		return addr, true
	}
	return redis.IsAskError(err)
}

// isTemporary reports whether err is a server's refusal that may be over soon.
// The command was not executed.
func isTemporary(err error) bool {
	return redis.IsLoadingError(err) || redis.IsClusterDownError(err) || redis.IsReadOnlyError(err) ||
		redis.IsMasterDownError(err) || redis.IsMaxClientsError(err) || redis.IsTryAgainError(err)
}

// isNetwork reports whether err comes from the way to a node, so that another
// attempt may go better. Errors of hooks and limiters are none.
func isNetwork(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrClosed)
}

// neverSent reports whether err was there before the command could be written,
// whatever go-redis did with the command.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrClosed)
}

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
