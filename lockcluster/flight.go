package lockcluster

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// answer is what a flight gives all its callers.
type answer struct {
	value   []byte
	missing bool
	source  Source
}

// A flight answers all callers of this process that ask for a key at the same
// time: it loads, or waits for somebody else's load.
//
// It is sealed, forgotten by the group so that later callers start a new
// flight, before the last round trip whose answer it gives: whoever joins an
// unsealed flight is answered from a state of Redis later than the joining.
// That is why nobody who arrives after an invalidation gets what was before.
type flight struct {
	c       *Cache
	key     string
	load    Loader
	token   token
	seen    view // what the first caller read, if anything
	sealed  bool
	began   time.Duration
	mark    token // fill id when the lease was first found held
	waited  time.Duration
	waiter  *waiter
	reason  loadReason
	wokenBy wakeCause
}

// fly is the function of a flight. It always returns, within LoadTimeout or
// WaitBudget + LoserTimeout and a few step budgets.
func (c *Cache) fly(ctx context.Context, key string, load Loader, seen view) (answer, error) {
	f := &flight{c: c, key: key, load: load, seen: seen, began: c.clock.now(), reason: loadMiss}
	c.open.add(key)
	f.waiter = c.wake.register(key)
	defer func() {
		f.seal()
		c.wake.unregister(f.waiter)
		if f.waited > 0 {
			c.stats.waited(f.wokenBy, f.waited)
		}
	}()
	return f.run(ctx)
}

// seal forgets the flight, once: a second Forget would hit the next flight.
func (f *flight) seal() {
	if !f.sealed {
		f.sealed = true
		f.c.open.remove(f.key)
		f.c.group.Forget(f.key)
	}
}

// left is the time until a bound that counts from the start of the flight.
func (f *flight) left(bound time.Duration) time.Duration {
	return f.began + bound - f.c.clock.now()
}

func (f *flight) fail(reason Reason, err error) (answer, error) {
	return answer{}, &LoadError{Key: f.key, Reason: reason, Err: err}
}

// run acquires the lease until it can load, finds a value, or may not wait any
// longer.
func (f *flight) run(ctx context.Context) (answer, error) {
	c := f.c
	for f.left(f.bound()) > 0 {
		sh, err := c.shardFor(ctx, f.key)
		if err != nil || sh.breaker.open() {
			return f.sick(ctx, err)
		}
		f.token = c.newToken()
		r, err := f.acquire(ctx, sh, "1")
		if c.cfg.PlainValues && redis.IsTryAgainError(err) {
			return f.unleased(ctx, loadMoving)
		}
		if err != nil && (isSick(err) || isNetwork(err)) {
			return f.sick(ctx, err)
		}
		if err != nil {
			c.warn("acquire refused", f.key, err)
			return f.unleased(ctx, loadRefused)
		}
		var a answer
		var done bool
		switch r.state {
		case "ACQUIRED":
			a, done, err = f.lead(ctx, sh, r)
		case "FRESH":
			a, done, err = f.reread(ctx, sh)
		case "COOLING":
			a, done, err = f.cooling(ctx, sh, r)
		case "HELD":
			a, done, err = f.wait(ctx, sh, r)
		default: // FOREIGN
			c.warn("the key holds another type and is left alone", f.key, errorString(r.extra))
			return f.unleased(ctx, loadForeign)
		}
		if done {
			return a, err
		}
	}
	return f.fail(Superseded, nil)
}

type errorString string

func (e errorString) Error() string { return string(e) }

// bound is how long the flight may take: a load, or a wait and a last load.
func (f *flight) bound() time.Duration {
	if f.waited > 0 {
		return f.c.cfg.WaitBudget + f.c.cfg.LoserTimeout
	}
	return f.c.cfg.LoadTimeout
}

// acquire asks for the lease; wait "1" asks to be woken when it is held.
func (f *flight) acquire(ctx context.Context, sh *shard, wait string) (reply, error) {
	known := ""
	if f.seen.rec {
		known = string(f.seen.fill[:])
	}
	r, err := f.c.run(ctx, sh, acquireScript, f.key, f.token[:], ms(f.c.cfg.Lease), known, wait, ms(leaseGrace))
	if err != nil {
		if isNetwork(err) {
			f.c.releaseLater(sh, f.key, f.token) // it may have been executed
		}
		return r, err
	}
	f.c.stats.lease(r.state)
	return r, nil
}

// reread reads the value that is said to be there. done is false when there is
// none after all.
func (f *flight) reread(ctx context.Context, sh *shard) (answer, bool, error) {
	f.seal()
	v, err := f.c.read(ctx, sh, f.key)
	if err != nil {
		a, err := f.sick(ctx, err)
		return a, true, err
	}
	a, ok := f.accept(v, sh)
	if !ok {
		f.seen = v
	}
	return a, ok, nil
}

