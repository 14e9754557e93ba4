package lockcluster

import (
	"context"
	"encoding/binary"
	"hash/fnv"

	"github.com/redis/go-redis/v9"
)

// digest tells with PlainValues whether a header belongs to the value beside
// it or another program has written since.
func digest(payload []byte) (sum [8]byte) {
	h := fnv.New64a()
	h.Write(payload)
	binary.BigEndian.PutUint64(sum[:], h.Sum64())
	return sum
}

// readPlain reads value and header with two GETs in one pipeline: MGET would
// answer TRYAGAIN while the slot moves.
func (c *Cache) readPlain(ctx context.Context, sh *shard, key string) (view, error) {
	b, cancel := context.WithTimeout(ctx, c.cfg.StepBudget)
	defer cancel()
	pipe := c.client.Pipeline()
	value, head := pipe.Get(b, key), pipe.Get(b, companion(key))
	_, _ = pipe.Exec(b)
	return c.pairPlain(ctx, sh, value, head)
}

func (c *Cache) pairPlain(ctx context.Context, sh *shard, value, head *redis.StringCmd) (view, error) {
	raw, err := value.Bytes()
	if err != nil && err != redis.Nil {
		return c.readFailed(ctx, sh, err)
	}
	hs, herr := head.Result()
	if herr != nil && herr != redis.Nil {
		return c.readFailed(ctx, sh, herr)
	}
	return joinPlain(raw, err == nil, hs), nil
}

// joinPlain makes one view of a value and its header. A value that the header
// does not describe was written by somebody else: it is adopted, and stays
// fresh for as long as its writer lets it live.
func joinPlain(raw []byte, has bool, head string) view {
	var v view
	v.header, v.rec = parseHeader(head)
	if !has {
		if v.kind == kindValue {
			v.kind = kindNone // somebody deleted the value
		}
		return v
	}
	v.payload, v.has = raw, true
	if v.kind != kindValue || v.digest != digest(raw) {
		v.plain, v.kind = true, kindValue
	}
	return v
}

// setPlain stores a value while its slot is on the move and scripts of two keys
// answer TRYAGAIN: as another program would, for others to adopt.
func (c *Cache) setPlain(ctx context.Context, key string, value []byte) {
	step, cancel := context.WithTimeout(ctx, c.cfg.StepBudget)
	defer cancel()
	if err := c.client.Set(step, key, value, c.jittered()).Err(); err != nil {
		c.warn("value not stored while its slot moves", key, err)
	}
}

// invalidatePlain is Invalidate while the slot moves: first the header, which
// revokes the lease, then the value.
func (c *Cache) invalidatePlain(ctx context.Context, key string, args []any) error {
	step, cancel := context.WithTimeout(ctx, c.cfg.StepBudget)
	defer cancel()
	if err := invalidateScript.Run(step, c.client, []string{companion(key)}, args...).Err(); err != nil {
		return err
	}
	return c.client.Del(step, key).Err()
}
