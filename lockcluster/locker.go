package lockcluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A LockerConfig describes a [Locker]. Every zero value is the default.
type LockerConfig struct {
	// Name is the namespace of the wake-up channel. Empty means "default".
	Name string
	// Lease is how long a lock is held without a renewal, 100 ms to 5 min.
	// Zero means 10 s.
	Lease time.Duration
	// NoRenewal lets a lease end unless its holder calls Extend.
	NoRenewal bool
	// StepBudget bounds each round trip to Redis. Zero means 100 ms.
	StepBudget time.Duration
}

// A Locker is a lock per key on two levels: among the goroutines of this
// process first, then among processes, by a lease in Redis in the key's own
// slot. So that a herd of goroutines asks Redis once.
//
// It is an efficiency lock: it keeps work from being done twice. A holder that
// was paused beyond its lease may run beside the next one; where that would do
// harm, hand [Lock.Fence] to the system that is written to and let it refuse
// smaller numbers. The numbers grow as long as the Redis clocks agree, with no
// claim across a failover.
//
// Its methods may be called concurrently. Close it.
type Locker struct {
	c     *Cache // clock, shards, wake-ups
	lease time.Duration
	renew bool

	mu    sync.Mutex
	local map[string]*localLock
}

// localLock is the first level: one goroutine of this process at a time.
type localLock struct {
	turn chan struct{} // capacity 1
	refs int
}

// NewLocker makes a locker on a client, under the conditions of [New].
func NewLocker(client redis.UniversalClient, cfg LockerConfig) (*Locker, error) {
	def(&cfg.Name, "default")
	def(&cfg.Lease, 10*time.Second)
	base := Config{Name: cfg.Name + ":locks", Lease: cfg.Lease, StepBudget: cfg.StepBudget, CopyEntries: Off}
	c, err := New(client, base)
	if err != nil {
		return nil, err
	}
	return &Locker{c: c, lease: cfg.Lease, renew: !cfg.NoRenewal, local: map[string]*localLock{}}, nil
}

// Close stops the subscription and renewals: locks still held end with their
// leases. It returns ctx's error when that ends first.
func (l *Locker) Close(ctx context.Context) error { return l.c.Close(ctx) }

// A Lock is held until Release, or until Lost.
type Lock struct {
	l     *Locker
	key   string
	token token
	fence int64

	mu       sync.Mutex
	released bool
	lost     chan struct{}
	isLost   bool
	expiry   *time.Timer
	stop     context.CancelFunc
}

// Key is the key that the lock guards.
func (k *Lock) Key() string { return k.key }

// Token names this holding of the lock.
func (k *Lock) Token() string { return k.token.String() }

// Fence grows with every holding of the key's lock.
func (k *Lock) Fence() int64 { return k.fence }

// Lost is closed when the lease ended or was taken away before Release. By
// then, at the latest, the work that the lock guards must stop.
func (k *Lock) Lost() <-chan struct{} { return k.lost }

// The lock's record: 24 digits of the holder's token, or dashes; '!' when
// somebody waits; 16 digits of the fencing number; after a release the token
// of the last holder, so that a repeated release answers the same.
const lockPrelude = `
local K, FREE = KEYS[1], string.rep('-', 24)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local v = redis.call('GET', K)
local owner, waits, fence, last = FREE, '.', 0, ''
if v then
  owner, waits, fence, last = string.sub(v, 1, 24), string.sub(v, 25, 25), tonumber(string.sub(v, 26, 41)) or 0, string.sub(v, 42)
end
`

var lockScript = redis.NewScript(lockPrelude + `
if owner == ARGV[1] then return {'ACQUIRED', us, string.format('%.0f', fence)} end
if owner ~= FREE then
  if waits ~= '!' then redis.call('SETRANGE', K, 24, '!') end
  return {'HELD', us, string.format('%.0f', redis.call('PTTL', K))}
end
fence = math.max(fence + 1, us)
redis.call('SET', K, ARGV[1] .. '.' .. string.format('%016.0f', fence), 'PX', ARGV[2])
return {'ACQUIRED', us, string.format('%.0f', fence)}
`)

var extendScript = redis.NewScript(lockPrelude + `
if owner ~= ARGV[1] then return {'NOTHELD', us, ''} end
redis.call('PEXPIRE', K, ARGV[2])
return {'EXTENDED', us, ''}
`)

