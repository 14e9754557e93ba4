package lockcluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rcctl/rcctl/lockcluster"
)

func TestGetManyLoadsWhatIsMissingInOneCall(t *testing.T) {
	for _, plain := range []bool{false, true} {
		cs, client := instances(t, 2, lockcluster.Config{PlainValues: plain})
		ctx := t.Context()
		keys := append([]string{}, oddKeys...)
		for range 300 {
			keys = append(keys, uniqueKey("many"))
		}
		for _, k := range oddKeys {
			client.Del(ctx, k)
			client.Del(ctx, lockcluster.Companion(k))
			t.Cleanup(func() {
				client.Del(context.Background(), k)
				client.Del(context.Background(), lockcluster.Companion(k))
			})
		}
		missing, failing := keys[20], keys[21]
		keys = append(keys, keys[0], missing) // twice
		var mu sync.Mutex
		calls := 0
		load := func(_ context.Context, b *lockcluster.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			calls++
			for _, k := range b.Keys() {
				switch k {
				case missing:
				case failing:
					b.Fail(k, errors.New("this one"))
				default:
					b.Set(k, []byte("v"+k))
				}
			}
			return nil
		}
		check := func(items []lockcluster.Item, source lockcluster.Source) {
			t.Helper()
			for i, it := range items {
				switch k := keys[i]; {
				case it.Key != k:
					t.Fatalf("item %d is %q, want %q", i, it.Key, k)
				case k == missing && it.Err == lockcluster.ErrNotFound:
				case k == failing && it.Err != nil && it.Err != lockcluster.ErrNotFound:
				case it.Err != nil || string(it.Value) != "v"+k || it.Source != source:
					t.Fatalf("%q: %+v", k, it)
				}
			}
		}
		check(cs[0].GetMany(ctx, keys, load), lockcluster.Loaded)
		if calls != 1 {
			t.Errorf("%d calls of the loader", calls)
		}
		check(cs[1].GetMany(ctx, keys, load), lockcluster.Fresh)
		if calls != 2 { // the failing key again
			t.Errorf("%d calls of the loader", calls)
		}
		if len(cs[0].GetMany(ctx, nil, load)) != 0 {
			t.Error("no keys gave items")
		}
	}
}

func TestGetManyAndGetOfManyInstancesLoadEachKeyOnce(t *testing.T) {
	cs, _ := instances(t, 3, lockcluster.Config{})
	keys := make([]string, 40)
	var calls [40]atomic.Int64
	index := map[string]int{}
	for i := range keys {
		keys[i] = uniqueKey("overlap")
		index[keys[i]] = i
	}
	batch := func(_ context.Context, b *lockcluster.Batch) error {
		<-time.After(100 * time.Millisecond)
		for _, k := range b.Keys() {
			calls[index[k]].Add(1)
			b.Set(k, []byte(k))
		}
		return nil
	}
	single := func(_ context.Context, l *lockcluster.Load) ([]byte, error) {
		calls[index[l.Key()]].Add(1)
		return []byte(l.Key()), nil
	}
	var wg sync.WaitGroup
	for i := range 9 {
		wg.Go(func() {
			for _, it := range cs[i%3].GetMany(t.Context(), keys[(i*4)%20:], batch) {
				if it.Err != nil || string(it.Value) != it.Key {
					t.Errorf("%+v", it)
				}
			}
		})
		wg.Go(func() {
			k := keys[i*4]
			if r, err := cs[(i+1)%3].Get(t.Context(), k, single); err != nil || string(r.Value) != k {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	wg.Wait()
	for i := range calls {
		if n := calls[i].Load(); n != 1 {
			t.Errorf("key %d was loaded %d times", i, n)
		}
	}
}

func TestABatchLoaderThatPanicsOrHangsFailsItsKeysAlone(t *testing.T) {
	cs, _ := instances(t, 1, lockcluster.Config{LoadTimeout: 300 * time.Millisecond})
	there := uniqueKey("there")
	if err := cs[0].Set(t.Context(), there, []byte("v")); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	defer close(release)
	for name, load := range map[string]lockcluster.BatchLoader{
		"panics": func(context.Context, *lockcluster.Batch) error { panic("boom") },
		"fails":  func(context.Context, *lockcluster.Batch) error { return errors.New("boom") },
		"hangs":  func(context.Context, *lockcluster.Batch) error { <-release; return nil },
	} {
		gone := uniqueKey("gone")
		items := cs[0].GetMany(t.Context(), []string{gone, there}, load)
		var le *lockcluster.LoadError
		if !errors.As(items[0].Err, &le) || items[1].Err != nil || string(items[1].Value) != "v" {
			t.Errorf("%s: %+v", name, items)
		}
		good := constant{value: "good"}
		if r, err := cs[0].Get(t.Context(), gone, good.load); err != nil || string(r.Value) != "good" {
			t.Errorf("%s: the next call: %+v, %v", name, r, err)
		}
	}
}

func TestGetManyNeverReturnsWhatWasInvalidatedMeanwhile(t *testing.T) {
	cs, _ := instances(t, 2, lockcluster.Config{})
	keys := []string{uniqueKey("m"), uniqueKey("m"), uniqueKey("m")}
	var version, calls atomic.Int64
	load := func(_ context.Context, b *lockcluster.Batch) error {
		v := version.Load()
		calls.Add(1)
		<-time.After(100 * time.Millisecond)
		for _, k := range b.Keys() {
			b.Set(k, fmt.Append(nil, v))
		}
		return nil
	}
	done := make(chan []lockcluster.Item, 1)
	go func() { done <- cs[0].GetMany(t.Context(), keys, load) }()
	eventually(t, 5*time.Second, "the load runs", func() bool { return calls.Load() == 1 })
	version.Add(1)
	if err := cs[1].Invalidate(t.Context(), keys[1]); err != nil {
		t.Fatal(err)
	}
	items := <-done
	if string(items[0].Value) != "0" || string(items[1].Value) != "1" || string(items[2].Value) != "0" {
		t.Errorf("got %q %q %q", items[0].Value, items[1].Value, items[2].Value)
	}
}

func TestACallerOfGetManyThatGoesAwayLeavesTheLoadToTheOthers(t *testing.T) {
	cs, _ := instances(t, 2, lockcluster.Config{})
	key := uniqueKey("gone")
	var calls atomic.Int64
	load := func(_ context.Context, b *lockcluster.Batch) error {
		calls.Add(1)
		<-time.After(200 * time.Millisecond)
		b.Set(key, []byte("v"))
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan []lockcluster.Item, 1)
	go func() { done <- cs[0].GetMany(ctx, []string{key}, load) }()
	eventually(t, 5*time.Second, "the load runs", func() bool { return calls.Load() == 1 })
	cancel()
	if items := <-done; items[0].Err != context.Canceled {
		t.Errorf("got %+v", items)
	}
	if items := cs[1].GetMany(t.Context(), []string{key}, load); items[0].Err != nil || string(items[0].Value) != "v" {
		t.Errorf("the others got %+v", items)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("%d loads", n)
	}
}
