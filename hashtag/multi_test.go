package hashtag_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
)

// startCluster starts three real masters.
func startCluster(tb testing.TB) *clustertest.Cluster {
	tb.Helper()
	return clustertest.Run(tb, clustertest.Options{
		Backend: clustertest.Processes{},
		Config:  map[string]string{"cluster-require-full-coverage": "no", "save": ""},
	})
}

func numbered(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key:%d", i)
	}
	return keys
}

func fill(tb testing.TB, m hashtag.Multi, keys []string) {
	tb.Helper()
	pairs := make([]hashtag.Pair, len(keys))
	for i, k := range keys {
		pairs[i] = hashtag.Pair{Key: k, Value: "value of " + k}
	}
	if err := m.MSet(tb.Context(), 0, pairs...); err != nil {
		tb.Fatal(err)
	}
}

// wrong says what is wrong with values read after fill.
func wrong(keys []string, values []hashtag.Value) error {
	if len(values) != len(keys) {
		return fmt.Errorf("%d values for %d keys", len(values), len(keys))
	}
	for i, v := range values {
		if v.Err != nil || !v.Found || v.Val != "value of "+keys[i] {
			return fmt.Errorf("key %d, %q: %+v", i, keys[i], v)
		}
	}
	return nil
}

// Tests that leave the cluster as it was share one.
func TestMultiOnARealCluster(t *testing.T) {
	c := startCluster(t)
	m := hashtag.Multi{Client: c.Client()}
	for _, tc := range []struct {
		name string
		run  func(*testing.T, hashtag.Multi)
	}{
		{"MGet answers in the order of the input", testMGetOrder},
		{"counts are those of one server", testCounts},
		{"MSet writes what go-redis would write", testMSetTypes},
		{"MSet: the last of two values counts", testMSetDuplicates},
		{"MSet and Expire set the ttl", testTTL},
		{"a value that cannot be encoded is an error before anything is sent", testMSetBadValue},
		{"empty input is no error", testEmpty},
		{"100,000 keys", testManyKeys},
		{"10 MiB values", testLargeValues},
		{"a refused key is the only one without an answer", testRefusedKey},
		{"an ended context is every key's error", testEndedContext},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := c.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			tc.run(t, m)
		})
	}
}

func testMGetOrder(t *testing.T, m hashtag.Multi) {
	keys := numbered(1000)
	fill(t, m, keys)
	rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	values, err := m.MGet(t.Context(), keys...)
	if err != nil {
		t.Fatal(err)
	}
	if err := wrong(keys, values); err != nil {
		t.Error(err)
	}

	// Missing, doubled, in one slot with others, empty, of another type.
	ctx := t.Context()
	fill(t, m, []string{"{tag}1", "{tag}2", "", "a{}b", "{"})
	m.Client.LPush(ctx, "{tag}list", "x")
	m.Client.LPush(ctx, "list", "x")
	keys = []string{"{tag}2", "nobody", "", "{tag}1", "{tag}list", "{tag}2", "list", "{tag}none", "a{}b", "{"}
	values, err = m.MGet(ctx, keys...)
	if err != nil {
		t.Fatal(err)
	}
	for i, found := range []bool{true, false, true, true, false, true, false, false, true, true} {
		want := hashtag.Value{}
		if found {
			want = hashtag.Value{Val: "value of " + keys[i], Found: true}
		}
		if values[i] != want {
			t.Errorf("%q: %+v, want %+v", keys[i], values[i], want)
		}
	}
}

func testCounts(t *testing.T, m hashtag.Multi) {
	ctx := t.Context()
	for _, tc := range []struct {
		name string
		run  func(keys ...string) (int64, error)
		keys []string
		want int64
	}{
		{"Exists", func(k ...string) (int64, error) { return m.Exists(ctx, k...) }, []string{"a", "a", "b", "none", "{t}1", "{t}1"}, 5},
		{"Touch", func(k ...string) (int64, error) { return m.Touch(ctx, k...) }, []string{"a", "a", "b", "none"}, 3},
		{"Expire", func(k ...string) (int64, error) { return m.Expire(ctx, time.Minute, k...) }, []string{"a", "a", "b", "none"}, 3},
		{"Del", func(k ...string) (int64, error) { return m.Del(ctx, k...) }, []string{"a", "a", "none", "{t}1", "{t}2", "{t}1"}, 3},
		{"Unlink", func(k ...string) (int64, error) { return m.Unlink(ctx, k...) }, []string{"a", "b", "b", "none"}, 2},
	} {
		fill(t, m, []string{"a", "b", "c", "{t}1", "{t}2"})
		if n, err := tc.run(tc.keys...); err != nil || n != tc.want {
			t.Errorf("%s(%q) = %d, %v, want %d", tc.name, tc.keys, n, err, tc.want)
		}
	}
	keys := numbered(1000)
	fill(t, m, keys)
	if n, err := m.Exists(ctx, append(keys, keys...)...); n != 2000 || err != nil {
		t.Errorf("Exists = %d, %v, want 2000", n, err)
	}
	if n, err := m.Del(ctx, append(keys, keys...)...); n != 1000 || err != nil {
		t.Errorf("Del = %d, %v, want 1000", n, err)
	}
}

