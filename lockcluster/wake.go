package lockcluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// waker tells waiters that something happened to their key. It hears of it
// through classic pub/sub: one channel per namespace, one SUBSCRIBE per
// process, on a random node. A message is a hint and may be late or lost;
// waiters have a timer behind it.
//
// The receive loop is our own. go-redis' Channel noticed the death of its node
// after 58 s and a stopped node never; sharded pub/sub never subscribes again
// after its slot moved.
type waker struct {
	client  redis.UniversalClient
	channel string
	// heard is called for every key that a message names, before its waiters
	// are woken; lost when the subscription is new and messages may be lost.
	heard func(key string)

	healthy atomic.Bool // subscribed and answering

	mu      sync.Mutex
	waiters map[string]map[*waiter]struct{}
}

type waiter struct {
	c   chan struct{} // capacity 1
	key string
}

func newWaker(client redis.UniversalClient, channel string, heard func(string)) *waker {
	return &waker{client: client, channel: channel, heard: heard, waiters: map[string]map[*waiter]struct{}{}}
}

func (w *waker) register(key string) *waiter {
	x := &waiter{c: make(chan struct{}, 1), key: key}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiters[key] == nil {
		w.waiters[key] = map[*waiter]struct{}{}
	}
	w.waiters[key][x] = struct{}{}
	return x
}

func (w *waker) unregister(x *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.waiters[x.key], x); len(w.waiters[x.key]) == 0 {
		delete(w.waiters, x.key)
	}
}

func (x *waiter) wake() {
	select {
	case x.c <- struct{}{}:
	default:
	}
}

// wake wakes the waiters of one key in this process.
func (w *waker) wake(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for x := range w.waiters[key] {
		x.wake()
	}
}

func (w *waker) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, xs := range w.waiters {
		for x := range xs {
			x.wake()
		}
	}
}

const (
	silence      = 500 * time.Millisecond // without a message: ask; again: give up
	reopenFirst  = 20 * time.Millisecond
	reopenMost   = 2 * time.Second
	healthyAfter = 5 * time.Second // a subscription that lived so long starts over without a pause
)

// loop keeps the subscription until ctx ends.
func (w *waker) loop(ctx context.Context) {
	pause := reopenFirst
	for {
		lived := newClock()
		_ = w.listen(ctx)
		w.healthy.Store(false)
		if lived.now() > healthyAfter {
			pause = reopenFirst
		}
		if !sleep(ctx, pause/2+rand.N(pause/2)) {
			return
		}
		pause = min(2*pause, reopenMost)
	}
}

type subscriber interface {
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// subscriber is what a subscription is opened on: a random master of a cluster,
// which hears what is published on any; a random server of a Ring, which hears
// only its own.
func (w *waker) subscriber(ctx context.Context) (subscriber, error) {
	switch c := w.client.(type) {
	case *redis.ClusterClient:
		return c.MasterForKey(ctx, strconv.Itoa(rand.IntN(1<<20)))
	case *redis.Ring:
		return c.GetShardClientForKey(strconv.Itoa(rand.IntN(1 << 20)))
	}
	return w.client, nil
}

// listen receives until the subscription breaks or says nothing.
func (w *waker) listen(ctx context.Context) error {
	step, cancel := context.WithTimeout(ctx, 2*silence)
	defer cancel()
	on, err := w.subscriber(step)
	if err != nil {
		return err
	}
	ps := on.Subscribe(step)
	defer ps.Close()
	if err := ps.Subscribe(step, w.channel); err != nil {
		return err
	}
	asked := false
	for ctx.Err() == nil {
		msg, err := w.receive(ctx, ps)
		var ne net.Error
		switch {
		case err == nil:
			asked = false
			w.take(msg)
		case errors.As(err, &ne) && ne.Timeout() && !asked && ctx.Err() == nil:
			asked = true
			if err := w.ping(ctx, ps); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return ctx.Err()
}

func (w *waker) receive(ctx context.Context, ps *redis.PubSub) (any, error) {
	// The context bounds what go-redis does on its own after an error: it
	// dials the same node again.
	step, cancel := context.WithTimeout(ctx, 2*silence)
	defer cancel()
	return ps.ReceiveTimeout(step, silence)
}

func (w *waker) ping(ctx context.Context, ps *redis.PubSub) error {
	step, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	return ps.Ping(step)
}

func (w *waker) take(msg any) {
	switch m := msg.(type) {
	case *redis.Subscription:
		w.healthy.Store(true)
		w.wakeAll() // what was said before nobody heard
	case *redis.Message:
		w.heard(m.Payload)
		w.wake(m.Payload)
	}
}

// pollAfter is the timer behind the subscription: seldom while that is
// healthy, never later than 250 ms.
func (w *waker) pollAfter() time.Duration {
	if w.healthy.Load() {
		return 200*time.Millisecond + rand.N(50*time.Millisecond)
	}
	return 100*time.Millisecond + rand.N(150*time.Millisecond)
}
