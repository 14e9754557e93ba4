package lockcluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/lockcluster"
)

func mustState(t *testing.T, want string) func(lockcluster.Reply, error) lockcluster.Reply {
	return func(r lockcluster.Reply, err error) lockcluster.Reply {
		t.Helper()
		if err != nil || r.State != want {
			t.Fatalf("answered %q, %v; want %s", r.State, err, want)
		}
		return r
	}
}

func TestALeaseIsHeldByOneAndFilledByItsHolderAlone(t *testing.T) {
	client := newClient(t, sharedCluster(t))
	for _, plain := range []bool{false, true} {
		c := newCache(t, client, lockcluster.Config{PlainValues: plain, Jitter: lockcluster.Off})
		forEachOddKey(t, client, func(t *testing.T, key string) {
			ctx := t.Context()
			a, b := c.NewToken(), c.NewToken()
			mustState(t, "ACQUIRED")(c.Acquire(ctx, key, a, "", "1"))
			mustState(t, "ACQUIRED")(c.Acquire(ctx, key, a, "", "1"))
			r := mustState(t, "HELD")(c.Acquire(ctx, key, b, "", "1"))
			if r.Header.Lease() != a.String() {
				t.Errorf("held by %s, want %s", r.Header.Lease(), a)
			}
			mustState(t, "LOST")(c.Fill(ctx, key, b, "wrong"))
			mustState(t, "LOST")(c.Renew(ctx, key, b))
			mustState(t, "RENEWED")(c.Renew(ctx, key, a))
			mustState(t, "FILLED")(c.Fill(ctx, key, a, "value"))
			mustState(t, "FILLED")(c.Fill(ctx, key, a, "value"))
			mustState(t, "FRESH")(c.Acquire(ctx, key, b, "", "1"))
			rec, value, err := c.Peek(ctx, key)
			if err != nil || string(value) != "value" || rec.Generation != 1 || rec.Lease != "" || rec.FillID != a.String() {
				t.Fatalf("peek: %+v, %q, %v", rec, value, err)
			}
			// A volunteer who knows this fill may replace it; the value stays
			// while it loads.
			mustState(t, "ACQUIRED")(c.Acquire(ctx, key, b, string(a[:]), "0"))
			if _, value, err := c.Peek(ctx, key); err != nil || string(value) != "value" {
				t.Fatalf("under a lease: %q, %v", value, err)
			}
			mustState(t, "RELEASED")(c.Release(ctx, key, b, false))
			mustState(t, "RELEASED")(c.Release(ctx, key, b, false))
			if rec, _, _ := c.Peek(ctx, key); rec.Lease != "" || rec.Failures != 0 {
				t.Errorf("after release: %+v", rec)
			}
		})
	}
}

func TestAnInvalidationAndAPlainDelRevokeTheLease(t *testing.T) {
	client := newClient(t, sharedCluster(t))
	c := newCache(t, client, lockcluster.Config{})
	forEachOddKey(t, client, func(t *testing.T, key string) {
		ctx := t.Context()
		a, b, inv := c.NewToken(), c.NewToken(), c.NewToken()
		mustState(t, "ACQUIRED")(c.Acquire(ctx, key, a, "", "1"))
		mustState(t, "DONE")(c.InvalidateWith(ctx, key, inv))
		mustState(t, "LOST")(c.Fill(ctx, key, a, "old"))
		mustState(t, "ACQUIRED")(c.Acquire(ctx, key, b, "", "1"))
		mustState(t, "DONE")(c.InvalidateWith(ctx, key, inv)) // a repeat harms no later lease
		mustState(t, "RENEWED")(c.Renew(ctx, key, b))
		if err := client.Del(ctx, key).Err(); err != nil {
			t.Fatal(err)
		}
		mustState(t, "LOST")(c.Fill(ctx, key, b, "old"))
		if rec, _, _ := c.Peek(ctx, key); rec.Kind != "absent" {
			t.Errorf("left behind: %+v", rec)
		}
	})
}

func TestFailuresInARowStartADoublingCooldownThatAFillEnds(t *testing.T) {
	client := newClient(t, sharedCluster(t))
	c := newCache(t, client, lockcluster.Config{Cooldown: 100 * time.Millisecond, CooldownMax: 300 * time.Millisecond})
	ctx, key := t.Context(), uniqueKey("cool")
	fail := func() {
		tok := c.NewToken()
		eventually(t, 5*time.Second, "lease", func() bool {
			r, err := c.Acquire(ctx, key, tok, "", "1")
			return err == nil && r.State == "ACQUIRED"
		})
		mustState(t, "RELEASED")(c.Release(ctx, key, tok, true))
		mustState(t, "RELEASED")(c.Release(ctx, key, tok, true)) // counted once
	}
	for i, most := range []time.Duration{0, 0, 100, 200, 300, 300} {
		fail()
		rec, _, _ := c.Peek(ctx, key)
		if rec.Failures != i+1 || rec.CoolingFor > most*time.Millisecond || most > 0 && rec.CoolingFor < (most-80)*time.Millisecond {
			t.Fatalf("after failure %d: %+v, want a cool-down of %d ms", i+1, rec, most)
		}
		if most > 0 {
			mustState(t, "COOLING")(c.Acquire(ctx, key, c.NewToken(), "", "1"))
		}
	}
	tok := c.NewToken()
	eventually(t, 5*time.Second, "lease", func() bool {
		r, err := c.Acquire(ctx, key, tok, "", "1")
		return err == nil && r.State == "ACQUIRED"
	})
	mustState(t, "FILLED")(c.Fill(ctx, key, tok, "good"))
	if rec, _, _ := c.Peek(ctx, key); rec.Failures != 0 || rec.CoolingFor != 0 {
		t.Errorf("after a fill: %+v", rec)
	}
}

