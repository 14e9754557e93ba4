package hashtag

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// again is what one attempt leaves for the next, by the way it goes on.
type again struct {
	refused []int            // by a command for several keys: ask key by key
	moved   map[string][]int // by address: MOVED, ASK and TRYAGAIN
	failed  []int            // find the owner again
}

func (a *again) follow(addr string, index []int) {
	if a.moved == nil {
		a.moved = map[string][]int{}
	}
	a.moved[addr] = append(a.moved[addr], index...)
}

// settle takes the answers of one round trip. It returns false when the
// connection broke or there was none: the node is not well, and rest, what was
// to be sent next, waits for the next attempt too.
func (c *call) settle(l *lane, cmds []tracked, rest []int, execErr error, a *again) bool {
	var broken error
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range cmds {
		t := &cmds[i]
		if c.state[t.index[0]] == done {
			continue // given up meanwhile
		}
		err := t.Err()
		if err == nil && !t.answered {
			if err = execErr; err == nil {
				err = errors.New("the client returned neither an answer nor an error")
			}
		}
		if t.answered || isRedirect(err) {
			c.answer(l, t, err, a)
			continue
		}
		err = fmt.Errorf("%s: %w", l.name, err)
		broken = err
		c.lose(t, err, a)
	}
	if broken == nil {
		return true
	}
	c.refused(rest, broken)
	c.leave(rest, broken, a)
	return false
}

// answer takes the reply of a server. The lock is held.
func (c *call) answer(l *lane, t *tracked, err error, a *again) {
	addr, redirect := redirectAddr(err)
	if err == nil || errors.Is(err, redis.Nil) {
		c.finish(t.index, c.take(t.index, t.Cmder))
		return
	}
	// Servers refuse a command before they execute it.
	c.refused(t.index, fmt.Errorf("%s: %w", l.name, err))
	switch {
	case redirect && !c.follows():
		c.finish(t.index, fmt.Errorf("%s is a node of a cluster and the client is not a cluster client, use redis.NewClusterClient: %w", l.name, err))
	case redirect:
		a.follow(addr, t.index)
	case isTemporary(err) && !redis.IsTryAgainError(err):
		a.failed = append(a.failed, t.index...)
	case len(t.index) > 1 && (c.repeat || isRefusal(err)):
		a.refused = append(a.refused, t.index...)
	case redis.IsTryAgainError(err):
		a.follow("", t.index)
	default:
		if err = c.take(t.index, t.Cmder); err != nil {
			err = fmt.Errorf("%s: %w", l.name, err)
		}
		c.finish(t.index, err)
	}
}

// lose deals with a command that has no answer. The lock is held.
func (c *call) lose(t *tracked, err error, a *again) {
	if !t.sent || neverSent(err) {
		c.refused(t.index, err)
		c.leave(t.index, err, a)
		return
	}
	for _, i := range t.index {
		c.errs[i] = err
	}
	switch {
	case isContext(err): // the call ends anyway, and says it better
	case c.repeat:
		a.failed = append(a.failed, t.index...)
	default:
		c.finish(t.index, err)
	}
}

// leave deals with keys that were not sent because of err. The lock is held.
func (c *call) leave(index []int, err error, a *again) {
	if isNetwork(err) || isTemporary(err) { // a handshake too is refused while a server loads
		a.failed = append(a.failed, index...)
	} else if !isContext(err) {
		c.finish(index, err)
	}
}

// refused notes that keys were not executed. The lock is held.
func (c *call) refused(index []int, err error) {
	for _, i := range index {
		c.state[i], c.errs[i] = waiting, err
	}
}

// goOn runs the next attempt of what l left.
func (c *call) goOn(ctx context.Context, l *lane, a *again) {
	if len(a.refused)+len(a.moved)+len(a.failed) == 0 || ctx.Err() != nil {
		return
	}
	var g errgroup.Group
	g.SetLimit(maxNodes)
	if len(a.refused) > 0 {
		g.Go(func() error {
			next := *l
			next.index, next.singles = a.refused, true
			c.runLane(ctx, &next)
			return nil
		})
	}
	for addr, index := range a.moved {
		name := l.name
		if addr != "" {
			name = addr
		}
		g.Go(func() error {
			// The first hop is news about the slot; more of them mean that
			// the slot is on the move, or the client's map is old.
			if l.hops > 0 {
				c.reload(ctx)
				if !sleep(ctx, backoff(l.hops)) {
					return nil
				}
			}
			c.runLane(ctx, &lane{name: name, pipe: c.Client.Pipeline, index: index, singles: true, retries: l.retries, hops: l.hops + 1})
			return nil
		})
	}
	if len(a.failed) > 0 {
		c.retry(ctx, l, a, &g)
	}
	g.Wait()
}

// retry finds new lanes for keys whose lane failed.
func (c *call) retry(ctx context.Context, l *lane, a *again, g *errgroup.Group) {
	c.reload(ctx)
	if l.retries == maxRetries {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, i := range a.failed {
			c.finish([]int{i}, c.errs[i])
		}
		return
	}
	if !sleep(ctx, backoff(l.retries)) {
		return
	}
	// A replica that failed is no reason to have no answer: ask the masters.
	lanes, lost, err := c.lanes(ctx, a.failed, false)
	c.mu.Lock()
	c.finish(lost, err)
	c.mu.Unlock()
	for _, next := range lanes {
		next.retries, next.hops, next.singles = l.retries+1, l.hops, l.singles
		g.Go(func() error {
			c.runLane(ctx, next)
			return nil
		})
	}
}

func backoff(n int) time.Duration { return min(firstBackoff<<min(n, 8), maxBackoff) }

// sleep returns false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
