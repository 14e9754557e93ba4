package hashtag

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Multi runs multi-key operations over any number of slots. It groups the
// keys by slot, sends one pipeline to each node that owns some of them, and
// puts the answers back into the order of the input.
//
// Every key gets its own answer or its own error. A dead or slow node costs
// the keys it owns and nothing else: the other nodes' answers are returned,
// together with a [PartialError]. The operations are not atomic.
//
// Redirects are followed key by key, so the operations work while slots are
// moved. A command whose outcome is unknown is repeated only when a repetition
// changes nothing: MGet, Exists, Touch, MSet, and Expire with a ttl longer than
// ShardTimeout, but never Del and Unlink.
//
// The zero values of all fields but Client are the defaults. A Multi may be
// copied, and its methods may be called concurrently. They return when every
// node has answered or run into its timeout, or soon after ctx ends, also when
// the client itself does not look at contexts (ContextTimeoutEnabled).
type Multi struct {
	// Client is the client to use: a cluster client, a ring or a client of a
	// single server. A cluster client follows redirects only with MaxRedirects
	// of 1 or more (the default is 3). Nodes are asked directly, so hooks added
	// to a cluster client itself see redirected commands only; add hooks with
	// OnNewNode. On a cluster client with ReadOnly, MGet and Exists ask replicas
	// (and masters where a replica fails), which may lag behind and which, while
	// a slot is moved, call keys missing that are already gone.
	Client redis.UniversalClient

	// ShardTimeout bounds what one operation spends on one node, redirects and
	// retries included; when it is over, the node's keys that are not answered
	// fail. Calls with very many or very large keys need more. Zero means 1 s.
	ShardTimeout time.Duration

	// BatchKeys is the most keys in one round trip to a node. Zero means 1024.
	BatchKeys int

	// BatchBytes is about the most bytes of keys and values in one round trip
	// to a node; a key or value that is larger goes alone. Zero means 1 MiB.
	BatchBytes int
}

const (
	defaultShardTimeout = time.Second
	defaultBatchKeys    = 1024
	defaultBatchBytes   = 1 << 20
)

// check fills the defaults in.
func (m Multi) check(op string) (Multi, error) {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("hashtag: %s: %s %v: want %s", op, field, value, want))
	}
	if m.Client == nil {
		bad("Client", nil, "a go-redis client")
	}
	switch {
	case m.ShardTimeout < 0:
		bad("ShardTimeout", m.ShardTimeout, "more than 0, or 0 for 1s")
	case m.ShardTimeout == 0:
		m.ShardTimeout = defaultShardTimeout
	}
	switch {
	case m.BatchKeys < 0:
		bad("BatchKeys", m.BatchKeys, "1 or more, or 0 for 1024")
	case m.BatchKeys == 0:
		m.BatchKeys = defaultBatchKeys
	}
	switch {
	case m.BatchBytes < 0:
		bad("BatchBytes", m.BatchBytes, "1 or more, or 0 for 1 MiB")
	case m.BatchBytes == 0:
		m.BatchBytes = defaultBatchBytes
	}
	return m, errors.Join(errs...)
}

// A Value is MGet's answer for one key.
type Value struct {
	// Val is the value. It is empty when Found is false.
	Val string
	// Found is false when the key does not exist, when it holds something that
	// is not a string (as MGET has it), and when Err is set.
	Found bool
	// Err says why there is no answer. A missing key is not an error.
	Err error
}

// MGet reads keys. The result has one Value for each key, in the order of the
// keys; a key that is there twice has two. The error matches [ErrPartial] when
// the Err of a Value is set; with any other error the result is nil.
func (m Multi) MGet(ctx context.Context, keys ...string) ([]Value, error) {
	m, err := m.check("MGet")
	if err != nil {
		return nil, err
	}
	keys = slices.Clone(keys)
	values := make([]Value, len(keys))
	c := &call{
		Multi: m, op: "MGet", keys: keys, repeat: true, read: true,
		one: func(ctx context.Context, i int) redis.Cmder { return redis.NewStringCmd(ctx, "get", keys[i]) },
		many: func(ctx context.Context, index []int) redis.Cmder {
			return redis.NewSliceCmd(ctx, args("mget", keys, index)...)
		},
		take: func(index []int, cmd redis.Cmder) error { return takeValues(values, index, cmd) },
	}
	err = c.run(ctx)
	for i, e := range c.errs {
		if e != nil {
			values[i] = Value{Err: e}
		}
	}
	return values, err
}

func takeValues(values []Value, index []int, cmd redis.Cmder) error {
	if get, ok := cmd.(*redis.StringCmd); ok {
		val, err := get.Result()
		switch {
		case err == nil:
			values[index[0]] = Value{Val: val, Found: true}
		case !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE"):
			return err
		}
		return nil
	}
	replies, err := cmd.(*redis.SliceCmd).Result()
	if err != nil {
		return err
	}
	if len(replies) != len(index) {
		return fmt.Errorf("MGET of %d keys answered %d values", len(index), len(replies))
	}
	for n, r := range replies {
		if val, ok := r.(string); ok {
			values[index[n]] = Value{Val: val, Found: true}
		}
	}
	return nil
}

// A Pair is a key and the value to give it.
type Pair struct {
	Key string
	// Value is what go-redis can write: nil (the empty string), a string,
	// []byte, integer, float, bool (1 or 0), time.Time (RFC 3339 with
	// nanoseconds), time.Duration (nanoseconds), net.IP, a pointer to one of
	// them, or an encoding.BinaryMarshaler.
	Value any
}

