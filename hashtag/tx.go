package hashtag

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// redirectTime is how long Tx and Watch look for the owner of a slot that is
// on the move.
const redirectTime = time.Second

// Tx runs the commands that fn queues as one transaction (MULTI, EXEC) in the
// slot of tag, which is a hash tag or a key. It returns the commands with
// their replies, in the order in which they were queued.
//
// Every command's keys must be in that slot; Tx checks this before anything is
// sent, and its error names the command and the key. The queueing methods of
// the pipeline return commands without a result; fn only queues, and Exec and
// Pipelined of the pipeline return an error.
//
// Redirects are followed, and the owner is looked for again while the slot is
// on the move, for about 1 s or until ctx ends. Nothing is ever executed twice.
// When the transaction did not run, the error matches [ErrNotExecuted]; when
// it was sent and not answered, [ErrUnknown]. Any other error is the first
// error of a command in a transaction that did run: the other commands were
// executed. [redis.Nil] stays with its command and is not an error of Tx.
//
// Tx returns soon after ctx ends, also when the client does not look at
// contexts; the commands must then not be read, and are not returned.
func Tx(ctx context.Context, c redis.UniversalClient, tag string, fn func(redis.Pipeliner) error) ([]redis.Cmder, error) {
	if c == nil {
		return nil, txError(ErrNotExecuted, errNoClient)
	}
	queue := c.TxPipeline()
	if err := fn(queueOnly{queue}); err != nil {
		return nil, txError(ErrNotExecuted, err)
	}
	cmds := queue.Cmds()
	if err := checkSlots(tag, cmds); err != nil {
		return nil, txError(ErrNotExecuted, err)
	}
	if len(cmds) == 0 {
		return nil, nil
	}
	ran, err := false, error(nil)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		ran, err = execTx(ctx, c, cmds)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-finished:
		case <-t.C:
			return nil, txError(ErrUnknown, ctx.Err())
		}
	}
	if err != nil && !ran {
		return nil, err
	}
	return cmds, err
}

var errNoClient = errors.New("no client: give a go-redis client")

func txError(kind, err error) error { return fmt.Errorf("hashtag: Tx: %w: %w", kind, err) }

// execTx runs the transaction until it was executed or certainly is not going
// to be.
func execTx(ctx context.Context, c redis.UniversalClient, cmds []redis.Cmder) (ran bool, err error) {
	until := time.Now().Add(redirectTime)
	for n := 0; ; n++ {
		sent, replied, err := tryTx(ctx, c, cmds)
		if err == nil {
			return true, nil
		}
		switch outcome := txOutcome(cmds, sent, replied, err); {
		case outcome == nil:
			return true, firstErr(cmds)
		case !errors.Is(outcome, ErrNotExecuted) || !isRedirect(err) && !isTemporary(err):
			return false, txError(outcome, err)
		case time.Now().After(until) || !lookAgain(ctx, c, n):
			return false, txError(outcome, fmt.Errorf("the slot has no owner that takes it: %w", err))
		}
	}
}

// tryTx runs the transaction once. It reports whether EXEC may have been
// written, and whether a reply of EXEC was read into a generic command.
func tryTx(ctx context.Context, c redis.UniversalClient, cmds []redis.Cmder) (sent, replied bool, err error) {
	// The commands go in again, wrapped: go-redis would repeat a transaction
	// whose write failed.
	pipe := c.TxPipeline()
	for i, cmd := range cmds {
		cmd.SetErr(nil)
		if g, ok := cmd.(*redis.Cmd); ok {
			g.SetVal(unread{})
		}
		t := tracked{Cmder: cmd}
		if i < len(cmds)-1 {
			_ = pipe.Process(ctx, &t)
		} else { // what comes behind it is EXEC
			_ = pipe.Process(ctx, &lastTracked{t, &sent})
		}
	}
	_, err = pipe.Exec(ctx)
	for _, cmd := range cmds {
		if g, ok := cmd.(*redis.Cmd); ok {
			if _, ok := g.Val().(unread); ok {
				g.SetVal(nil)
			} else {
				replied = true
			}
		}
	}
	return sent, replied, err
}

