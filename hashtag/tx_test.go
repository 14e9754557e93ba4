package hashtag_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
)

// halfMove opens the slot of tag for a move and moves n keys.
func halfMove(t *testing.T, c *clustertest.Cluster, tag string, n int) *clustertest.Move {
	t.Helper()
	to := c.Masters()[0]
	if to == c.NodeForKey(tag) {
		to = c.Masters()[1]
	}
	move, err := c.BeginMove(t.Context(), hashtag.Slot(tag), to)
	if err != nil {
		t.Fatal(err)
	}
	if n > 0 {
		if _, err := move.Step(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	return move
}

func TestTx(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	client := c.Client()

	t.Run("returns the replies in order", func(t *testing.T) {
		cmds, err := hashtag.Tx(ctx, client, "user:1", func(p redis.Pipeliner) error {
			p.Set(ctx, "{user:1}a", "x", 0)
			p.Get(ctx, "{user:1}a")
			p.Get(ctx, "{user:1}none")
			p.Incr(ctx, "{user:1}n")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(cmds) != 4 || cmds[1].(*redis.StringCmd).Val() != "x" || !errors.Is(cmds[2].Err(), redis.Nil) || cmds[3].(*redis.IntCmd).Val() != 1 {
			t.Errorf("%v", cmds)
		}
	})

	t.Run("sends nothing when a key is in another slot", func(t *testing.T) {
		for name, queue := range map[string]func(redis.Pipeliner){
			`command 2, set, names key "other"`:     func(p redis.Pipeliner) { p.Set(ctx, "other", 1, 0) },
			`command 2, rename, names key "other"`:  func(p redis.Pipeliner) { p.Rename(ctx, "{tx}a", "other") },
			`command 2, del, names key "other"`:     func(p redis.Pipeliner) { p.Del(ctx, "{tx}a", "{tx}b", "other") },
			`command 2, mset, names key "other"`:    func(p redis.Pipeliner) { p.MSet(ctx, "{tx}a", "v", "other", "{tx}") },
			`command 2, eval, names key "other"`:    func(p redis.Pipeliner) { p.Eval(ctx, "return 1", []string{"{tx}a", "other"}, "arg") },
			`command 2, zunionstore, names key "o"`: func(p redis.Pipeliner) { p.ZUnionStore(ctx, "o", &redis.ZStore{Keys: []string{"{tx}a"}}) },
		} {
			cmds, err := hashtag.Tx(ctx, client, "tx", func(p redis.Pipeliner) error {
				p.Set(ctx, "{tx}written", 1, 0)
				queue(p)
				return nil
			})
			if cmds != nil || !errors.Is(err, hashtag.ErrNotExecuted) || !errors.Is(err, redis.ErrCrossSlot) || !strings.Contains(err.Error(), name) {
				t.Errorf("%v, want an error with %s", err, name)
			}
		}
		if client.Exists(ctx, "{tx}written").Val() != 0 {
			t.Error("a command was executed")
		}
	})

	t.Run("tells a failed command from a transaction that did not run", func(t *testing.T) {
		client.LPush(ctx, "{kind}list", 1)
		cmds, err := hashtag.Tx(ctx, client, "kind", func(p redis.Pipeliner) error {
			p.Incr(ctx, "{kind}list")
			p.Incr(ctx, "{kind}n")
			return nil
		})
		if err == nil || errors.Is(err, hashtag.ErrNotExecuted) || !redis.HasErrorPrefix(err, "WRONGTYPE") || len(cmds) != 2 || cmds[1].(*redis.IntCmd).Val() != 1 {
			t.Errorf("ran with an error: %v, %v", cmds, err)
		}
		for _, n := range []int{1, 2} {
			_, err = hashtag.Tx(ctx, client, "kind", func(p redis.Pipeliner) error {
				if n == 2 {
					p.Incr(ctx, "{kind}n")
				}
				p.Do(ctx, "get", "{kind}a", "{kind}b")
				return nil
			})
			if !errors.Is(err, hashtag.ErrNotExecuted) {
				t.Errorf("refused when queued: %v", err)
			}
		}
		if v := client.Get(ctx, "{kind}n").Val(); v != "1" {
			t.Errorf("n is %s, want 1", v)
		}
		broken := errors.New("broken")
		if _, err := hashtag.Tx(ctx, client, "kind", func(redis.Pipeliner) error { return broken }); !errors.Is(err, broken) || !errors.Is(err, hashtag.ErrNotExecuted) {
			t.Errorf("error of fn: %v", err)
		}
		if cmds, err := hashtag.Tx(ctx, client, "kind", func(redis.Pipeliner) error { return nil }); len(cmds) != 0 || err != nil {
			t.Errorf("nothing queued: %v, %v", cmds, err)
		}
	})

	t.Run("follows a slot that moves and says so when it cannot", func(t *testing.T) {
		client.Set(ctx, "{mv}a", 1, 0)
		client.Set(ctx, "{mv}b", 1, 0)
		move := halfMove(t, c, "mv", 1)
		both := func(p redis.Pipeliner) error {
			p.Incr(ctx, "{mv}a")
			p.Incr(ctx, "{mv}b")
			return nil
		}
		// One key is here and one is there: each side answers ASK or TRYAGAIN.
		if _, err := hashtag.Tx(ctx, client, "mv", both); !errors.Is(err, hashtag.ErrNotExecuted) {
			t.Errorf("split keys: %v", err)
		}
		if err := move.Finish(ctx); err != nil {
			t.Fatal(err)
		}
		cmds, err := hashtag.Tx(ctx, client, "mv", both)
		if err != nil || cmds[0].(*redis.IntCmd).Val() != 2 || cmds[1].(*redis.IntCmd).Val() != 2 {
			t.Errorf("after the move: %v, %v", cmds, err)
		}
	})
}

func TestTxIsExecutedOnceWhenItsAnswerIsLost(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	cut := &cutter{}
	o := c.ClientOptions()
	o.Dialer = cut.dial
	client := redis.NewClusterClient(o)
	defer client.Close()
	incr := func(p redis.Pipeliner) error {
		p.Incr(ctx, "{once}n")
		return nil
	}
	if _, err := hashtag.Tx(ctx, client, "once", incr); err != nil {
		t.Fatal(err)
	}
	name := "incr"
	cut.command.Store(&name)
	if _, err := hashtag.Tx(ctx, client, "once", incr); !errors.Is(err, hashtag.ErrUnknown) || errors.Is(err, hashtag.ErrNotExecuted) {
		t.Errorf("error %v, want an unknown outcome", err)
	}
	if v := client.Get(ctx, "{once}n").Val(); v != "2" {
		t.Errorf("n is %s, want 2", v)
	}
}

func TestTxReturnsByTheDeadlineOfItsContext(t *testing.T) {
	c := startCluster(t)
	client := c.Client() // does not look at contexts
	node := c.NodeForKey("late")
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := node.Pause(); err != nil {
		t.Fatal(err)
	}
	defer node.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := hashtag.Tx(ctx, client, "late", func(p redis.Pipeliner) error {
		p.Incr(ctx, "late")
		return nil
	})
	if took := time.Since(start); took > 600*time.Millisecond {
		t.Errorf("took %v with a deadline of 200ms", took)
	}
	if !errors.Is(err, hashtag.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestWatch(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	client := c.Client()

	t.Run("locks optimistically", func(t *testing.T) {
		set := func(interfere bool) error {
			return hashtag.Watch(ctx, client, func(tx *redis.Tx) error {
				if interfere {
					client.Set(ctx, "{w}a", "theirs", 0)
				}
				_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
					p.Set(ctx, "{w}a", "ours", 0)
					return nil
				})
				return err
			}, "{w}a", "{w}b")
		}
		if err := set(false); err != nil || client.Get(ctx, "{w}a").Val() != "ours" {
			t.Errorf("undisturbed: %v", err)
		}
		if err := set(true); !errors.Is(err, redis.TxFailedErr) || client.Get(ctx, "{w}a").Val() != "theirs" {
			t.Errorf("disturbed: %v", err)
		}
	})

	t.Run("refuses no keys and keys of two slots", func(t *testing.T) {
		never := func(*redis.Tx) error { t.Error("fn ran"); return nil }
		if err := hashtag.Watch(ctx, client, never); !errors.Is(err, hashtag.ErrNotExecuted) {
			t.Errorf("no keys: %v", err)
		}
		err := hashtag.Watch(ctx, client, never, "a", "b")
		if !errors.Is(err, hashtag.ErrNotExecuted) || !errors.Is(err, redis.ErrCrossSlot) || !strings.Contains(err.Error(), `key "b" in slot 3300`) {
			t.Errorf("two slots: %v", err)
		}
	})

	t.Run("says that fn did not run while the key is between two nodes", func(t *testing.T) {
		client.Set(ctx, "{gone}", 1, 0)
		move := halfMove(t, c, "gone", 1)
		ran := 0
		fn := func(*redis.Tx) error { ran++; return nil }
		if err := client.Watch(ctx, fn, "{gone}"); err != nil || ran != 0 {
			t.Logf("go-redis has changed: Watch returned %v after %d calls of fn; it was nil after 0", err, ran)
		}
		ran = 0
		err := hashtag.Watch(ctx, client, fn, "{gone}")
		if !errors.Is(err, hashtag.ErrNotExecuted) || ran != 0 {
			t.Errorf("error %v, fn ran %d times", err, ran)
		}
		if err := move.Finish(ctx); err != nil {
			t.Fatal(err)
		}
		if err := hashtag.Watch(ctx, client, fn, "{gone}"); err != nil || ran != 1 {
			t.Errorf("after the move: %v, fn ran %d times", err, ran)
		}
	})
}
