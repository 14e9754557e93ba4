package lockcluster

import (
	"context"
	"sync"
	"sync/atomic"
)

// tasks are the goroutines of a cache. Work ends by itself and is drained by
// close; loops end when they are told to.
type tasks struct {
	closed atomic.Bool // changes under mu
	mu     sync.Mutex
	work   sync.WaitGroup
	loops  sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc
}

func newTasks() *tasks {
	t := &tasks{}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// enter counts a piece of work until leave; false means that the cache is closed.
func (t *tasks) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed.Load() {
		t.work.Add(1)
	}
	return !t.closed.Load()
}

func (t *tasks) leave() { t.work.Done() }

// start runs a loop in a goroutine; false means that the cache is closed.
func (t *tasks) start(f func(ctx context.Context)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed.Load() {
		return false
	}
	t.loops.Go(func() { f(t.ctx) })
	return true
}

// close lets nothing new start, waits for the work until ctx ends, and stops
// the rest.
func (t *tasks) close(ctx context.Context) error {
	t.mu.Lock()
	t.closed.Store(true)
	t.mu.Unlock()
	err := wait(ctx, &t.work)
	t.cancel()
	if err != nil {
		return err
	}
	return wait(ctx, &t.loops)
}

func wait(ctx context.Context, wg *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