// unread is the value of a generic command until a reply is read into it, be
// it an error. Scripts are such commands, and only their errors may look like
// a refusal of the server.
type unread struct{}

// firstErr is the first error of a command; a missing key is none.
func firstErr(cmds []redis.Cmder) error {
	for i, cmd := range cmds {
		if err := cmd.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("hashtag: Tx: command %d, %s: %w", i+1, cmd.Name(), err)
		}
	}
	return nil
}

// lookAgain gives the cluster time to settle and the client the news.
func lookAgain(ctx context.Context, c redis.UniversalClient, n int) bool {
	if r, ok := c.(reloader); ok {
		r.ReloadState(ctx)
	}
	return sleep(ctx, backoff(n))
}

// txOutcome is nil when the transaction ran, otherwise ErrNotExecuted or
// ErrUnknown. err is the error of the whole.
func txOutcome(cmds []redis.Cmder, sent, replied bool, err error) error {
	switch {
	case replied && isReply(err):
		return nil
	case !sent, !isReply(err) && neverSent(err):
		return ErrNotExecuted
	case !isReply(err):
		return ErrUnknown
	case errors.Is(err, redis.TxFailedErr), redis.IsExecAbortError(err), isRedirect(err):
		return ErrNotExecuted
	}
	replies := 0
	for _, cmd := range cmds {
		switch cerr := cmd.Err(); {
		case redis.IsExecAbortError(cerr):
			return ErrNotExecuted
		case cerr == nil || errors.Is(cerr, redis.Nil):
			replies++
		}
	}
	if replies == 0 && isRefusal(err) {
		return ErrNotExecuted
	}
	return nil
}

// isRefusal reports whether servers answer err instead of queueing a command.
func isRefusal(err error) bool {
	if isTemporary(err) || redis.IsAuthError(err) || redis.IsPermissionError(err) || redis.IsOOMError(err) || redis.IsNoReplicasError(err) {
		return true
	}
	for _, p := range []string{"CROSSSLOT", "MISCONF", "BUSY ", "unknown command", "wrong number of arguments"} {
		if redis.HasErrorPrefix(err, p) {
			return true
		}
	}
	return false
}

// Watch runs fn with an optimistic lock on keys, which must be in one slot: a
// transaction of fn's tx fails with [redis.TxFailedErr] when one of the keys
// was changed meanwhile. fn runs at most once; callers repeat Watch on
// TxFailedErr. What fn returns is returned as it is.
//
// When fn did not run, the error matches [ErrNotExecuted]. (The Watch of a
// go-redis cluster client returns nil when a key's slot is on the move and the
// key has gone already, without having called fn.) Before that the owner is
// looked for again for about 1 s, or until ctx ends. Like the client's Watch,
// it looks at ctx during a command only with ContextTimeoutEnabled.
func Watch(ctx context.Context, c redis.UniversalClient, fn func(*redis.Tx) error, keys ...string) error {
	refuse := func(err error) error { return fmt.Errorf("hashtag: Watch: %w: %w", ErrNotExecuted, err) }
	switch {
	case c == nil:
		return refuse(errNoClient)
	case len(keys) == 0:
		return refuse(errors.New("no keys to watch"))
	}
	for _, k := range keys[1:] {
		if Slot(k) != Slot(keys[0]) {
			return refuse(fmt.Errorf("key %q is in slot %d, key %q in slot %d: %w", keys[0], Slot(keys[0]), k, Slot(k), redis.ErrCrossSlot))
		}
	}
	until := time.Now().Add(redirectTime)
	for n := 0; ; n++ {
		ran := false
		err := c.Watch(ctx, func(tx *redis.Tx) error {
			ran = true
			return fn(tx)
		}, keys...)
		if ran {
			return err
		}
		moving := err == nil || isRedirect(err) || isTemporary(err)
		if err == nil {
			err = fmt.Errorf("the slot of key %q is on the move and the key is not where the slot is", keys[0])
		}
		if !moving || time.Now().After(until) || !lookAgain(ctx, c, n) {
			return refuse(err)
		}
	}
}
