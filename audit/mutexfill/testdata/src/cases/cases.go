package cases

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

func query(id string) (string, error) { return "", nil }

type svc struct {
	rdb   *redis.Client
	mu    sync.Mutex
	locks map[string]*sync.Mutex
	all   sync.Map
	few   sync.Map
	rw    sync.RWMutex
}

func (s *svc) field(ctx context.Context, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rdb.Get(ctx, id).Err() != nil {
		v, _ := query(id)
		s.rdb.Set(ctx, id, v, time.Minute) // want `cache fill under a mutex: one mutex serialises all keys; use`
	}
}

func (s *svc) readWrite(ctx context.Context, id string) {
	s.rw.Lock()
	defer s.rw.Unlock()
	if s.rdb.Get(ctx, id).Err() != nil {
		v, _ := query(id)
		s.rdb.Set(ctx, id, v, time.Minute) // want `one mutex serialises all keys; use`
	}
}

func (s *svc) growing(ctx context.Context, id string) {
	m, _ := s.all.LoadOrStore(id, &sync.Mutex{})
	mu := m.(*sync.Mutex)
	mu.Lock()
	defer mu.Unlock()
	if s.rdb.Get(ctx, id).Err() != nil {
		v, _ := query(id)
		s.rdb.Set(ctx, id, v, time.Minute) // want `the map of mutexes only grows`
	}
}

func (s *svc) growingMap(ctx context.Context, id string) {
	m := s.locks[id]
	m.Lock()
	defer m.Unlock()
	if s.rdb.Get(ctx, id).Err() != nil {
		v, _ := query(id)
		s.rdb.Set(ctx, id, v, time.Minute) // want `the map of mutexes only grows`
	}
}

func (s *svc) lockOf(id string) *sync.Mutex {
	m, _ := s.all.LoadOrStore(id, new(sync.Mutex))
	return m.(*sync.Mutex)
}

func (s *svc) growingHelper(ctx context.Context, id string) {
	mu := s.lockOf(id)
	mu.Lock()
	defer mu.Unlock()
	if s.rdb.Get(ctx, id).Err() != nil {
		v, _ := query(id)
		s.rdb.Set(ctx, id, v, time.Minute) // want `the map of mutexes only grows`
	}
}

func (s *svc) noSecondLook(ctx context.Context, id string, mu *sync.Mutex) {
	if s.rdb.Get(ctx, id).Err() == nil {
		return
	}
	mu.Lock()
	v, _ := query(id)
	s.rdb.Set(ctx, id, v, time.Minute) // want `cache fill under a mutex: the cache is not read again`
	mu.Unlock()
}

func (s *svc) okShrinking(ctx context.Context, id string) {
	m, _ := s.few.LoadOrStore(id, &sync.Mutex{})
	mu := m.(*sync.Mutex)
	mu.Lock()
	defer mu.Unlock()
	defer s.few.Delete(id)
	if s.rdb.Get(ctx, id).Err() != nil {
		v, _ := query(id)
		s.rdb.Set(ctx, id, v, time.Minute)
	}
}

func (s *svc) okSecondLook(ctx context.Context, id string, mu *sync.Mutex) {
	if s.rdb.Get(ctx, id).Err() == nil {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	if s.rdb.Get(ctx, id).Err() == nil {
		return
	}
	v, _ := query(id)
	s.rdb.Set(ctx, id, v, time.Minute)
}

func (s *svc) okNotHeld(ctx context.Context, id string) {
	s.mu.Lock()
	n := len(s.locks)
	s.mu.Unlock()
	if s.rdb.Get(ctx, id).Err() != nil && n > 0 {
		v, _ := query(id)
		s.rdb.Set(ctx, id, v, time.Minute)
	}
}

func (s *svc) okNoFill(ctx context.Context, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rdb.Set(ctx, id, "x", time.Minute)
}

func (s *svc) okReadLock(ctx context.Context, id string) {
	s.rw.RLock()
	defer s.rw.RUnlock()
	if s.rdb.Get(ctx, id).Err() != nil {
		v, _ := query(id)
		s.rdb.Set(ctx, id, v, time.Minute)
	}
}

func (s *svc) okLater(ctx context.Context, id string) {
	if s.rdb.Get(ctx, id).Err() != nil {
		v, _ := query(id)
		s.rdb.Set(ctx, id, v, time.Minute)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
}
