package lockcluster

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// budget is the context of the hit path's one round trip. context.WithTimeout
// would cost 5 allocations and 7 % there. go-redis reads Deadline for socket
// I/O and looks at Done once, without blocking, before it takes an idle
// connection; only a caller that must wait, for a connection or a dial, looks
// again, and from then on a timer stands behind Done.
type budget struct {
	context.Context
	deadline time.Time
	asked    bool
	timed    context.Context
	cancel   context.CancelFunc
}

func newBudget(ctx context.Context, deadline time.Time) *budget {
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	return &budget{Context: ctx, deadline: deadline}
}

func (b *budget) Deadline() (time.Time, bool) { return b.deadline, true }

// Done is called from one goroutine at a time: the one that runs the command.
func (b *budget) Done() <-chan struct{} {
	if b.timed != nil {
		return b.timed.Done()
	}
	if !b.asked {
		b.asked = true
		return b.Context.Done()
	}
	b.timed, b.cancel = context.WithDeadline(b.Context, b.deadline)
	return b.timed.Done()
}

func (b *budget) Err() error {
	if b.timed != nil {
		return b.timed.Err()
	}
	return b.Context.Err()
}

// nearly is how long before a context's deadline an error is its doing: the
// socket, which has the same deadline, can be first by a moment.
const nearly = 5 * time.Millisecond

// gone is the error of a caller's context that has ended, or is about to: then
// the shard is not to blame for a failure.
func (c *Cache) gone(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d, ok := ctx.Deadline(); ok && d.Before(c.clock.in(nearly)) {
		return context.DeadlineExceeded
	}
	return nil
}

func (b *budget) stop() {
	if b.cancel != nil {
		b.cancel()
	}
}

// view is what was read at a key.
type view struct {
	header
	rec     bool   // there is a header
	payload []byte // the value, when has
	has     bool   // there is a payload
	plain   bool   // a plain string without a header of its own (PlainValues)
	foreign bool   // another type is at the key
}

// read fetches the record of a key: one plain GET.
func (c *Cache) read(ctx context.Context, sh *shard, key string) (view, error) {
	b := newBudget(ctx, c.clock.in(c.cfg.StepBudget))
	defer b.stop()
	return c.readWithin(b, ctx, sh, key)
}

// readWithin is read on a budget that the caller has already.
func (c *Cache) readWithin(b, ctx context.Context, sh *shard, key string) (view, error) {
	if c.cfg.PlainValues {
		return c.readPlain(ctx, sh, key)
	}
	raw, err := c.client.Get(b, key).Bytes()
	if err != nil {
		return c.readFailed(ctx, sh, err)
	}
	return c.parse(raw), nil
}

func (c *Cache) parse(raw []byte) view {
	if len(raw) < headerLen {
		return view{}
	}
	h, ok := parseHeader(raw)
	if !ok {
		return view{} // a string that is no record counts as a miss
	}
	v := view{header: h, rec: true}
	if h.kind == kindValue {
		v.payload, v.has = raw[headerLen:], true
	}
	return v
}

func (c *Cache) readFailed(ctx context.Context, sh *shard, err error) (view, error) {
	switch {
	case err == redis.Nil:
		return view{}, nil
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		return view{foreign: true}, nil
	case c.gone(ctx) != nil:
		return view{}, c.gone(ctx)
	}
	if isNetwork(err) {
		sh.breaker.fail()
	}
	return view{}, err
}

// reply is what a script answered.
type reply struct {
	state  string
	nowMS  int64
	header header
	rec    bool
	extra  string // LOST: the record (PlainValues: the value); REFUSED, FOREIGN: why
	has    bool   // extra is there
}