// accept takes a value that is fresh, or newer than the one in place when the
// wait began.
func (f *flight) accept(v view, sh *shard) (answer, bool) {
	now, _ := sh.clock.nowMS(f.c.clock.now())
	switch {
	case v.plain:
	case v.kind == kindNone:
		return answer{}, false
	case f.seen.rec && v.fill == f.seen.fill:
		return answer{}, false // known to be bad, or too old
	case v.freshFor(now) > 0:
	case f.waited > 0 && v.fill != f.mark && v.usable(now):
	default:
		return answer{}, false
	}
	if v.kind == kindNotFound {
		return answer{missing: true, source: Elsewhere}, true
	}
	return answer{value: v.payload, source: Elsewhere}, true
}

// cooling answers while the loader rests: with a stale value, else an error.
func (f *flight) cooling(ctx context.Context, sh *shard, r reply) (answer, bool, error) {
	f.seal()
	if r.header.usable(r.nowMS) {
		if v, err := f.c.read(ctx, sh, f.key); err == nil && v.usable(r.nowMS) && v.fill != f.seen.fill {
			return answer{value: v.payload, missing: v.kind == kindNotFound, source: Stale}, true, nil
		}
	}
	rest := time.Duration(r.header.coolUntil-r.nowMS) * time.Millisecond
	return answer{}, true, &LoadError{Key: f.key, Reason: CoolingDown, RetryAfter: rest}
}

// lead loads under the lease and fills. done is false when the load was
// superseded and there is time for another.
func (f *flight) lead(ctx context.Context, sh *shard, r reply) (answer, bool, error) {
	return f.loadAndFill(ctx, sh, r, f.token, max(min(f.c.cfg.LoadTimeout, f.left(f.bound())), time.Millisecond))
}

// loadAndFill loads and stores under a lease: our own, or, as a last resort,
// one that somebody else held when this load began. Either proves by still
// being there that nobody invalidated the key meanwhile.
func (f *flight) loadAndFill(ctx context.Context, sh *shard, r reply, lease token, limit time.Duration) (answer, bool, error) {
	c := f.c
	l := &Load{key: f.key}
	f.previous(ctx, sh, r, l)
	stop := func() {}
	if lease == f.token {
		stop = c.renew(ctx, sh, f.key, lease)
	}
	o := c.call(ctx, f.load, l, limit, f.reason)
	stop()
	f.seal()
	if o.reason != 0 {
		if lease == f.token {
			c.release(ctx, sh, f.key, lease, o.counts())
		}
		a, err := f.fail(o.reason, o.err)
		return a, true, err
	}
	a := answer{value: o.value, missing: o.missing, source: Loaded}
	if f.reason == loadFallback {
		a.source = Fallback
	}
	fr, err := c.fill(ctx, sh, f.key, f.token, lease, l, o)
	if c.filled(ctx, sh, f.key, f.token, lease, a, fr, err) {
		return f.superseded(fr, sh)
	}
	return a, true, nil
}

// superseded looks at what stands in place of the value that was loaded.
func (f *flight) superseded(r reply, sh *shard) (answer, bool, error) {
	var v view
	if f.c.cfg.PlainValues {
		v = view{header: r.header, rec: r.rec}
		if r.has {
			v.payload, v.has = []byte(r.extra), true
			v.plain = v.kind != kindValue || v.digest != digest(v.payload)
		}
	} else if r.has {
		v = f.c.parse([]byte(r.extra))
	}
	a, ok := f.accept(v, sh)
	return a, ok, nil
}

// previous gives the loader the value that it replaces, if there is one.
func (f *flight) previous(ctx context.Context, sh *shard, r reply, l *Load) {
	if r.header.kind != kindValue {
		return
	}
	v := f.seen
	if !v.has || v.fill != r.header.fill {
		var err error
		if v, err = f.c.read(ctx, sh, f.key); err != nil || v.fill != r.header.fill {
			return
		}
	}
	l.previous, l.has = v.payload, v.has
}

