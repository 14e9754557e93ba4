package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rcctl/rcctl/hashtag"
	"github.com/redis/go-redis/v9"
)

// scanParts is in how many places of a node's keyspace a sample is taken. From
// Redis 7.4 on SCAN goes through the slots in order, so that a sample from the
// beginning would know the first slots only.
const scanParts = 64

// A skewShard is a master's slots and the node that is asked about them.
type skewShard struct {
	name  string
	conn  *redis.Conn
	slots []int
	keys  int
}

// fromCluster counts the keys of all slots and samples keys. Shards that
// cannot be read are left out, and named in the error.
func (r *skewReport) fromCluster(ctx context.Context, c *redis.ClusterClient, o scanOptions, owners *slotOwners) error {
	var errs []error
	var perSlot [hashtag.Slots]int
	var shards []*skewShard
	nodes := nodesByAddr(ctx, c)
	//lint:ignore SA1019 CLUSTER SHARDS is not known before Redis 7.0
	ranges, err := c.ClusterSlots(ctx).Result()
	if err != nil {
		return fmt.Errorf("read the slot map: %w", err)
	}
	for _, sh := range shardsOf(ranges) {
		s, err := openShard(ctx, sh, nodes)
		if err == nil {
			defer s.conn.Close()
			err = s.countSlots(ctx, &perSlot, o.pause)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("shard of %s: %w", sh.addrs[0], err))
			continue
		}
		shards = append(shards, s)
	}
	counted := hashtag.AnalyzeSlots(&perSlot, owners.owner)
	until, looked := time.Now().Add(o.limit), 0
	sample := hashtag.Analyze(func(yield func(string) bool) {
		for i, s := range shards {
			quota := s.keys
			if o.sample > 0 && o.sample < counted.Keys {
				quota = int(float64(o.sample) * float64(s.keys) / float64(counted.Keys))
			}
			// Every shard gets its part of the time that is left.
			end := time.Now().Add(time.Until(until) / time.Duration(len(shards)-i))
			sctx, cancel := context.WithDeadline(ctx, end)
			n, err := s.sample(sctx, o, quota, yield)
			cancel()
			looked += n
			over := ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || time.Now().After(end))
			if err != nil && !over {
				errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
			}
		}
	}, owners.owner)
	r.fill(counted, sample, looked)
	return errors.Join(errs...)
}

// shardAddrs is a shard by the slot map: the master first.
type shardAddrs struct {
	addrs []string
	slots []int
}

func shardsOf(ranges []redis.ClusterSlot) []*shardAddrs {
	var list []*shardAddrs
	of := map[string]*shardAddrs{}
	for _, r := range ranges {
		if len(r.Nodes) == 0 {
			continue
		}
		s := of[r.Nodes[0].Addr]
		if s == nil {
			s = &shardAddrs{}
			for _, n := range r.Nodes {
				s.addrs = append(s.addrs, n.Addr)
			}
			of[r.Nodes[0].Addr] = s
			list = append(list, s)
		}
		for slot := r.Start; slot <= r.End; slot++ {
			s.slots = append(s.slots, slot)
		}
	}
	return list
}

// nodesByAddr are the cluster client's own clients, which know about TLS,
// passwords and mapped addresses.
func nodesByAddr(ctx context.Context, c *redis.ClusterClient) map[string]*redis.Client {
	var mu sync.Mutex
	nodes := map[string]*redis.Client{}
	add := func(_ context.Context, n *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		nodes[n.Options().Addr] = n
		return nil
	}
	_ = c.ForEachMaster(ctx, add)
	_ = c.ForEachSlave(ctx, add)
	return nodes
}

// openShard connects to a replica whose link to its master is up, or else to
// the master.
func openShard(ctx context.Context, sh *shardAddrs, nodes map[string]*redis.Client) (*skewShard, error) {
	var errs []error
	for i := len(sh.addrs) - 1; i >= 0; i-- {
		client := nodes[sh.addrs[i]]
		if client == nil {
			continue
		}
		conn := client.Conn()
		err := polite(ctx, conn, i > 0)
		if err == nil {
			return &skewShard{name: sh.addrs[i], conn: conn, slots: sh.slots}, nil
		}
		conn.Close()
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		errs = append(errs, errors.New("the client knows none of its nodes"))
	}
	return nil, errors.Join(errs...)
}

// polite prepares a connection so that reading on it changes nothing. Servers
// that do not know these commands, or do not allow them, are read all the same.
func polite(ctx context.Context, conn *redis.Conn, replica bool) error {
	_ = conn.Do(ctx, "client", "no-evict", "on").Err()
	_ = conn.Do(ctx, "client", "no-touch", "on").Err()
	if !replica {
		return conn.Ping(ctx).Err()
	}
	role, err := conn.Do(ctx, "role").Slice()
	if err != nil {
		return err
	}
	if len(role) < 4 || role[0] != "slave" || role[3] != "connected" {
		return errors.New("the replica's link to its master is down")
	}
	return nil
}

// countSlots counts the keys of the shard's slots.
func (s *skewShard) countSlots(ctx context.Context, perSlot *[hashtag.Slots]int, pause time.Duration) error {
	const batch = 512
	for from := 0; from < len(s.slots); from += batch {
		slots := s.slots[from:min(from+batch, len(s.slots))]
		pipe := s.conn.Pipeline()
		cmds := make([]*redis.IntCmd, len(slots))
		for i, slot := range slots {
			cmds[i] = pipe.ClusterCountKeysInSlot(ctx, slot)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("count keys: %w", err)
		}
		for i, slot := range slots {
			perSlot[slot] = int(cmds[i].Val())
			s.keys += perSlot[slot]
		}
		if err := rest(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

// sample looks at about quota keys, whether they match or not, and returns how
// many it were: all of them in one pass when there are no more, otherwise some
// from many places.
func (s *skewShard) sample(ctx context.Context, o scanOptions, quota int, yield func(string) bool) (looked int, err error) {
	if quota >= s.keys {
		if looked, err = s.scan(ctx, o, 0, math.MaxInt, yield); err == nil {
			looked = s.keys
		}
		return looked, err
	}
	for part := 0; part < scanParts && looked < quota; part++ {
		// A slot is a valid cursor: with a dictionary for each slot it means
		// that slot, with one for all of them it is as good as any.
		start := s.slots[rand.IntN(len(s.slots))]
		n, err := s.scan(ctx, o, uint64(start), (quota-looked+scanParts-part-1)/(scanParts-part), yield)
		looked += n
		if err != nil {
			return looked, err
		}
	}
	return looked, nil
}

// scan yields the keys that match, from a cursor on until n keys were looked
// at or the end is reached, and returns how many it were. A SCAN that filters
// does not say how many; it is about its COUNT.
func (s *skewShard) scan(ctx context.Context, o scanOptions, cursor uint64, n int, yield func(string) bool) (looked int, err error) {
	for {
		count := min(o.count, n-looked)
		keys, next, err := s.conn.Scan(ctx, cursor, o.match, int64(count)).Result()
		if err != nil {
			return looked, fmt.Errorf("scan: %w", err)
		}
		for _, key := range keys {
			yield(key)
		}
		if o.match == "" {
			count = len(keys)
		}
		looked += count
		if cursor = next; cursor == 0 || looked >= n {
			return looked, nil
		}
		if err := rest(ctx, o.pause); err != nil {
			return looked, err
		}
	}
}

// rest waits, or returns the error of ctx.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
