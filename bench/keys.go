package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// Keys are written and deleted in pipelines of this many, or fewer when their
// values are large.
const (
	keysPerBatch  = 200
	bytesPerBatch = 256 << 10
	keyWriters    = 4
)

// preload writes every key once. Its time is bounded by progress: it gives up
// when two seconds have passed without a batch that succeeded.
func (r *runner) preload(ctx context.Context) error {
	if r.opts.NoPreload {
		return nil
	}
	r.wroteKeys = true
	w, ttl := newWorkload(r.opts), r.opts.ttl()
	begin, told := time.Now(), time.Now()
	var mu sync.Mutex
	batch := max(min(keysPerBatch, bytesPerBatch/r.opts.ValueSize), 1)
	left, err := r.batches(ctx, batch, func(p redis.Pipeliner, id int) {
		key, _ := w.key(id)
		p.Set(ctx, key, w.value(mix64(uint64(id))), ttl)
	}, func(done int64) {
		mu.Lock()
		defer mu.Unlock()
		if r.opts.Progress != nil && time.Since(told) > time.Second {
			told = time.Now()
			r.opts.Progress(Progress{Phase: "preload", Elapsed: time.Since(begin), Rate: float64(done) / time.Since(begin).Seconds()})
		}
	})
	if err != nil {
		return preloadError(int(left), r.opts.Keys, err)
	}
	return nil
}

// cleanup deletes the keys of this run, until the deadline at most. What is
// left expires by itself.
func (r *runner) cleanup(deadline time.Time) {
	if !r.wroteKeys && !r.opts.Mix.has(OpSet) {
		return
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	w := newWorkload(r.opts)
	left, _ := r.batches(ctx, keysPerBatch, func(p redis.Pipeliner, id int) {
		key, _ := w.key(id)
		p.Unlink(ctx, key)
	}, func(int64) {})
	r.keysLeft = uint64(left)
}

func (m Mix) has(op Op) bool {
	for _, s := range m {
		if s.Op == op {
			return true
		}
	}
	return false
}

// errStuck ends a preload that does not get on.
var errStuck = errors.New("no key could be written for 2 s")

// batches applies add to every key in pipelines and returns how many keys
// failed, with the first error. It stops early when ctx is done or nothing has
// succeeded for two seconds.
func (r *runner) batches(ctx context.Context, size int, add func(redis.Pipeliner, int), progress func(done int64)) (left int64, err error) {
	var g errgroup.Group
	g.SetLimit(keyWriters)
	var done, lastGood atomic.Int64
	lastGood.Store(time.Now().UnixNano())
	var mu sync.Mutex
	var first error
	fail := func(e error) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = e
		}
	}
	for from := 0; from < r.opts.Keys; from += size {
		if ctx.Err() != nil {
			fail(ctx.Err())
			break
		}
		if time.Since(time.Unix(0, lastGood.Load())) > 2*time.Second {
			fail(errStuck)
			break
		}
		g.Go(func() error {
			p := r.house.Client().Pipeline()
			for id := from; id < min(from+size, r.opts.Keys); id++ {
				add(p, id)
			}
			cmds, _ := p.Exec(ctx)
			good := int64(0)
			for _, c := range cmds {
				if e := c.Err(); e != nil {
					fail(e)
				} else {
					good++
				}
			}
			if good > 0 {
				lastGood.Store(time.Now().UnixNano())
			}
			progress(done.Add(good))
			return nil
		})
	}
	_ = g.Wait()
	return int64(r.opts.Keys) - done.Load(), first
}
