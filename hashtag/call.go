package hashtag

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

const (
	maxNodes     = 128 // nodes asked at the same time by one operation
	commandKeys  = 128 // most keys in one command: a server runs one command at a time
	maxRetries   = 3   // further attempts after errors that may be over soon
	firstBackoff = 4 * time.Millisecond
	maxBackoff   = 64 * time.Millisecond

	// grace is how long a call waits for go-redis after a deadline. A client
	// that looks at contexts returns in this time and says what happened.
	grace = 10 * time.Millisecond
)

// A call is one operation at work.
//
// Each lane runs in a goroutine that may outlive the call, because go-redis
// cannot always be interrupted. Therefore answers are taken under the lock,
// and only for keys that are not done; what a late goroutine brings is dropped.
// For the same reason the keys are the call's own copy.
type call struct {
	Multi
	op     string
	keys   []string
	write  bool // a command that was sent and not answered may have changed something
	repeat bool // ... and may be sent again
	read   bool // replicas may answer

	size func(i int) int // bytes of key i's value, may be nil
	one  func(ctx context.Context, i int) redis.Cmder
	many func(ctx context.Context, index []int) redis.Cmder // keys of one slot; may be nil
	take func(index []int, cmd redis.Cmder) error           // keep an answer; an error is that of the keys

	ring  bool
	slots []int

	mu    sync.Mutex
	state []keyState
	errs  []error // final when the key is done, otherwise that of the last attempt
}

type keyState uint8

const (
	waiting keyState = iota // not sent, or refused
	sent                    // sent and not answered
	done
)

// run does the operation and returns its error. The results and c.errs may be
// read then.
func (c *call) run(ctx context.Context) error {
	if len(c.keys) == 0 {
		return nil
	}
	c.slots, c.state, c.errs = make([]int, len(c.keys)), make([]keyState, len(c.keys)), make([]error, len(c.keys))
	_, c.ring = c.Client.(shardFinder)
	all := make([]int, len(c.keys))
	for n, p := range bySlot(c.keys) {
		all[n] = p.index()
		c.slots[p.index()] = p.slot()
	}
	var lanes []*lane
	c.bounded(ctx, "the cluster", all, func(ctx context.Context) {
		found, lost, err := c.lanes(ctx, all, c.read)
		c.mu.Lock()
		defer c.mu.Unlock()
		lanes = found
		c.finish(lost, err)
	})
	c.mu.Lock() // a late finder of owners may still be at work
	start := lanes
	c.mu.Unlock()
	var g errgroup.Group
	g.SetLimit(maxNodes)
	for _, l := range start {
		g.Go(func() error {
			c.bounded(ctx, l.name, l.index, func(ctx context.Context) { c.runLane(ctx, l) })
			return nil
		})
	}
	g.Wait()
	return partial(c.op, c.keys, c.errs)
}

func partial(op string, keys []string, errs []error) error {
	p := &PartialError{Op: op, Of: len(keys)}
	for i, err := range errs {
		if err != nil {
			p.Keys = append(p.Keys, KeyError{Index: i, Key: keys[i], Slot: Slot(keys[i]), Err: err})
		}
	}
	if len(p.Keys) == 0 {
		return nil
	}
	return p
}

// bounded runs f and returns when it has, or when ctx or the shard timeout is
// over. In that case the keys that are not done by then fail.
func (c *call) bounded(ctx context.Context, name string, index []int, f func(context.Context)) {
	lctx, cancel := context.WithTimeout(ctx, c.ShardTimeout)
	defer cancel()
	if lctx.Err() == nil {
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			f(lctx)
		}()
		select {
		case <-finished:
		case <-lctx.Done():
			t := time.NewTimer(grace)
			select {
			case <-finished:
			case <-t.C:
			}
			t.Stop()
		}
	}
	if lctx.Err() == nil {
		return
	}
	cause := fmt.Errorf("%s: no answer within %v: %w", name, c.ShardTimeout, context.DeadlineExceeded)
	if err := ctx.Err(); err != nil {
		cause = fmt.Errorf("%s: %w", name, err)
	}
	unknown := fmt.Errorf("%w: %w", ErrUnknown, cause)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range index {
		if c.state[i] == done {
			continue
		}
		err := cause
		if c.write && c.state[i] == sent {
			err = unknown
		}
		if last := c.errs[i]; last != nil && !isContext(last) {
			err = fmt.Errorf("%w; before that: %w", err, last)
		}
		c.state[i], c.errs[i] = done, err
	}
}

// finish makes err the final error of keys. The lock is held.
func (c *call) finish(index []int, err error) {
	for _, i := range index {
		if c.state[i] == done {
			continue
		}
		c.errs[i] = err
		if err != nil && c.write && c.state[i] == sent {
			c.errs[i] = fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		c.state[i] = done
	}
}

// runLane sends the commands of a lane and sees to it that every key of it
// gets done, unless ctx ends first.
func (c *call) runLane(ctx context.Context, l *lane) {
	var again again
	for rest := l.index; len(rest) > 0 && ctx.Err() == nil; {
		n := c.batch(rest)
		cmds := c.commands(ctx, l, rest[:n])
		if !c.begin(rest[:n]) {
			return
		}
		pipe := l.pipe()
		for i := range cmds {
			_ = pipe.Process(ctx, &cmds[i])
		}
		_, err := pipe.Exec(ctx)
		rest = rest[n:]
		if !c.settle(l, cmds, rest, err, &again) {
			break
		}
	}
	c.goOn(ctx, l, &again)
}

// batch is how many of the keys go in one round trip.
func (c *call) batch(index []int) int {
	bytes := 0
	for n, i := range index {
		bytes += c.bytes(i)
		if n > 0 && (n == c.BatchKeys || bytes > c.BatchBytes) {
			return n
		}
	}
	return len(index)
}

func (c *call) bytes(i int) int {
	if c.size == nil {
		return len(c.keys[i])
	}
	return len(c.keys[i]) + c.size(i)
}

// commands makes the commands of one round trip.
func (c *call) commands(ctx context.Context, l *lane, index []int) []tracked {
	cmds := make([]tracked, 0, len(index))
	for len(index) > 0 {
		n := 1
		if c.many != nil && !l.singles {
			for n < len(index) && n < commandKeys && c.slots[index[n]] == c.slots[index[0]] {
				n++
			}
		}
		t := tracked{index: index[:n:n]}
		if n == 1 {
			t.Cmder = c.one(ctx, index[0])
		} else {
			t.Cmder = c.many(ctx, t.index)
		}
		cmds, index = append(cmds, t), index[n:]
	}
	return cmds
}

// begin notes that keys are about to be sent. It returns false when the call
// has given them up.
func (c *call) begin(index []int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range index {
		if c.state[i] == done {
			return false
		}
		c.state[i] = sent
	}
	return true
}
