package pool

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// onceCmd is a command that go-redis does not send again.
type onceCmd struct{ *redis.Cmd }

func (onceCmd) NoRetry() bool { return true }

// Once sends a command that must not run twice, such as INCR or LPUSH: unlike
// any other it is not sent again when its reply is lost. Redirects (MOVED, ASK)
// and replies that say that nothing was done are still followed. When it fails,
// [Applied] tells whether it may have run. It blocks as any command does.
func (c *Cluster) Once(ctx context.Context, args ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, args...)
	_ = c.client.Process(ctx, onceCmd{cmd})
	return cmd
}

// An Outcome says whether a command ran on the server.
type Outcome string

const (
	// Done: it ran, the server said so.
	Done Outcome = "done"
	// NotApplied: it did not run. It is safe to send it again.
	NotApplied Outcome = "not applied"
	// Unknown: it may have run.
	Unknown Outcome = "unknown"
)

// Applied says whether the command that ended with err ran, as far as one can
// know. It is about single commands; an error reply counts as not run, which
// holds for all but scripts and functions, whose writes before the error stay.
func Applied(err error) Outcome {
	if err == nil || errors.Is(err, redis.Nil) {
		return Done
	}
	var shed *shedError
	var op *net.OpError
	switch {
	case errors.Is(err, ErrUnavailable), errors.As(err, &shed), isReply(err),
		errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, redis.ErrClosed),
		errors.As(err, &op) && op.Op == "dial":
		return NotApplied
	}
	return Unknown
}
