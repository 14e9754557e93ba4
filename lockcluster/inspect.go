package lockcluster

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Inspect reads what stands at a key, for people; plain says that the cache
// there has PlainValues. It changes nothing and needs no Cache. ErrNotFound
// stands for no value; the record says why. It blocks for two round trips,
// within ctx and a second each.
func Inspect(ctx context.Context, client redis.UniversalClient, key string, plain bool) (Record, []byte, error) {
	c, err := toolCache(client, plain)
	if err != nil {
		return Record{}, nil, err
	}
	defer c.tasks.cancel()
	return c.Peek(ctx, key)
}

// Unlock takes a lease away from the load that holds it, by the token that
// Inspect shows: the load's value will be refused, and somebody who waits
// loads. ErrNotHeld means that this token holds nothing (any more). It is for
// the case that a load is known to be dead and its lease is long.
func Unlock(ctx context.Context, client redis.UniversalClient, key, leaseToken string, plain bool) error {
	var t token
	if n, err := hex.Decode(t[:], []byte(leaseToken)); err != nil || n != len(t) || len(leaseToken) != 2*len(t) || t.zero() {
		return fmt.Errorf("lockcluster: unlock %q: token %q: want the %d hexadecimal digits that inspect shows", key, leaseToken, 2*len(t))
	}
	c, err := toolCache(client, plain)
	if err != nil {
		return err
	}
	defer c.tasks.cancel()
	sh, err := c.shardFor(ctx, key)
	if err != nil {
		return fmt.Errorf("lockcluster: unlock %q: %w", key, err)
	}
	look, err := c.run(ctx, sh, acquireScript, key, "", "0", "", "", "")
	if err == nil && look.header.lease != t {
		err = ErrNotHeld
	}
	if err == nil {
		_, err = c.run(ctx, sh, releaseScript, key, t[:], "0", "0", "0", "0", "0", c.channel(), key)
	}
	if err != nil {
		return fmt.Errorf("lockcluster: unlock %q: %w", key, err)
	}
	return nil
}

const toolBudget = time.Second

// toolCache is a cache without a subscription, for one call.
func toolCache(client redis.UniversalClient, plain bool) (*Cache, error) {
	return build(client, Config{PlainValues: plain, StepBudget: toolBudget})
}
