package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Keys are written and deleted in pipelines of this many, or fewer when their
// values are large. One pipeline at a time is under way for each node.
const (
	keysPerBatch  = 200
	bytesPerBatch = 256 << 10
)

// preload writes every key once. It fails when a node's batch does not succeed
// within five seconds.
func (r *runner) preload(ctx context.Context) error {
	if r.opts.NoPreload {
		return nil
	}
	r.wroteKeys = true
	w, ttl := newWorkload(r.opts), r.opts.ttl()
	b := &batches{
		r: r, size: max(min(keysPerBatch, bytesPerBatch/r.opts.ValueSize), 1), patience: 5 * time.Second,
		add: func(p redis.Pipeliner, id int) {
			key, _ := w.key(id)
			p.Set(ctx, key, w.value(mix64(uint64(id))), ttl)
		},
	}
	begin, told := time.Now(), time.Now()
	b.tell = func(done int64) {
		if r.opts.Progress != nil && time.Since(told) > time.Second {
			told = time.Now()
			r.opts.Progress(Progress{Phase: "preload", Elapsed: time.Since(begin), Rate: float64(done) / time.Since(begin).Seconds()})
		}
	}
	left, err := b.run(ctx, w)
	if err != nil {
		return preloadError(left, r.opts.Keys, err)
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
	b := &batches{r: r, size: keysPerBatch, patience: time.Until(deadline), tell: func(int64) {},
		add: func(p redis.Pipeliner, id int) {
			key, _ := w.key(id)
			p.Unlink(ctx, key)
		},
	}
	left, _ := b.run(ctx, w)
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

// batches applies a command to every key, in pipelines that go to one node
// each, so that a dead node holds up only its own keys.
type batches struct {
	r        *runner
	size     int           // keys in a pipeline
	patience time.Duration // with one pipeline
	add      func(p redis.Pipeliner, id int)
	tell     func(done int64) // progress, from one goroutine

	done   atomic.Int64
	denied atomic.Bool // the user may not do it: no node will let it
	mu     sync.Mutex
	err    error // the last
}

// run returns how many keys failed, with the last error.
func (b *batches) run(ctx context.Context, w *workload) (left int, err error) {
	lanes := map[int]*lane{}
	var group sync.WaitGroup
	for id := range b.r.opts.Keys {
		if ctx.Err() != nil {
			break
		}
		_, slot := w.key(id)
		owner := b.r.servers.owner(slot)
		l := lanes[owner]
		if l == nil {
			l = &lane{ch: make(chan []int, laneBatches)}
			lanes[owner] = l
			group.Go(func() { b.work(ctx, l) })
		}
		if l.ids = append(l.ids, id); len(l.ids) == b.size {
			l.ch <- l.ids
			l.ids = nil
			b.tell(b.done.Load())
		}
	}
	for _, l := range lanes {
		l.ch <- l.ids
		close(l.ch)
	}
	group.Wait()
	left = b.r.opts.Keys - int(b.done.Load())
	if left > 0 && b.err == nil {
		b.err = ctx.Err()
	}
	return left, b.err
}

// laneBatches is how far one node may fall behind before the others wait.
const laneBatches = 4096

// A lane takes the batches of one node.
type lane struct {
	ids []int
	ch  chan []int
}

// work sends the batches of a lane until one of them cannot be finished.
func (b *batches) work(ctx context.Context, l *lane) {
	given := false
	for ids := range l.ch {
		given = given || !b.finish(ctx, ids)
	}
}

// finish sends a batch, and what failed of it again, while patience lasts.
func (b *batches) finish(ctx context.Context, ids []int) bool {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	for len(ids) > 0 {
		if ctx.Err() != nil || b.denied.Load() {
			return false
		}
		all := len(ids)
		if ids = b.send(ctx, ids); len(ids) == all {
			b.r.house.Client().ReloadState(ctx)
			pause(ctx, 50*time.Millisecond)
		}
	}
	return true
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// send returns the keys that failed.
func (b *batches) send(ctx context.Context, ids []int) (failed []int) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	p := b.r.house.Client().Pipeline()
	for _, id := range ids {
		b.add(p, id)
	}
	cmds, _ := p.Exec(ctx) // each command has its own error
	for i, c := range cmds {
		if err := c.Err(); err != nil {
			failed = append(failed, ids[i])
			if redis.IsPermissionError(err) {
				b.denied.Store(true)
			}
			b.mu.Lock()
			b.err = err
			b.mu.Unlock()
		}
	}
	b.done.Add(int64(len(ids) - len(failed)))
	return failed
}