type marshaler struct{ s string }

func (m marshaler) MarshalBinary() ([]byte, error) { return []byte("<" + m.s + ">"), nil }

func testMSetTypes(t *testing.T, m hashtag.Multi) {
	now := time.Now()
	five, none := 5, (*int)(nil)
	values := []any{
		nil, "s", []byte("b\x00\xff"), 1, int8(-2), int64(1) << 60, uint(7), uint64(1) << 63, 1.5, float32(0.1), 1e300,
		true, false, now, &now, time.Second, marshaler{"m"}, &five, none, "",
	}
	for _, ttl := range []time.Duration{0, time.Minute} {
		var pairs []hashtag.Pair
		var keys []string
		for i, v := range values {
			// Some share a slot, so that both MSET and SET are used.
			key := fmt.Sprintf("typed:%d", i)
			if i%2 == 0 {
				key = "{same}" + key
			}
			keys = append(keys, key)
			pairs = append(pairs, hashtag.Pair{Key: key, Value: v})
		}
		if err := m.MSet(t.Context(), ttl, pairs...); err != nil {
			t.Fatal(err)
		}
		got, err := m.MGet(t.Context(), keys...)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if err := m.Client.Set(t.Context(), "reference", v, 0).Err(); err != nil {
				t.Fatal(err)
			}
			if want := m.Client.Get(t.Context(), "reference").Val(); !got[i].Found || got[i].Val != want {
				t.Errorf("%T %v: wrote %q, go-redis writes %q", v, v, got[i].Val, want)
			}
		}
	}
}

func testMSetDuplicates(t *testing.T, m hashtag.Multi) {
	ctx := t.Context()
	for _, ttl := range []time.Duration{0, time.Minute} {
		err := m.MSet(ctx, ttl, hashtag.Pair{Key: "a", Value: 1}, hashtag.Pair{Key: "b", Value: 2}, hashtag.Pair{Key: "a", Value: 3}, hashtag.Pair{Key: "{a}", Value: 4})
		if err != nil {
			t.Fatal(err)
		}
		values, err := m.MGet(ctx, "a", "b", "{a}")
		if err != nil || values[0].Val != "3" || values[1].Val != "2" || values[2].Val != "4" {
			t.Errorf("%+v, %v", values, err)
		}
	}
}

func testTTL(t *testing.T, m hashtag.Multi) {
	ctx := t.Context()
	ttl := func(key string) time.Duration { return m.Client.PTTL(ctx, key).Val() }
	if err := m.MSet(ctx, 90*time.Second, hashtag.Pair{Key: "a", Value: 1}, hashtag.Pair{Key: "{a}2", Value: 1}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "{a}2"} {
		if d := ttl(key); d < 80*time.Second || d > 90*time.Second {
			t.Errorf("ttl of %s: %v, want about 90s", key, d)
		}
	}
	if n, err := m.Expire(ctx, 10*time.Minute, "a", "none"); n != 1 || err != nil {
		t.Errorf("Expire = %d, %v", n, err)
	}
	if d := ttl("a"); d < 9*time.Minute || d > 10*time.Minute {
		t.Errorf("ttl %v, want about 10m", d)
	}
	if err := m.MSet(ctx, 0, hashtag.Pair{Key: "a", Value: 2}); err != nil || ttl("a") != -1 {
		t.Errorf("ttl after MSet without one: %v, %v, want -1", ttl("a"), err)
	}
	for _, d := range []time.Duration{-time.Second, time.Microsecond} {
		if err := m.MSet(ctx, d, hashtag.Pair{Key: "a", Value: 3}); err == nil || !strings.Contains(err.Error(), d.String()) {
			t.Errorf("MSet with ttl %v: %v", d, err)
		}
	}
	if _, err := m.Expire(ctx, 0, "a"); err == nil || !strings.Contains(err.Error(), "ttl 0s") {
		t.Errorf("Expire with ttl 0: %v", err)
	}
}

func testMSetBadValue(t *testing.T, m hashtag.Multi) {
	err := m.MSet(t.Context(), 0, hashtag.Pair{Key: "good", Value: 1}, hashtag.Pair{Key: "bad", Value: struct{ X int }{1}})
	if err == nil || !strings.Contains(err.Error(), `key "bad"`) || errors.Is(err, hashtag.ErrPartial) {
		t.Errorf("error %v, want one that names the key", err)
	}
	if n, err := m.Exists(t.Context(), "good"); n != 0 || err != nil {
		t.Errorf("the other key was written: %d, %v", n, err)
	}
}

