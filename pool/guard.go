package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// guardHook decides about every attempt at a node: it refuses at once while
// the node's breaker is open or when the caller's deadline is too near, and
// learns from the result how the node is.
type guardHook struct {
	c *core
	n *node
}

func (g *guardHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *guardHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if isHandshake(cmd) {
			return next(ctx, cmd)
		}
		if err := g.admit(ctx); err != nil {
			return err
		}
		g.n.begin()
		err := next(ctx, cmd)
		g.n.finish()
		g.judge(ctx, err)
		return err
	}
}

func (g *guardHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if isHandshake(cmds[0]) {
			return next(ctx, cmds)
		}
		if err := g.admit(ctx); err != nil {
			return err
		}
		g.n.begin()
		err := next(ctx, cmds)
		g.n.finish()
		if err == nil || isReply(err) {
			// go-redis reloads for a READONLY of a single command only.
			for _, cmd := range cmds {
				if e := cmd.Err(); e != nil && isReply(e) {
					g.learn(e)
				}
			}
		}
		g.judge(ctx, err)
		return err
	}
}

func (g *guardHook) admit(ctx context.Context) error {
	if !g.n.breaker.Allow() {
		g.n.refused.Add(1)
		g.c.reload.kick()
		return g.n.refusal
	}
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left < g.c.shedBelow {
			g.n.shed.Add(1)
			return &shedError{left: left}
		}
	}
	return nil
}

// shedError is a command that was not sent because its deadline was too near:
// a connection whose reply is not awaited is lost.
type shedError struct{ left time.Duration }

func (e *shedError) Error() string {
	return fmt.Sprintf("not sent: only %s left until the deadline", e.left)
}
func (e *shedError) Unwrap() error { return context.DeadlineExceeded }

// judge tells the breaker how an attempt went.
func (g *guardHook) judge(ctx context.Context, err error) {
	switch {
	case err == nil:
		g.n.breaker.Success()
	case isReply(err):
		g.n.breaker.Success()
		g.learn(err)
	case errors.Is(err, context.Canceled), errors.Is(err, ErrUnavailable),
		errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, redis.ErrClosed):
	case callerRanOut(ctx), lostReplies(err):
		// The caller's deadline says little about the node: ask it.
		g.c.suspect(g.n, suspectEvery)
	case isTimeout(err), isNetError(err):
		if g.n.breaker.Failure() {
			g.c.opened(g.n, err)
		}
		g.c.reload.kick()
	}
}

// learn looks for replies that mean that the topology has changed.
func (g *guardHook) learn(err error) {
	msg := err.Error()
	if strings.HasPrefix(msg, "READONLY") || strings.HasPrefix(msg, "CLUSTERDOWN") ||
		strings.HasPrefix(msg, "MASTERDOWN") || strings.HasPrefix(msg, "MOVED") {
		g.c.reload.kick()
	}
}

// callerRanOut reports whether the deadline of the call has passed. The socket
// carries the same deadline and may notice a little earlier than the context.
func callerRanOut(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < time.Millisecond
}

// isHandshake reports whether a command is part of opening a connection. These
// run inside the command that needs the connection.
func isHandshake(cmd redis.Cmder) bool {
	if !mayBeInternal(cmd) {
		return false
	}
	switch cmd.Name() {
	case "hello", "auth", "select", "readonly", "client":
		return isInternal(cmd)
	}
	return false
}
