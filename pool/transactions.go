package pool

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Redirects of a transaction's commands are read by go-redis itself and reach
// no hook. What the hooks do see is where each attempt of one TxPipeline went:
// a further attempt at another node followed a MOVED, or an ASK if it began
// with ASKING.

// txTrace is the attempts of one transaction, one after the other.
type txTrace struct{ attempts []txAttempt }

type txAttempt struct {
	n      *nodeCounters
	asking bool
	failed bool // no reply at all
}

type txKey struct{}

// isTransaction reports whether a pipeline is MULTI ... EXEC, and whether it
// begins with ASKING.
func isTransaction(cmds []redis.Cmder) (tx, asking bool) {
	if len(cmds) > 1 && cmds[0].Name() == "asking" {
		return cmds[1].Name() == "multi", true
	}
	return cmds[0].Name() == "multi", false
}

// note records an attempt at a node, in the trace that the cluster-level hook
// put into the context.
func (t *txTrace) note(n *nodeCounters, asking bool, err error) {
	t.attempts = append(t.attempts, txAttempt{n, asking, err != nil && !isReply(err)})
}

// settle counts the redirects between the attempts, and the one that the
// transaction ended with.
func (t *txTrace) settle(err error) {
	for i, a := range t.attempts {
		var moved, ask bool
		if i+1 < len(t.attempts) {
			next := t.attempts[i+1]
			ask = !a.failed && next.asking && next.n != a.n
			moved = !a.failed && !next.asking && next.n != a.n
		} else if err != nil {
			_, moved = redis.IsMovedError(err)
			_, ask = redis.IsAskError(err)
		}
		if moved {
			a.n.txMoved.Add(1)
		}
		if ask {
			a.n.txAsk.Add(1)
		}
	}
}

// txHook is the hook on the cluster client.
type txHook struct{}

func (txHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (txHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (txHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() != "multi" {
			return next(ctx, cmds)
		}
		t := &txTrace{}
		err := next(context.WithValue(ctx, txKey{}, t), cmds)
		t.settle(err)
		return err
	}
}

// lostReplies reports the error that go-redis puts in place of whatever ended
// a transaction before all its replies were read.
func lostReplies(err error) bool {
	return strings.HasSuffix(err.Error(), "unread transaction replies")
}
