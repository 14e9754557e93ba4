package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

type product struct{ Name string }

type repo interface {
	Product(ctx context.Context, id string) (*product, error)
}

type row struct{}

func (row) Scan(dest ...any) error { return nil }

type db struct{}

func (db) QueryRow(q string) row { return row{} }

type svc struct {
	rdb  redis.UniversalClient
	repo repo
	db   db
	g    singleflight.Group
	mu   sync.Mutex
}

func (s *svc) viaJSON(ctx context.Context, id string) (*product, error) {
	key := fmt.Sprintf("product:%s", id)
	if b, err := s.rdb.Get(ctx, key).Bytes(); err == nil {
		var p product
		return &p, json.Unmarshal(b, &p)
	}
	p, err := s.repo.Product(ctx, id)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	s.rdb.Set(ctx, key, b, time.Minute) // want `cache fill without a lock`
	return p, nil
}

func (s *svc) scanned(ctx context.Context, id string) (int, error) {
	n, err := s.rdb.Get(ctx, "count:"+id).Int()
	if err == nil {
		return n, nil
	}
	var total int
	if err := s.db.QueryRow("SELECT COUNT(*)").Scan(&total); err != nil {
		return 0, err
	}
	s.rdb.SetEx(ctx, "count:"+id, total, time.Minute) // want `cache fill without a lock`
	return total, nil
}

func (s *svc) inBranch(ctx context.Context, id string) string {
	v := s.rdb.Get(ctx, id).Val()
	if v == "" {
		p, _ := s.repo.Product(ctx, id)
		v = p.Name
		s.rdb.Set(ctx, id, v, 0) // want `cache fill without a lock`
	}
	return v
}

func (s *svc) inGoroutine(ctx context.Context, id string) (*product, error) {
	if s.rdb.Get(ctx, id).Err() == nil {
		return nil, nil
	}
	p, err := s.repo.Product(ctx, id)
	go func() {
		s.rdb.Set(context.Background(), id, p, time.Minute) // want `cache fill without a lock`
	}()
	return p, err
}

func (s *svc) direct(ctx context.Context, key string) {
	if errors.Is(s.rdb.Get(ctx, key).Err(), redis.Nil) {
		s.rdb.Set(ctx, key, must(s.repo.Product(ctx, key)), time.Minute) // want `cache fill without a lock`
	}
}

func must(p *product, err error) *product { return p }

func (s *svc) okFlight(ctx context.Context, id string) (any, error) {
	v, err, _ := s.g.Do(id, func() (any, error) {
		if v, err := s.rdb.Get(ctx, id).Result(); err == nil {
			return v, nil
		}
		p, err := s.repo.Product(ctx, id)
		s.rdb.Set(ctx, id, p, time.Minute)
		return p, err
	})
	return v, err
}

func (s *svc) okMutex(ctx context.Context, id string) (*product, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rdb.Get(ctx, id).Err() == nil {
		return nil, nil
	}
	p, err := s.repo.Product(ctx, id)
	s.rdb.Set(ctx, id, p, time.Minute)
	return p, err
}

func (s *svc) okCalledInFlight(ctx context.Context, id string) (any, error) {
	v, err, _ := s.g.Do(id, func() (any, error) { return s.okFillIn(ctx, id) })
	return v, err
}

func (s *svc) okFillIn(ctx context.Context, id string) (*product, error) {
	if s.rdb.Get(ctx, id).Err() == nil {
		return nil, nil
	}
	p, err := s.repo.Product(ctx, id)
	s.rdb.Set(ctx, id, p, time.Minute)
	return p, err
}

func (s *svc) okReadModifyWrite(ctx context.Context, id string) {
	n, _ := s.rdb.Get(ctx, id).Int()
	n++
	s.rdb.Set(ctx, id, n, 0)
}

func (s *svc) okNothingAsked(ctx context.Context, id string) {
	if s.rdb.Get(ctx, id).Err() != nil {
		s.rdb.Set(ctx, id, time.Now().String(), time.Minute)
	}
}

func (s *svc) okOtherKey(ctx context.Context, id string) {
	if s.rdb.Get(ctx, "a:"+id).Err() != nil {
		p, _ := s.repo.Product(ctx, id)
		s.rdb.Set(ctx, "b:"+id, p, time.Minute)
	}
}

func (s *svc) okWriteThrough(ctx context.Context, id string) error {
	p, err := s.repo.Product(ctx, id)
	if err != nil {
		return err
	}
	return s.rdb.Set(ctx, id, p, time.Minute).Err()
}

func (s *svc) okLease(ctx context.Context, id string) {
	if s.rdb.Get(ctx, id).Err() != nil && s.rdb.SetNX(ctx, id+":lock", "me", time.Second).Val() {
		p, _ := s.repo.Product(ctx, id)
		s.rdb.Set(ctx, id, p, time.Minute)
	}
}