func testEmpty(t *testing.T, m hashtag.Multi) {
	ctx := t.Context()
	if v, err := m.MGet(ctx); len(v) != 0 || err != nil {
		t.Errorf("MGet() = %v, %v", v, err)
	}
	if err := m.MSet(ctx, 0); err != nil {
		t.Errorf("MSet() = %v", err)
	}
	for name, f := range map[string]func(context.Context, ...string) (int64, error){"Del": m.Del, "Unlink": m.Unlink, "Exists": m.Exists, "Touch": m.Touch} {
		if n, err := f(ctx); n != 0 || err != nil {
			t.Errorf("%s() = %d, %v", name, n, err)
		}
	}
	if n, err := m.Expire(ctx, time.Second); n != 0 || err != nil {
		t.Errorf("Expire() = %d, %v", n, err)
	}
}

func testManyKeys(t *testing.T, m hashtag.Multi) {
	m.ShardTimeout = 30 * time.Second
	keys := numbered(100_000)
	fill(t, m, keys)
	values, err := m.MGet(t.Context(), keys...)
	if err != nil {
		t.Fatal(err)
	}
	if err := wrong(keys, values); err != nil {
		t.Error(err)
	}
	if n, err := m.Exists(t.Context(), keys...); n != 100_000 || err != nil {
		t.Errorf("Exists = %d, %v", n, err)
	}
	if n, err := m.Expire(t.Context(), time.Hour, keys...); n != 100_000 || err != nil {
		t.Errorf("Expire = %d, %v", n, err)
	}
	if n, err := m.Unlink(t.Context(), keys...); n != 100_000 || err != nil {
		t.Errorf("Unlink = %d, %v", n, err)
	}
	// All in one slot.
	for i := range keys {
		keys[i] = "{one}" + keys[i]
	}
	fill(t, m, keys)
	if n, err := m.Del(t.Context(), keys...); n != 100_000 || err != nil {
		t.Errorf("Del = %d, %v", n, err)
	}
}

func testLargeValues(t *testing.T, m hashtag.Multi) {
	m.ShardTimeout = 30 * time.Second
	var pairs []hashtag.Pair
	var keys []string
	for i := range 6 {
		keys = append(keys, fmt.Sprintf("{%d}large", i/2)) // two in each slot
		if i%2 == 1 {
			keys[i] += "2"
		}
		pairs = append(pairs, hashtag.Pair{Key: keys[i], Value: strings.Repeat(string(rune('a'+i)), 10<<20)})
	}
	if err := m.MSet(t.Context(), 0, pairs...); err != nil {
		t.Fatal(err)
	}
	values, err := m.MGet(t.Context(), keys...)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		if v.Val != pairs[i].Value {
			t.Errorf("%s: %d bytes, want the 10 MiB written", keys[i], len(v.Val))
		}
	}
}

func testRefusedKey(t *testing.T, m hashtag.Multi) {
	ctx := t.Context()
	keys := []string{"{t}ok1", "{t}secret", "{t}ok2", "ok3"}
	fill(t, m, keys)
	admin := m.Client.(*redis.ClusterClient)
	if err := admin.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		return c.Do(ctx, "acl", "setuser", "limited", "on", ">pw", "+@all", "~*ok*").Err()
	}); err != nil {
		t.Fatal(err)
	}
	o := *admin.Options()
	o.Username, o.Password = "limited", "pw"
	limited := redis.NewClusterClient(&o)
	defer limited.Close()
	m.Client = limited
	values, err := m.MGet(ctx, keys...)
	var pe *hashtag.PartialError
	if !errors.Is(err, hashtag.ErrPartial) || !errors.As(err, &pe) || len(pe.Keys) != 1 || pe.Of != 4 {
		t.Fatalf("error %v", err)
	}
	if k := pe.Keys[0]; k.Index != 1 || k.Key != keys[1] || !redis.IsPermissionError(k.Err) || !redis.IsPermissionError(err) {
		t.Errorf("%+v", k)
	}
	for i, v := range values {
		if (v.Err != nil) != (i == 1) || v.Found == (i == 1) {
			t.Errorf("%s: %+v", keys[i], v)
		}
	}
	if n, err := m.Del(ctx, keys...); n != 3 || !errors.Is(err, hashtag.ErrPartial) || errors.Is(err, hashtag.ErrUnknown) {
		t.Errorf("Del = %d, %v, want 3 and a known error", n, err)
	}
}

func testEndedContext(t *testing.T, m hashtag.Multi) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	values, err := m.MGet(ctx, "a", "b")
	if !errors.Is(err, context.Canceled) || !errors.Is(err, hashtag.ErrPartial) || !errors.Is(values[1].Err, context.Canceled) {
		t.Errorf("%+v, %v", values, err)
	}
	if n, err := m.Del(ctx, "a", "a"); n != 0 || !errors.Is(err, context.Canceled) || errors.Is(err, hashtag.ErrUnknown) {
		t.Errorf("Del = %d, %v", n, err)
	}
}

func TestMultiNamesEveryBadField(t *testing.T) {
	_, err := hashtag.Multi{ShardTimeout: -1, BatchKeys: -2, BatchBytes: -3}.MGet(t.Context(), "a")
	for _, want := range []string{"Client", "ShardTimeout -1ns", "BatchKeys -2", "BatchBytes -3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}
