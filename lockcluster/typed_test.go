package lockcluster_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rcctl/rcctl/lockcluster"
)

type product struct {
	Name  string
	Price int
}

func TestATypedCacheLoadsAndDecodes(t *testing.T) {
	cs, _ := instances(t, 2, lockcluster.Config{})
	a, b := lockcluster.NewTyped[product](cs[0], nil), lockcluster.NewTyped[product](cs[1], nil)
	ctx, key := t.Context(), uniqueKey("typed")
	var calls atomic.Int64
	load := func(_ context.Context, l *lockcluster.Load) (product, error) {
		calls.Add(1)
		if _, ok := a.Previous(l); ok {
			return a.NotModified(l)
		}
		return product{"chair", 12}, nil
	}
	for _, c := range []*lockcluster.Typed[product]{a, b, a} {
		if v, r, err := c.Get(ctx, key, load); err != nil || v != (product{"chair", 12}) || r.Value != nil {
			t.Fatalf("got %+v, %+v, %v", v, r, err)
		}
	}
	if err := cs[0].MarkStale(ctx, key); err != nil {
		t.Fatal(err)
	}
	if v, r, err := b.Get(ctx, key, load); err != nil || v.Name != "chair" || r.Source != lockcluster.Stale {
		t.Fatalf("got %+v, %+v, %v", v, r, err)
	}
	eventually(t, 5*time.Second, "refreshed", func() bool { return calls.Load() == 2 })
	if err := a.Set(ctx, key, product{"table", 40}); err != nil {
		t.Fatal(err)
	}
	if v, _, err := b.Get(ctx, key, load); err != nil || v.Name != "table" {
		t.Fatalf("got %+v, %v", v, err)
	}
	missing := func(context.Context, *lockcluster.Load) (product, error) { return product{}, lockcluster.ErrNotFound }
	if _, _, err := a.Get(ctx, uniqueKey("typed"), missing); !errors.Is(err, lockcluster.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestAValueThatCannotBeDecodedIsLoadedAnewByOne(t *testing.T) {
	for _, plain := range []bool{false, true} {
		cs, _ := instances(t, 3, lockcluster.Config{PlainValues: plain})
		ctx, key := t.Context(), uniqueKey("undecodable")
		if err := cs[0].Set(ctx, key, []byte("{not json")); err != nil {
			t.Fatal(err)
		}
		var calls atomic.Int64
		load := func(context.Context, *lockcluster.Load) (product, error) {
			calls.Add(1)
			<-time.After(100 * time.Millisecond)
			return product{"chair", 12}, nil
		}
		done := make(chan error, 3)
		for _, c := range cs {
			go func() {
				v, _, err := lockcluster.NewTyped[product](c, nil).Get(ctx, key, load)
				if err == nil && v.Name != "chair" {
					err = errors.New("wrong value")
				}
				done <- err
			}()
		}
		for range cs {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("plain %v: %d loads", plain, n)
		}
	}
}

// badCodec cannot read what it wrote.
type badCodec struct{ lockcluster.JSON[product] }

func (badCodec) Decode([]byte) (product, error) { return product{}, errors.New("bad codec") }

func TestACodecThatNeverDecodesIsAnErrorNotALoop(t *testing.T) {
	cs, _ := instances(t, 1, lockcluster.Config{})
	c := lockcluster.NewTyped(cs[0], lockcluster.Codec[product](badCodec{}))
	var calls atomic.Int64
	_, _, err := c.Get(t.Context(), uniqueKey("bad"), func(context.Context, *lockcluster.Load) (product, error) {
		calls.Add(1)
		return product{}, nil
	})
	if err == nil || calls.Load() > 2 {
		t.Errorf("%v after %d loads", err, calls.Load())
	}
}