var unlockScript = redis.NewScript(lockPrelude + `
if owner ~= ARGV[1] then return {last == ARGV[1] and 'RELEASED' or 'NOTHELD', us, ''} end
redis.call('SET', K, FREE .. '.' .. string.format('%016.0f', fence) .. ARGV[1], 'PX', 60000)
if waits == '!' then redis.pcall('PUBLISH', ARGV[2], ARGV[3]) end
return {'RELEASED', us, ''}
`)

func (l *Locker) run(ctx context.Context, key string, script *redis.Script, args ...any) (state, value string, err error) {
	sh, err := l.c.shardFor(ctx, key)
	if err != nil {
		return "", "", err
	}
	if sh.breaker.open() {
		return "", "", ErrUnavailable
	}
	step, cancel := context.WithTimeout(ctx, l.c.cfg.StepBudget)
	defer cancel()
	for try := 1; ; try++ {
		v, err := script.Run(step, l.c.client, []string{lockKey(key)}, args...).Slice()
		if err == nil && len(v) == 3 {
			state, _ = v[0].(string)
			value, _ = v[2].(string)
			return state, value, nil
		}
		if try == 2 || !isNetwork(err) || step.Err() != nil {
			if isNetwork(err) && l.c.gone(ctx) == nil {
				sh.breaker.fail()
			}
			return "", "", err
		}
	}
}

// TryAcquire takes the lock if it is free: ErrNotObtained if not. It blocks
// for a round trip, within StepBudget.
func (l *Locker) TryAcquire(ctx context.Context, key string) (*Lock, error) {
	if !l.tryEnter(key) {
		return nil, fmt.Errorf("lockcluster: lock %q: %w", key, ErrNotObtained)
	}
	k, _, err := l.obtain(ctx, key, l.c.newToken())
	if err != nil {
		l.leave(key)
		return nil, fmt.Errorf("lockcluster: lock %q: %w", key, err)
	}
	return k, nil
}

// Acquire waits for the lock until ctx ends; the error then matches both
// ErrNotObtained and ctx's error. Errors of Redis end the wait too.
func (l *Locker) Acquire(ctx context.Context, key string) (*Lock, error) {
	if err := l.enter(ctx, key); err != nil {
		return nil, fmt.Errorf("lockcluster: lock %q: %w: %w", key, ErrNotObtained, err)
	}
	w := l.c.wake.register(key)
	defer l.c.wake.unregister(w)
	for {
		k, left, err := l.obtain(ctx, key, l.c.newToken())
		if err == nil {
			return k, nil
		}
		if errors.Is(err, ErrNotObtained) {
			timer := time.NewTimer(min(l.c.wake.pollAfter(), left+10*time.Millisecond))
			select {
			case <-timer.C:
				continue
			case <-w.c:
				timer.Stop()
				continue
			case <-ctx.Done():
				timer.Stop()
				err = fmt.Errorf("%w: %w", ErrNotObtained, ctx.Err())
			}
		} else if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ErrNotObtained, ctx.Err())
		}
		l.leave(key)
		return nil, fmt.Errorf("lockcluster: lock %q: %w", key, err)
	}
}

func (l *Locker) obtain(ctx context.Context, key string, t token) (k *Lock, left time.Duration, err error) {
	if l.c.tasks.closed.Load() {
		return nil, 0, fmt.Errorf("%w: locker closed", ErrUnavailable)
	}
	sent := time.NewTimer(l.lease)
	state, value, err := l.run(ctx, key, lockScript, t.String(), ms(l.lease))
	n, _ := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		sent.Stop()
		if isNetwork(err) {
			l.unlockLater(key, t) // it may have been executed
		}
		return nil, 0, err
	case state == "HELD":
		sent.Stop()
		return nil, max(time.Duration(n)*time.Millisecond, 0), ErrNotObtained
	}
	k = &Lock{l: l, key: strings.Clone(key), token: t, fence: n, lost: make(chan struct{}), expiry: sent}
	rctx, stop := context.WithCancel(context.Background())
	k.stop = stop
	go k.watch(rctx)
	if l.renew && !l.c.tasks.start(func(tctx context.Context) {
		defer context.AfterFunc(tctx, stop)()
		k.keep(rctx)
	}) {
		stop()
	}
	return k, 0, nil
}

