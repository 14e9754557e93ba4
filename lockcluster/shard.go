package lockcluster

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rcctl/rcctl/hashtag"
	"github.com/rcctl/rcctl/internal/breaker"
	"github.com/redis/go-redis/v9"
)

// A shard is one master as this process sees it: its clock, and whether it
// answers. A failure of one shard never touches keys of another.
type shard struct {
	addr    string
	clock   serverClock
	breaker probed
}

type shards struct {
	client  redis.UniversalClient
	clock   clock
	tasks   *tasks
	budget  time.Duration
	unknown *shard // a client of one server, or when the topology cannot be had

	mu     sync.RWMutex
	byAddr map[string]*shard
}

func newShards(client redis.UniversalClient, clock clock, tasks *tasks, budget time.Duration) *shards {
	s := &shards{client: client, clock: clock, tasks: tasks, budget: budget, byAddr: map[string]*shard{}}
	s.unknown = s.newOne("", func(ctx context.Context) error { return s.client.Get(ctx, slotZero).Err() })
	return s
}

func (s *shards) newOne(addr string, ping func(context.Context) error) *shard {
	sh := &shard{addr: addr, breaker: probed{clock: s.clock, tasks: s.tasks, budget: s.budget, ping: ping}}
	sh.breaker.breaker.Threshold, sh.breaker.breaker.Probed = 1, true
	return sh
}

// slotZero is a key of slot 0: go-redis routes the empty key at random.
var slotZero = hashtag.TagForSlot(0)

// of is the shard of a key. It asks the network only when the client does not
// know the topology yet.
func (s *shards) of(ctx context.Context, key string) (*shard, error) {
	if key == "" {
		key = slotZero
	}
	var node *redis.Client
	var err error
	switch c := s.client.(type) {
	case *redis.ClusterClient:
		if s.unknown.breaker.open() {
			return s.unknown, nil
		}
		node, err = c.MasterForKey(ctx, key)
	case *redis.Ring:
		node, err = c.GetShardClientForKey(key)
	default:
		return s.unknown, nil
	}
	if err != nil {
		return s.unknown, err
	}
	addr := node.Options().Addr
	s.mu.RLock()
	sh := s.byAddr[addr]
	s.mu.RUnlock()
	if sh != nil {
		return sh, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh = s.byAddr[addr]; sh == nil {
		sh = s.newOne(addr, func(ctx context.Context) error {
			if c, ok := s.client.(*redis.ClusterClient); ok {
				c.ReloadState(ctx) // go-redis does not on network errors
			}
			return node.Ping(ctx).Err()
		})
		s.byAddr[addr] = sh
	}
	return sh, nil
}

// isSick reports whether err means that a shard did not answer in the way that
// a healthy one does: network errors, timeouts, and the replies of a server
// that cannot serve the key now. A context that the caller ended is not sick.
func isSick(err error) bool {
	var reply redis.Error
	if err == nil || errors.Is(err, redis.Nil) {
		return false
	}
	if !errors.As(err, &reply) {
		return true
	}
	for _, p := range [...]string{"CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY", "TRYAGAIN", "MOVED", "ASK", "NOREPLICAS", "max number of clients"} {
		if redis.HasErrorPrefix(err, p) {
			return true
		}
	}
	return false
}

// isNetwork reports whether err came from no server at all: only such errors
// open a breaker.
func isNetwork(err error) bool {
	var reply redis.Error
	return err != nil && !errors.As(err, &reply)
}

const (
	probeFirst = 50 * time.Millisecond
	probeMost  = 500 * time.Millisecond
	// probeIdle ends the probing of a shard that nobody asks for any more.
	probeIdle = time.Minute
)

// probed is the breaker of a shard: closed until a network error, then open
// until a probe in the background, never a caller's call, is answered. One
// error is enough: a caller has waited a whole step budget then, and the ones
// behind it must not.
type probed struct {
	breaker breaker.Breaker
	clock   clock
	tasks   *tasks
	budget  time.Duration
	ping    func(context.Context) error
	asked   atomic.Int64 // when a caller was last turned away
}

func (p *probed) open() bool {
	if p.breaker.Allow() {
		return false
	}
	p.asked.Store(int64(p.clock.now()))
	return true
}

func (p *probed) fail() {
	p.asked.Store(int64(p.clock.now()))
	if p.breaker.Failure() && !p.tasks.start(p.probe) {
		p.breaker.Success() // closed: nobody would probe
	}
}

func (p *probed) probe(ctx context.Context) {
	defer p.breaker.Success()
	for wait := probeFirst; ; wait = min(wait*2, probeMost) {
		if !sleep(ctx, wait) || p.clock.now()-time.Duration(p.asked.Load()) > probeIdle {
			return
		}
		step, cancel := context.WithTimeout(ctx, p.budget)
		err := p.ping(step)
		cancel()
		if !isNetwork(err) || errors.Is(err, redis.ErrClosed) {
			return
		}
	}
}

// sleep waits and reports whether ctx still goes on.
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

// sick counts the shards left alone now, and how often one came to be.
func (s *shards) sick() (now int, opened uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	count := func(b *breaker.Breaker) {
		if b.Open() {
			now++
		}
		opened += b.Opened()
	}
	count(&s.unknown.breaker.breaker)
	for _, sh := range s.byAddr {
		count(&sh.breaker.breaker)
	}
	return now, opened
}