// wait waits for somebody else's load. done is false when the lease may be
// free.
func (f *flight) wait(ctx context.Context, sh *shard, r reply) (answer, bool, error) {
	c := f.c
	began := c.clock.now()
	before := f.waited
	if before == 0 {
		f.mark = r.header.fill
	}
	defer func() { f.waited = before + max(c.clock.now()-began, 1) }()
	held := r.header
	nowMS := r.nowMS
	for {
		f.waited = before + max(c.clock.now()-began, 1)
		left := f.left(c.cfg.WaitBudget)
		if left <= 0 {
			return f.lastResort(ctx, sh, held)
		}
		leaseLeft := time.Duration(held.leaseEnd-nowMS)*time.Millisecond + 10*time.Millisecond
		f.wokenBy = wokenByNothing
		timer := time.NewTimer(min(left, c.wake.pollAfter(), max(leaseLeft, time.Millisecond)))
		select {
		case <-f.waiter.c:
			timer.Stop()
			f.wokenBy = wokenByMessage
			return f.reread(ctx, sh)
		case <-timer.C:
		}
		// The timer looks at the header alone, so that the flight stays open.
		look, err := c.run(ctx, sh, acquireScript, f.key, "", "0", "", "", "")
		if err != nil {
			a, err := f.sick(ctx, err)
			return a, true, err
		}
		held, nowMS = look.header, look.nowMS
		if !look.rec || held.fill != f.mark || !held.held(nowMS) {
			f.wokenBy = wokenByTimer
			return answer{}, false, nil
		}
	}
}

// lastResort is for a caller that waited WaitBudget.
func (f *flight) lastResort(ctx context.Context, sh *shard, held header) (answer, bool, error) {
	if now, ok := sh.clock.nowMS(f.c.clock.now()); ok && held.usable(now) {
		if a, done, err := f.staleCopy(ctx, sh, now); done {
			return a, done, err
		}
	}
	if f.c.cfg.WaitThen == Error {
		f.seal()
		a, err := f.fail(WaitedTooLong, nil)
		return a, true, err
	}
	first := f.c.fallbacks.add(f.key)
	defer f.c.fallbacks.remove(f.key)
	if !first { // a flight sealed early may overlap: one such load per process
		return f.awaitFallback(ctx, sh)
	}
	f.reason = loadFallback
	defer func() { f.reason = loadMiss }()
	limit := min(f.c.cfg.LoserTimeout, f.left(f.c.cfg.WaitBudget+f.c.cfg.LoserTimeout))
	return f.loadAndFill(ctx, sh, reply{header: held}, held.lease, limit)
}

// awaitFallback waits for the last resort of another flight of this process.
func (f *flight) awaitFallback(ctx context.Context, sh *shard) (answer, bool, error) {
	timer := time.NewTimer(max(f.left(f.c.cfg.WaitBudget+f.c.cfg.LoserTimeout), 0))
	defer timer.Stop()
	for {
		select {
		case <-f.waiter.c:
		case <-timer.C:
			f.seal()
			a, err := f.fail(WaitedTooLong, nil)
			return a, true, err
		}
		if a, done, err := f.reread(ctx, sh); done {
			return a, true, err
		}
	}
}

func (f *flight) staleCopy(ctx context.Context, sh *shard, now int64) (answer, bool, error) {
	f.seal()
	v, err := f.c.read(ctx, sh, f.key)
	if err != nil || !v.usable(now) || f.seen.rec && v.fill == f.seen.fill {
		return answer{}, false, nil
	}
	return answer{value: v.payload, missing: v.kind == kindNotFound, source: Stale}, true, nil
}

// sick answers without Redis, as the policy says.
func (f *flight) sick(ctx context.Context, cause error) (answer, error) {
	c := f.c
	if c.cfg.WhenSick != FailClosed {
		if a, ok := c.copies.get(f.key); ok {
			return a, nil
		}
	}
	if c.cfg.WhenSick != FailOpenBounded {
		f.seal()
		return f.fail(Unavailable, cause)
	}
	return f.unleased(ctx, loadSick)
}

// unleased loads for this process alone and stores nothing but a last good
// copy.
func (f *flight) unleased(ctx context.Context, reason loadReason) (answer, error) {
	c := f.c
	limit := max(f.left(c.cfg.LoadTimeout), min(c.cfg.LoserTimeout, f.left(c.cfg.WaitBudget+c.cfg.LoserTimeout)))
	turn, cancel := context.WithTimeout(ctx, limit)
	err := c.sickLoads.Acquire(turn, 1)
	cancel()
	if err != nil {
		f.seal()
		return f.fail(Unavailable, errorString("all places for loads without redis are taken (MaxSickLoads)"))
	}
	defer c.sickLoads.Release(1)
	l := &Load{key: f.key}
	o := c.call(ctx, f.load, l, limit, reason)
	f.seal()
	if o.reason != 0 {
		return f.fail(o.reason, o.err)
	}
	a := answer{value: o.value, missing: o.missing, source: Alone}
	switch {
	case l.noStore:
	case reason == loadSick:
		c.copies.put(f.key, a.value, a.missing, token{})
	case reason == loadMoving && !a.missing:
		c.setPlain(ctx, f.key, a.value)
	}
	return a, nil
}