// MSet writes pairs, with a time to live when ttl is not 0. When a key is
// there twice the last value counts, as on one server. A pair that cannot be
// encoded is an error that names its key, and then nothing is sent. The values
// are copied before MSet returns, so buffers may be reused.
//
// The ttl is 0 for none, or at least 1 ms; it starts when a server gets the
// command. The error matches [ErrPartial] when keys failed, and a key's error
// [ErrUnknown] when it may have been written all the same.
func (m Multi) MSet(ctx context.Context, ttl time.Duration, pairs ...Pair) error {
	m, err := m.check("MSet")
	if err != nil {
		return err
	}
	if ttl < 0 || ttl > 0 && ttl < time.Millisecond {
		return fmt.Errorf("hashtag: MSet: ttl %v: want at least 1ms, or 0 for keys that do not expire", ttl)
	}
	keys := make([]string, len(pairs))
	values := make([]string, len(pairs))
	for i, p := range pairs {
		keys[i] = p.Key
		if values[i], err = encode(p.Value); err != nil {
			return fmt.Errorf("hashtag: MSet: value %d, key %q: %w", i+1, p.Key, err)
		}
	}
	u := lastOf(keys)
	c := &call{
		Multi: m, op: "MSet", keys: u.keys, write: true, repeat: true,
		size: func(i int) int { return len(values[u.input[i]]) },
		one: func(ctx context.Context, i int) redis.Cmder {
			a := []any{"set", u.keys[i], values[u.input[i]]}
			if ttl > 0 {
				a = append(a, "px", ttl.Milliseconds())
			}
			return redis.NewStatusCmd(ctx, a...)
		},
		take: func(_ []int, cmd redis.Cmder) error { return cmd.Err() },
	}
	if ttl == 0 {
		c.many = func(ctx context.Context, index []int) redis.Cmder {
			a := make([]any, 1, 1+2*len(index))
			a[0] = "mset"
			for _, i := range index {
				a = append(a, u.keys[i], values[u.input[i]])
			}
			return redis.NewStatusCmd(ctx, a...)
		}
	}
	return u.spread(c.run(ctx), c, keys)
}

// Del deletes keys and returns how many there were: as with one server, a key
// that is there twice counts once. The count is exact for the keys that have
// no error. Del is never repeated; a key's error matches [ErrUnknown] when it
// may have been deleted all the same.
func (m Multi) Del(ctx context.Context, keys ...string) (int64, error) {
	return m.remove(ctx, "Del", "del", keys)
}

// Unlink is [Multi.Del] with UNLINK: the server frees the memory in the
// background.
func (m Multi) Unlink(ctx context.Context, keys ...string) (int64, error) {
	return m.remove(ctx, "Unlink", "unlink", keys)
}

func (m Multi) remove(ctx context.Context, op, name string, keys []string) (int64, error) {
	m, err := m.check(op)
	if err != nil {
		return 0, err
	}
	u := lastOf(slices.Clone(keys))
	c := &call{Multi: m, op: op, keys: u.keys, write: true}
	n := c.counting(name)
	err = u.spread(c.run(ctx), c, keys)
	return *n, err
}

// Exists returns how many of the keys exist: as with one server, a key that is
// there twice counts twice. The count is exact for the keys that have no error.
func (m Multi) Exists(ctx context.Context, keys ...string) (int64, error) {
	return m.count(ctx, "Exists", "exists", true, keys)
}

// Touch renews the last access of keys and returns how many exist, counted as
// by [Multi.Exists].
func (m Multi) Touch(ctx context.Context, keys ...string) (int64, error) {
	return m.count(ctx, "Touch", "touch", false, keys)
}

func (m Multi) count(ctx context.Context, op, name string, read bool, keys []string) (int64, error) {
	m, err := m.check(op)
	if err != nil {
		return 0, err
	}
	c := &call{Multi: m, op: op, keys: slices.Clone(keys), read: read, repeat: true}
	n := c.counting(name)
	err = c.run(ctx)
	return *n, err
}

// Expire gives keys a time to live and returns how many exist; a key that is
// there twice counts twice. The ttl is at least 1 ms (use [Multi.Del] to
// remove keys) and starts when a server gets the command. The count is exact
// for the keys that have no error; a key's error matches [ErrUnknown] when the
// ttl may have been set all the same.
func (m Multi) Expire(ctx context.Context, ttl time.Duration, keys ...string) (int64, error) {
	m, err := m.check("Expire")
	if err != nil {
		return 0, err
	}
	if ttl < time.Millisecond {
		return 0, fmt.Errorf("hashtag: Expire: ttl %v: want at least 1ms; Del removes keys", ttl)
	}
	// With a shorter ttl a key may be gone before a repetition, which then
	// would not count it.
	c := &call{Multi: m, op: "Expire", keys: slices.Clone(keys), write: true, repeat: ttl > m.ShardTimeout}
	n := c.counting("")
	c.many = nil
	c.one = func(ctx context.Context, i int) redis.Cmder {
		return redis.NewIntCmd(ctx, "pexpire", c.keys[i], ttl.Milliseconds())
	}
	err = c.run(ctx)
	return *n, err
}

// counting makes c send the command to the keys and add its answers up.
func (c *call) counting(name string) *int64 {
	var n int64
	c.one = func(ctx context.Context, i int) redis.Cmder { return redis.NewIntCmd(ctx, name, c.keys[i]) }
	c.many = func(ctx context.Context, index []int) redis.Cmder {
		return redis.NewIntCmd(ctx, args(name, c.keys, index)...)
	}
	c.take = func(_ []int, cmd redis.Cmder) error {
		v, err := cmd.(*redis.IntCmd).Result()
		n += v
		return err
	}
	return &n
}

func args(name string, keys []string, index []int) []any {
	a := make([]any, 1, 1+len(index))
	a[0] = name
	for _, i := range index {
		a = append(a, keys[i])
	}
	return a
}