func TestAForeignTypeIsLeftAlone(t *testing.T) {
	client := newClient(t, sharedCluster(t))
	c := newCache(t, client, lockcluster.Config{})
	ctx, key := t.Context(), uniqueKey("foreign")
	client.HSet(ctx, key, "f", "v")
	tok := c.NewToken()
	mustState(t, "FOREIGN")(c.Acquire(ctx, key, tok, "", "1"))
	mustState(t, "FOREIGN")(c.Fill(ctx, key, tok, "x"))
	if err := c.Invalidate(ctx, key); err == nil || !strings.Contains(err.Error(), "another type") {
		t.Errorf("invalidate: %v", err)
	}
	l := constant{value: "v"}
	for range 2 {
		if r, err := c.Get(ctx, key, l.load); err != nil || string(r.Value) != "v" || r.Source != lockcluster.Alone {
			t.Errorf("get: %+v, %v", r, err)
		}
	}
	if v := client.HGet(ctx, key, "f").Val(); v != "v" {
		t.Errorf("the hash was touched: %q", v)
	}
}

// The record must outlive a lease that is longer than the value's rest of
// life, or a second load would start.
func TestALeaseKeepsTheRecordAliveBeyondTheValue(t *testing.T) {
	client := newClient(t, sharedCluster(t))
	c := newCache(t, client, lockcluster.Config{Fresh: 50 * time.Millisecond, Stale: 50 * time.Millisecond, Jitter: lockcluster.Off, Lease: 500 * time.Millisecond})
	ctx, key := t.Context(), uniqueKey("outlive")
	a, b := c.NewToken(), c.NewToken()
	mustState(t, "ACQUIRED")(c.Acquire(ctx, key, a, "", "0"))
	mustState(t, "FILLED")(c.Fill(ctx, key, a, "v"))
	mustState(t, "ACQUIRED")(c.Acquire(ctx, key, b, string(a[:]), "0"))
	eventually(t, 2*time.Second, "the value is over", func() bool {
		rec, _, _ := c.Peek(ctx, key)
		return rec.StaleFor == 0
	})
	mustState(t, "FILLED")(c.Fill(ctx, key, b, "w"))
}

func TestRepeatingAScriptWhoseReplyWasLostChangesNothing(t *testing.T) {
	cluster := ownCluster(t, 0)
	client := newClient(t, cluster)
	c := newCache(t, client, lockcluster.Config{Jitter: lockcluster.Off, Cooldown: time.Second})
	ctx := t.Context()
	warm := c.NewToken() // every node knows every script
	for _, key := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"} {
		mustState(t, "ACQUIRED")(c.Acquire(ctx, key, warm, "", "0"))
		mustState(t, "RENEWED")(c.Renew(ctx, key, warm))
		mustState(t, "FILLED")(c.Fill(ctx, key, warm, ""))
		mustState(t, "RELEASED")(c.Release(ctx, key, warm, false))
		mustState(t, "DONE")(c.InvalidateWith(ctx, key, warm))
	}
	faults := map[string]clustertest.Fault{
		"lost before execution": {Command: "EVALSHA", Times: 1, DropBefore: true},
		"lost after execution":  {Command: "EVALSHA", Times: 1, DropAfter: true},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			key := uniqueKey("lost")
			step := func(what, want string, do func() (lockcluster.Reply, error)) lockcluster.Reply {
				t.Helper()
				inj, err := cluster.NodeForKey(key).Inject(fault)
				if err != nil {
					t.Fatal(err)
				}
				defer inj.Remove()
				r, err := do()
				if err != nil || r.State != want || inj.Hits() != 1 {
					t.Fatalf("%s answered %q, %v after %d faults; want %s", what, r.State, err, inj.Hits(), want)
				}
				return r
			}
			a, b := c.NewToken(), c.NewToken()
			step("acquire", "ACQUIRED", func() (lockcluster.Reply, error) { return c.Acquire(ctx, key, a, "", "1") })
			step("renew", "RENEWED", func() (lockcluster.Reply, error) { return c.Renew(ctx, key, a) })
			r := step("fill", "FILLED", func() (lockcluster.Reply, error) { return c.Fill(ctx, key, a, "v") })
			if _, v, err := c.Peek(ctx, key); err != nil || string(v) != "v" {
				t.Fatalf("stored %q, %v", v, err)
			}
			step("acquire", "ACQUIRED", func() (lockcluster.Reply, error) { return c.Acquire(ctx, key, b, string(a[:]), "1") })
			step("release", "RELEASED", func() (lockcluster.Reply, error) { return c.Release(ctx, key, b, true) })
			rec, _, _ := c.Peek(ctx, key)
			if rec.Lease != "" || rec.Failures != 1 || rec.Generation != 1 || r.State != "FILLED" {
				t.Fatalf("after a failed load: %+v", rec)
			}
			step("invalidate", "DONE", func() (lockcluster.Reply, error) { return c.InvalidateWith(ctx, key, c.NewToken()) })
			if rec, _, _ := c.Peek(ctx, key); rec.Kind != "none" {
				t.Fatalf("after invalidate: %+v", rec)
			}
		})
	}
}
