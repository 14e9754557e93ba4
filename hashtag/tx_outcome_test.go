package hashtag_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
)

func TestAScriptWhoseErrorLooksLikeARefusalIsExecutedOnce(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	plain := redis.NewClient(&redis.Options{Addr: c.NodeForKey("script").Addr()})
	defer plain.Close()
	const script = `redis.call('incr', KEYS[1]); return redis.error_reply(ARGV[1])`
	for name, client := range map[string]redis.UniversalClient{"cluster client": c.Client(), "client of one node": plain} {
		for _, msg := range []string{"TRYAGAIN later", "BUSY locked by another", "CLUSTERDOWN not me", "MOVED 1 127.0.0.1:1", "EXECABORT x", "NOPERM no"} {
			client.Del(ctx, "{script}n")
			cmds, err := hashtag.Tx(ctx, client, "script", func(p redis.Pipeliner) error {
				p.Eval(ctx, script, []string{"{script}n"}, msg)
				return nil
			})
			if len(cmds) != 1 || err == nil || !strings.Contains(err.Error(), msg) || errors.Is(err, hashtag.ErrNotExecuted) || errors.Is(err, hashtag.ErrUnknown) {
				t.Errorf("%s, %s: %v, %v, want the error of a command that ran", name, msg, cmds, err)
			}
			if n := client.Get(ctx, "{script}n").Val(); n != "1" {
				t.Errorf("%s, %s: executed %s times", name, msg, n)
			}
		}
	}
}

func TestTxKnowsErrorsThatBeginLikeARefusal(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	client := c.Client()
	if err := client.XGroupCreateMkStream(ctx, "{busy}s", "g", "0").Err(); err != nil {
		t.Fatal(err)
	}
	cmds, err := hashtag.Tx(ctx, client, "busy", func(p redis.Pipeliner) error {
		p.XGroupCreate(ctx, "{busy}s", "g", "0")
		return nil
	})
	if len(cmds) != 1 || !redis.HasErrorPrefix(err, "BUSYGROUP") || errors.Is(err, hashtag.ErrNotExecuted) {
		t.Errorf("%v, %v, want the error of a command that ran", cmds, err)
	}
}

func TestATransactionThatWasNotSentWasNotExecuted(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Config: map[string]string{"requirepass": "secret"}})
	client := redis.NewClusterClient(c.ClientOptions())
	defer client.Close()
	incr := func(ctx context.Context) error {
		cmds, err := hashtag.Tx(ctx, client, "unsent", func(p redis.Pipeliner) error {
			p.Incr(ctx, "unsent")
			return nil
		})
		if cmds != nil {
			t.Errorf("%v", cmds)
		}
		return err
	}
	if err := client.Ping(t.Context()).Err(); err != nil { // knows the cluster now
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := incr(ended); !errors.Is(err, hashtag.ErrNotExecuted) || !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	node := c.NodeForKey("unsent")
	for _, command := range []string{"HELLO", "AUTH"} {
		if _, err := node.Inject(clustertest.Fault{Command: command, Error: "ERR not today"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := node.ResetConns(); err != nil {
		t.Fatal(err)
	}
	if err := incr(t.Context()); !errors.Is(err, hashtag.ErrNotExecuted) || !strings.Contains(err.Error(), "not today") {
		t.Errorf("failed handshake: %v", err)
	}
	if n := node.Client().Exists(t.Context(), "unsent").Val(); n != 0 {
		t.Error("the transaction was executed")
	}
}

func TestTheFunctionOfTxOnlyQueues(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	client := c.Client()
	incr := func(p redis.Pipeliner) error { return p.Incr(ctx, "{q}n").Err() }
	for name, fn := range map[string]func(redis.Pipeliner) error{
		"Exec":        func(p redis.Pipeliner) error { incr(p); _, err := p.Exec(ctx); return err },
		"Pipelined":   func(p redis.Pipeliner) error { _, err := p.Pipelined(ctx, incr); return err },
		"TxPipelined": func(p redis.Pipeliner) error { _, err := p.TxPipelined(ctx, incr); return err },
		"Pipeline":    func(p redis.Pipeliner) error { incr(p); _, err := p.Pipeline().Exec(ctx); return err },
		"exec":        func(p redis.Pipeliner) error { incr(p); p.Do(ctx, "EXEC"); return incr(p) },
		"discard":     func(p redis.Pipeliner) error { incr(p); p.Do(ctx, "discard"); return incr(p) },
		"watch":       func(p redis.Pipeliner) error { incr(p); p.Do(ctx, "watch", "{q}n"); return nil },
	} {
		if cmds, err := hashtag.Tx(ctx, client, "q", fn); cmds != nil || !errors.Is(err, hashtag.ErrNotExecuted) {
			t.Errorf("%s: %v, %v", name, cmds, err)
		}
		if v, err := client.Get(ctx, "{q}n").Result(); !errors.Is(err, redis.Nil) {
			t.Errorf("%s: something was executed: %q, %v", name, v, err)
		}
	}
}

func TestTxTakesKeysAsBytesAndNumbers(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	cmds, err := hashtag.Tx(ctx, c.Client(), "5", func(p redis.Pipeliner) error {
		p.Do(ctx, "set", []byte("{5}bytes"), "v")
		p.Do(ctx, "set", 5, "v")
		return nil
	})
	if len(cmds) != 2 || err != nil {
		t.Errorf("%v, %v", cmds, err)
	}
}

func TestATransactionThatCannotBeEncodedWasNotExecuted(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	for _, last := range []bool{false, true} {
		_, err := hashtag.Tx(ctx, c.Client(), "enc", func(p redis.Pipeliner) error {
			p.Incr(ctx, "{enc}n")
			p.Set(ctx, "{enc}a", struct{}{}, 0)
			if !last {
				p.Incr(ctx, "{enc}n")
			}
			return nil
		})
		if !errors.Is(err, hashtag.ErrNotExecuted) {
			t.Errorf("last command %v: %v", last, err)
		}
	}
	if v, err := c.Client().Get(ctx, "{enc}n").Result(); !errors.Is(err, redis.Nil) {
		t.Errorf("something was executed: %q, %v", v, err)
	}
}

func TestTxAndWatchWithoutAClient(t *testing.T) {
	ctx := t.Context()
	queue := func(p redis.Pipeliner) error { return p.Incr(ctx, "a").Err() }
	if _, err := hashtag.Tx(ctx, nil, "a", queue); !errors.Is(err, hashtag.ErrNotExecuted) {
		t.Errorf("Tx: %v", err)
	}
	if err := hashtag.Watch(ctx, nil, func(*redis.Tx) error { return nil }, "a"); !errors.Is(err, hashtag.ErrNotExecuted) {
		t.Errorf("Watch: %v", err)
	}
}
