package lockcluster

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Set stores a value as a load would have, and revokes loads under way: what
// they bring is not stored. It has the guarantees of a plain SET: when its
// reply is lost, go-redis may repeat it. It blocks for a round trip, within
// StepBudget. A value beyond MaxValueBytes is an error.
func (c *Cache) Set(ctx context.Context, key string, value []byte) error {
	if len(value) > c.cfg.MaxValueBytes {
		return fmt.Errorf("lockcluster: set %q: %d bytes are more than MaxValueBytes (%d)", key, len(value), c.cfg.MaxValueBytes)
	}
	var sum [8]byte
	if c.cfg.PlainValues {
		sum = digest(value)
	}
	if value == nil {
		value = []byte{}
	}
	id := c.newToken()
	r, err := c.edit(ctx, "set", key, fillScript, id[:], "", int(kindValue), ms(c.jittered()), ms(c.cfg.Stale), "0",
		sum[:], value, c.channel(), key, ms(tombstoneFor))
	if err == nil && r.state == "REFUSED" {
		return fmt.Errorf("lockcluster: set %q: %s", key, r.extra)
	}
	return err
}

// Invalidate removes the value and revokes loads under way: no Get, in any
// process, that starts after Invalidate returned nil is answered with what was
// there before, or with what a load that started before brings. Exceptions: a
// failover that loses this write, and last good copies while a shard is sick.
// Other processes drop their copies when they hear of it; this one does at
// once.
//
// It blocks for a round trip, within StepBudget. After an error the outcome is
// unknown: call it again.
func (c *Cache) Invalidate(ctx context.Context, key string) error {
	id := c.newToken()
	_, err := c.edit(ctx, "invalidate", key, invalidateScript, id[:], "1", ms(tombstoneFor), c.channel(), key)
	return err
}

// MarkStale ends the freshness of the value: it is still answered for the rest
// of its life while one load, started after the mark, refreshes it. It
// blocks for a round trip, within StepBudget.
func (c *Cache) MarkStale(ctx context.Context, key string) error {
	id := c.newToken()
	_, err := c.edit(ctx, "mark stale", key, invalidateScript, id[:], "0", ms(tombstoneFor), c.channel(), key)
	return err
}

func (c *Cache) edit(ctx context.Context, what, key string, script *redis.Script, args ...any) (reply, error) {
	if c.tasks.closed.Load() {
		return reply{}, &LoadError{Key: key, Reason: Closed}
	}
	c.copies.drop(key)
	defer c.copies.drop(key)
	sh, err := c.shardFor(ctx, key)
	if err != nil {
		return reply{}, fmt.Errorf("lockcluster: %s %q: %w", what, key, err)
	}
	r, err := c.run(ctx, sh, script, key, args...)
	if c.cfg.PlainValues && script == invalidateScript && redis.IsTryAgainError(err) {
		r, err = reply{}, c.invalidatePlain(ctx, key, args)
	}
	switch {
	case err != nil:
		return r, fmt.Errorf("lockcluster: %s %q: %w", what, key, err)
	case r.state == "FOREIGN":
		return r, fmt.Errorf("lockcluster: %s %q: the key holds another type and is left alone: %s", what, key, r.extra)
	}
	c.wake.wake(key)
	return r, nil
}

// Peek reads a key and never loads. It blocks for a round trip, within
// StepBudget. ErrNotFound stands for nothing there, and for a remembered "not
// found"; the record's Kind tells them apart.
func (c *Cache) Peek(ctx context.Context, key string) (Record, []byte, error) {
	sh, err := c.shardFor(ctx, key)
	if err != nil {
		return Record{}, nil, fmt.Errorf("lockcluster: peek %q: %w", key, err)
	}
	look, err := c.run(ctx, sh, acquireScript, key, "", "0", "", "", "")
	if err != nil {
		return Record{}, nil, fmt.Errorf("lockcluster: peek %q: %w", key, err)
	}
	v, err := c.read(ctx, sh, key)
	if err != nil {
		return Record{}, nil, fmt.Errorf("lockcluster: peek %q: %w", key, err)
	}
	rec := newRecord(v, look.nowMS)
	if !v.has {
		return rec, nil, ErrNotFound
	}
	return rec, v.payload, nil
}

// A Record is what stands at a key besides the value, for people and tests.
// Durations count from the moment of reading, by the server's clock; zero
// means over, or none.
type Record struct {
	// Kind is "value", "not found", "none" (a lease, failures, or the mark of
	// an invalidation), "plain" (a string that another program wrote),
	// "foreign" (another type), or "absent".
	Kind string
	// Bytes is the length of the value.
	Bytes int
	// FreshFor and StaleFor are how long it stays fresh, and how long it is
	// there at all.
	FreshFor, StaleFor time.Duration
	// LoadTime is how long the load of this value took.
	LoadTime time.Duration
	// Generation counts the values stored since the key came to be.
	Generation int64
	// FillID names the load that stored the value.
	FillID string
	// Lease is the token of the load under way, LeaseFor how long it holds.
	// Empty when none runs.
	Lease    string
	LeaseFor time.Duration
	// Waited tells whether somebody waits for that load.
	Waited bool
	// Failures are loads failed in a row, CoolingFor how long the loader rests.
	Failures   int
	CoolingFor time.Duration
}

func newRecord(v view, nowMS int64) Record {
	rest := func(until int64) time.Duration { return time.Duration(max(until-nowMS, 0)) * time.Millisecond }
	switch {
	case v.foreign:
		return Record{Kind: "foreign"}
	case v.plain:
		return Record{Kind: "plain", Bytes: len(v.payload)}
	case !v.rec:
		return Record{Kind: "absent"}
	}
	r := Record{
		Kind:       [...]string{"none", "value", "not found"}[v.kind],
		Bytes:      len(v.payload),
		FreshFor:   v.freshFor(nowMS),
		StaleFor:   rest(v.staleUntil),
		LoadTime:   time.Duration(v.delta) * time.Millisecond,
		Generation: v.gen,
		Waited:     v.flags&flagWaits != 0,
		Failures:   v.fails,
		CoolingFor: rest(v.coolUntil),
	}
	if !v.fill.zero() {
		r.FillID = v.fill.String()
	}
	if v.held(nowMS) {
		r.Lease, r.LeaseFor = v.lease.String(), rest(v.leaseEnd)
	}
	return r
}