// run runs a script within the step budget. A network error is tried once
// more with the same token, whatever the client's own retries: scripts may run
// twice.
func (c *Cache) run(ctx context.Context, sh *shard, script *redis.Script, key string, args ...any) (reply, error) {
	step, cancel := context.WithTimeout(ctx, c.cfg.StepBudget)
	defer cancel()
	var err error
	for range 2 {
		var r reply
		if r, err = c.runOnce(step, sh, script, key, args); err == nil || !isNetwork(err) || step.Err() != nil {
			if err == nil {
				return r, nil
			}
			break
		}
	}
	if isNetwork(err) && c.gone(ctx) == nil {
		sh.breaker.fail()
	}
	return reply{}, err
}

func (c *Cache) runOnce(ctx context.Context, sh *shard, script *redis.Script, key string, args []any) (reply, error) {
	sent := c.clock.now()
	v, err := script.Run(ctx, c.client, c.scriptKeys(key), args...).Slice()
	if err != nil {
		return reply{}, err
	}
	return c.parseReply(sh, v, sent)
}

// runMany runs a script for several keys of one shard in one pipeline, with a
// reply or an error for each.
func (c *Cache) runMany(ctx context.Context, sh *shard, script *redis.Script, keys []manyKey, args [][]any) ([]reply, []error) {
	replies, errs := make([]reply, len(keys)), make([]error, len(keys))
	step, cancel := context.WithTimeout(ctx, c.cfg.StepBudget)
	defer cancel()
	sent := c.clock.now()
	pipe := c.client.Pipeline()
	cmds := make([]*redis.Cmd, len(keys))
	for i, k := range keys {
		cmds[i] = pipe.EvalSha(step, script.Hash(), c.scriptKeys(k.key), args[i]...)
	}
	_, _ = pipe.Exec(step)
	for i, k := range keys {
		v, err := cmds[i].Slice()
		switch {
		case err == nil:
			replies[i], errs[i] = c.parseReply(sh, v, sent)
		case redis.HasErrorPrefix(err, "NOSCRIPT") || isNetwork(err) && step.Err() == nil:
			replies[i], errs[i] = c.run(ctx, sh, script, k.key, args[i]...)
		default:
			errs[i] = err
		}
	}
	return replies, errs
}

// readMany reads several keys of one shard in one pipeline.
func (c *Cache) readMany(ctx context.Context, sh *shard, keys []manyKey) ([]view, []error) {
	views, errs := make([]view, len(keys)), make([]error, len(keys))
	step, cancel := context.WithTimeout(ctx, c.cfg.StepBudget)
	defer cancel()
	pipe := c.client.Pipeline()
	values, heads := make([]*redis.StringCmd, len(keys)), make([]*redis.StringCmd, len(keys))
	for i, k := range keys {
		values[i] = pipe.Get(step, k.key)
		if c.cfg.PlainValues {
			heads[i] = pipe.Get(step, companion(k.key))
		}
	}
	_, _ = pipe.Exec(step)
	for i := range keys {
		if c.cfg.PlainValues {
			views[i], errs[i] = c.pairPlain(ctx, sh, values[i], heads[i])
			continue
		}
		raw, err := values[i].Bytes()
		if err != nil {
			views[i], errs[i] = c.readFailed(ctx, sh, err)
		} else {
			views[i] = c.parse(raw)
		}
	}
	return views, errs
}

func (c *Cache) scriptKeys(key string) []string {
	if c.cfg.PlainValues {
		return []string{companion(key), key}
	}
	return []string{key}
}

func (c *Cache) parseReply(sh *shard, v []any, sent time.Duration) (reply, error) {
	if len(v) < 3 {
		return reply{}, fmt.Errorf("script answered %d values, want at least 3", len(v))
	}
	state, ok1 := v[0].(string)
	us, ok2 := v[1].(int64)
	raw, ok3 := v[2].(string)
	if !ok1 || !ok2 || !ok3 {
		return reply{}, fmt.Errorf("script answered %T, %T, %T", v[0], v[1], v[2])
	}
	sh.clock.add(us, sent, c.clock.now())
	r := reply{state: state, nowMS: us / 1000}
	r.header, r.rec = parseHeader(raw)
	if len(v) > 3 {
		r.extra, r.has = v[3].(string)
	}
	return r, nil
}

// ms gives a duration as a script argument.
func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
