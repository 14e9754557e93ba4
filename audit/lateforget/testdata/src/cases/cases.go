package cases

import (
	"context"

	"golang.org/x/sync/singleflight"
)

type svc struct{ g singleflight.Group }

func load() (any, error) { return nil, nil }

func (s *svc) channel(ctx context.Context, key string) (any, error) {
	ch := s.g.DoChan(key, load)
	select {
	case res := <-ch:
		if res.Err != nil {
			s.g.Forget(key) // want `Forget after the result arrived`
			return nil, res.Err
		}
		return res.Val, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *svc) receive(key string) error {
	res := <-s.g.DoChan(key, load)
	if res.Err != nil {
		s.g.Forget(key) // want `Forget after`
	}
	return res.Err
}

func (s *svc) always(key string) (any, error) {
	v, err, _ := s.g.Do("p:"+key, load)
	s.g.Forget("p:" + key) // want `Forget after`
	return v, err
}

func (s *svc) shared(key string) (any, error) {
	v, err, shared := s.g.Do(key, load)
	if err != nil && !shared {
		s.g.Forget(key) // want `Forget after`
	}
	return v, err
}

func (s *svc) literal(key string) func() error {
	return func() error {
		_, err, _ := s.g.Do(key, load)
		if err != nil {
			s.g.Forget(key) // want `Forget after`
		}
		return err
	}
}

func (s *svc) okInside(key string) (any, error) {
	v, err, _ := s.g.Do(key, func() (any, error) {
		defer s.g.Forget(key)
		return load()
	})
	return v, err
}

func (s *svc) okGaveUp(ctx context.Context, key string) (any, error) {
	ch := s.g.DoChan(key, load)
	select {
	case res := <-ch:
		return res.Val, res.Err
	case <-ctx.Done():
		s.g.Forget(key)
		return nil, ctx.Err()
	}
}

func (s *svc) okInvalidate(key string) { s.g.Forget(key) }

func (s *svc) okBefore(key string) (any, error) {
	s.g.Forget(key)
	v, err, _ := s.g.Do(key, load)
	return v, err
}

func (s *svc) okOtherKey(key, other string) (any, error) {
	v, err, _ := s.g.Do(key, load)
	s.g.Forget(other)
	return v, err
}

func (s *svc) okOtherGroup(g *singleflight.Group, key string) (any, error) {
	v, err, _ := s.g.Do(key, load)
	g.Forget(key)
	return v, err
}