// watch closes Lost when the lease ends by this process's count, which starts
// before the server's.
func (k *Lock) watch(ctx context.Context) {
	select {
	case <-k.expiry.C:
		k.lose()
	case <-ctx.Done():
	}
}

// keep renews at a third of the lease.
func (k *Lock) keep(ctx context.Context) {
	for sleep(ctx, k.l.lease/3) {
		if err := k.extend(ctx, k.l.lease); errors.Is(err, ErrLost) {
			return
		}
	}
}

func (k *Lock) lose() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.released && !k.isLost {
		k.isLost = true
		close(k.lost)
	}
}

// Extend makes the lease end d from now, 1 ms at least. ErrLost: it has ended
// or was taken away. ErrNotHeld: it was released. Another error leaves it as it
// was, or not; ask again.
func (k *Lock) Extend(ctx context.Context, d time.Duration) error {
	if d < time.Millisecond {
		return fmt.Errorf("lockcluster: extend %q: %s is below 1 ms", k.key, d)
	}
	if err := k.extend(ctx, d); err != nil {
		return fmt.Errorf("lockcluster: extend %q: %w", k.key, err)
	}
	return nil
}

func (k *Lock) extend(ctx context.Context, d time.Duration) error {
	if err := k.state(); err != nil {
		return err
	}
	sent := k.l.c.clock.now()
	state, _, err := k.l.run(ctx, k.key, extendScript, k.token.String(), ms(d))
	switch {
	case err != nil:
		return err
	case state == "NOTHELD":
		k.lose()
		return ErrLost
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.isLost && !k.released {
		k.expiry.Reset(max(d-(k.l.c.clock.now()-sent), 0))
	}
	return nil
}

func (k *Lock) state() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.released:
		return ErrNotHeld
	case k.isLost:
		return ErrLost
	}
	return nil
}

// Release gives the lock back. ErrNotHeld: it was released before, or lost. On
// another error the lock ends with its lease. It blocks for a round trip,
// within StepBudget.
func (k *Lock) Release(ctx context.Context) error {
	k.mu.Lock()
	if k.released {
		k.mu.Unlock()
		return fmt.Errorf("lockcluster: release %q: %w", k.key, ErrNotHeld)
	}
	k.released = true
	k.mu.Unlock()
	k.stop()
	k.expiry.Stop()
	defer k.l.leave(k.key)
	state, _, err := k.l.run(ctx, k.key, unlockScript, k.token.String(), k.l.c.channel(), k.key)
	if err == nil && state == "NOTHELD" {
		err = ErrNotHeld
	}
	if err != nil {
		if isNetwork(err) {
			k.l.unlockLater(k.key, k.token)
		}
		return fmt.Errorf("lockcluster: release %q: %w", k.key, err)
	}
	return nil
}

// unlockLater gives back what may be held, once Redis answers.
func (l *Locker) unlockLater(key string, t token) {
	l.c.tasks.start(func(ctx context.Context) {
		for end := l.c.clock.now() + l.lease; l.c.clock.now() < end && sleep(ctx, 20*time.Millisecond); {
			if _, _, err := l.run(ctx, key, unlockScript, t.String(), l.c.channel(), key); err == nil {
				return
			}
		}
	})
}

func (l *Locker) localLock(key string) *localLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	ll := l.local[key]
	if ll == nil {
		ll = &localLock{turn: make(chan struct{}, 1)}
		l.local[strings.Clone(key)] = ll
	}
	ll.refs++
	return ll
}

func (l *Locker) forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ll := l.local[key]
	if ll.refs--; ll.refs == 0 {
		delete(l.local, key)
	}
}

func (l *Locker) enter(ctx context.Context, key string) error {
	select {
	case l.localLock(key).turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		l.forget(key)
		return ctx.Err()
	}
}

func (l *Locker) tryEnter(key string) bool {
	select {
	case l.localLock(key).turn <- struct{}{}:
		return true
	default:
		l.forget(key)
		return false
	}
}

func (l *Locker) leave(key string) {
	l.mu.Lock()
	<-l.local[key].turn
	l.mu.Unlock()
	l.forget(key)
}
