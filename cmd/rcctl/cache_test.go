package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/lockcluster"
	"github.com/redis/go-redis/v9"
)

func TestCacheInspectAndUnlockALeaseOfALoadThatHangs(t *testing.T) {
	cluster := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}})
	o := cluster.ClientOptions()
	o.ContextTimeoutEnabled = true
	client := redis.NewClusterClient(o)
	defer client.Close()
	cache, err := lockcluster.New(client, lockcluster.Config{StepBudget: time.Second, LoadTimeout: time.Minute, Lease: 2 * time.Minute, NoRenewal: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close(context.Background())
	addr := cluster.Addrs()[0]
	run := func(args ...string) result {
		t.Helper()
		return runWithInput(t, "", append([]string{"cache", args[0], "--cluster", addr}, args[1:]...)...)
	}
	inspect := func(key string) cacheRecord {
		t.Helper()
		r := run("inspect", "-o", "json", "--", key)
		var rec cacheRecord
		if r.code != exitOK || json.Unmarshal([]byte(r.stdout), &rec) != nil {
			t.Fatalf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
		}
		return rec
	}
	for _, key := range []string{"product:1", "foo}bar", "{"} {
		if rec := inspect(key); rec.Kind != "absent" {
			t.Fatalf("before: %+v", rec)
		}
		running, done := make(chan struct{}), make(chan struct{})
		go func() {
			_, _ = cache.Get(context.Background(), key, func(ctx context.Context, _ *lockcluster.Load) ([]byte, error) {
				close(running)
				<-done
				return []byte("late"), nil
			})
		}()
		<-running
		rec := inspect(key)
		if rec.Kind != "none" || len(rec.Lease) != 24 || rec.LeaseMS < 100_000 {
			t.Fatalf("under a lease: %+v", rec)
		}
		if r := run("unlock", "--token", strings.Repeat("ab", 12), "--", key); r.code != exitFindings || !strings.Contains(r.stderr, "not held") {
			t.Errorf("a wrong token: exit code %d: %s", r.code, r.stderr)
		}
		if r := run("unlock", "--token", rec.Lease, "--", key); r.code != exitOK || r.stdout != "" {
			t.Errorf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
		}
		if rec := inspect(key); rec.Lease != "" {
			t.Errorf("after unlock: %+v", rec)
		}
		if err := cache.Set(t.Context(), key, []byte("new")); err != nil {
			t.Fatal(err)
		}
		close(done)
		if rec := inspect(key); rec.Kind != "value" || rec.Bytes != 3 || rec.Generation != 1 || rec.FreshMS == 0 {
			t.Errorf("a value: %+v", rec)
		}
		r := run("inspect", "--", key)
		if r.code != exitOK || !strings.Contains(r.stdout, "fresh for") {
			t.Errorf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
		}
	}
}

func TestCacheCommandsRefuseBadUsage(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"cache", "unlock", "k"}, "--token"},
		{[]string{"cache", "unlock", "k", "--token", "xyz", "--cluster", "127.0.0.1:1"}, "24 hexadecimal digits"},
		{[]string{"cache", "inspect"}, "accepts 1 arg"},
		{[]string{"cache", "inspect", "zz", "--hex", "--cluster", "127.0.0.1:1"}, "hexadecimal"},
		{[]string{"cache", "inspect", "k"}, "no cluster"},
		{[]string{"cache", "look"}, "unknown command"},
	} {
		r := runWithInput(t, "", tc.args...)
		if r.code != exitUsage || !strings.Contains(r.stderr, tc.want) {
			t.Errorf("%v: exit code %d, %q; want %d and %q", tc.args, r.code, r.stderr, exitUsage, tc.want)
		}
	}
}
