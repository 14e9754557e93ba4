package lockcluster_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rcctl/rcctl/lockcluster"
	"github.com/redis/go-redis/v9"
)

func TestAPlainStringOfAnotherProgramIsAdopted(t *testing.T) {
	cs, client := instances(t, 2, lockcluster.Config{PlainValues: true, Jitter: lockcluster.Off})
	forEachOddKey(t, client, func(t *testing.T, key string) {
		ctx := t.Context()
		l := constant{value: "ours"}
		client.Set(ctx, key, "theirs", 10*time.Second)
		for _, c := range cs {
			if r, err := c.Get(ctx, key, l.load); err != nil || string(r.Value) != "theirs" || r.Source != lockcluster.Fresh {
				t.Fatalf("got %+v, %v", r, err)
			}
		}
		client.Del(ctx, key)
		if r, err := cs[0].Get(ctx, key, l.load); err != nil || string(r.Value) != "ours" {
			t.Fatalf("got %+v, %v", r, err)
		}
		if v := client.Get(ctx, key).Val(); v != "ours" {
			t.Errorf("other programs read %q", v)
		}
		client.Set(ctx, key, "theirs again", 10*time.Second)
		if r, err := cs[1].Get(ctx, key, l.load); err != nil || string(r.Value) != "theirs again" {
			t.Errorf("got %+v, %v", r, err)
		}
		if err := cs[0].Invalidate(ctx, key); err != nil {
			t.Fatal(err)
		}
		if n := client.Exists(ctx, key).Val(); n != 0 {
			t.Error("the value survived Invalidate")
		}
		if n := l.calls.Load(); n != 1 {
			t.Errorf("%d loads", n)
		}
	})
}

func TestOldCodeAndPlainValuesShareAKeyWithOneLoadOfOursPerExpiry(t *testing.T) {
	took := 6 * time.Second
	switch {
	case os.Getenv("LOCKCLUSTER_LONG") != "":
		took = 30 * time.Second
	case testing.Short():
		took = 3 * time.Second
	}
	const fresh, load = 300 * time.Millisecond, 60 * time.Millisecond
	cs, client := instances(t, 3, lockcluster.Config{PlainValues: true, Fresh: fresh, Stale: 200 * time.Millisecond, Jitter: lockcluster.Off, Beta: lockcluster.Off})
	key := uniqueKey("fleet")
	var ours, theirs atomic.Int64
	end := time.Now().Add(took)
	var wg sync.WaitGroup
	loader := func(context.Context, *lockcluster.Load) ([]byte, error) {
		<-time.After(load)
		return fmt.Append(nil, "ours ", ours.Add(1)), nil
	}
	for i := range 30 {
		wg.Go(func() {
			for time.Now().Before(end) {
				if r, err := cs[i%3].Get(context.Background(), key, loader); err != nil || len(r.Value) == 0 {
					t.Errorf("got %+v, %v", r, err)
				}
				<-time.After(5 * time.Millisecond)
			}
		})
	}
	for range 4 { // GET, on a miss load and SET: no lock
		wg.Go(func() {
			for time.Now().Before(end) {
				v, err := client.Get(context.Background(), key).Result()
				switch {
				case err == redis.Nil:
					<-time.After(load)
					client.Set(context.Background(), key, fmt.Sprint("theirs ", theirs.Add(1)), fresh)
				case err != nil || v == "":
					t.Errorf("old code got %q, %v", v, err)
				}
				<-time.After(5 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	most := int64(took/fresh) + 1
	t.Logf("%d loads of ours, %d of theirs in %s", ours.Load(), theirs.Load(), took)
	if n := ours.Load(); n > most {
		t.Errorf("%d loads of ours, want at most one per expiry, %d", n, most)
	}
}

// Without PlainValues a string that is no record counts as a miss, once.
func TestAStringThatIsNoRecordIsReplaced(t *testing.T) {
	cs, client := instances(t, 1, lockcluster.Config{})
	for _, there := range []string{"", "plain", "\xf7rc\x01 too short", string(make([]byte, 200)), "\xf7rc\x01\xff" + string(make([]byte, 200))} {
		key := uniqueKey("string")
		client.Set(t.Context(), key, there, 0)
		l := constant{value: "v"}
		for range 2 {
			if r, err := cs[0].Get(t.Context(), key, l.load); err != nil || string(r.Value) != "v" {
				t.Errorf("%q: got %+v, %v", there, r, err)
			}
		}
		if n := l.calls.Load(); n != 1 {
			t.Errorf("%q: %d loads", there, n)
		}
		if ttl := client.PTTL(t.Context(), key).Val(); ttl <= 0 {
			t.Errorf("%q: the record lives for %s", there, ttl)
		}
	}
}
