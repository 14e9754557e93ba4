package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
)

func skewCluster(t *testing.T, replicas int) *clustertest.Cluster {
	t.Helper()
	return clustertest.Run(t, clustertest.Options{
		Backend: clustertest.Processes{}, Replicas: replicas,
		Config: map[string]string{"cluster-require-full-coverage": "no"},
	})
}

func skewJSON(t *testing.T, r result, code int) skewReport {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d: %s", r.code, code, r.stderr)
	}
	var rep skewReport
	if err := json.Unmarshal([]byte(r.stdout), &rep); err != nil {
		t.Fatalf("%v in %s", err, r.stdout)
	}
	if rep.Schema != "rcctl.skew.v1" {
		t.Errorf("schema %q", rep.Schema)
	}
	return rep
}

func TestSkewOfKeysOnStandardInput(t *testing.T) {
	var in strings.Builder
	for i := range 100 {
		fmt.Fprintf(&in, "{cart}:%d\nuser:%d\n", i, i)
	}
	rep := skewJSON(t, runWithInput(t, in.String(), "skew", "-o", "json"), exitOK)
	if rep.Keys != 200 || rep.Sampled != 200 || len(rep.Static) != 1 || *rep.Static[0].Tag != "cart" || rep.Static[0].Keys != 100 || len(rep.Nodes) != 0 {
		t.Errorf("%+v", rep)
	}
	r := runWithInput(t, in.String(), "skew", "-")
	if r.code != exitOK || !strings.Contains(r.stdout, "cart") || !strings.Contains(r.stdout, "50.0 %") {
		t.Errorf("exit code %d:\n%s", r.code, r.stdout)
	}
	if r := runWithInput(t, "", "skew"); r.code != exitOK || !strings.Contains(r.stdout, "no static tags") {
		t.Errorf("nothing on standard input: exit code %d:\n%s", r.code, r.stdout)
	}
}

func TestSkewNamesEveryBadFlag(t *testing.T) {
	r := runWithInput(t, "", "skew", "--sample", "-1", "--count", "0", "--pause", "1h", "--for", "0s")
	for _, want := range []string{"--sample -1", "--count 0", "--pause 1h0m0s", "--for 0s"} {
		if r.code != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("exit code %d, stderr %s, want %s", r.code, r.stderr, want)
		}
	}
	if r := runWithInput(t, "", "skew", "keys.txt"); r.code != exitUsage || !strings.Contains(r.stderr, "keys.txt") {
		t.Errorf("exit code %d, stderr %s", r.code, r.stderr)
	}
}

func TestSlotAndSkewOnARealCluster(t *testing.T) {
	c := skewCluster(t, 1)
	ctx := t.Context()
	var pairs []hashtag.Pair
	for i := range 6000 {
		pairs = append(pairs, hashtag.Pair{Key: fmt.Sprintf("{user:%d}:profile", i), Value: i})
	}
	for i := range 2000 {
		pairs = append(pairs, hashtag.Pair{Key: fmt.Sprintf("{cart}:%d", i), Value: i})
	}
	if err := (hashtag.Multi{Client: c.Client()}).MSet(ctx, 0, pairs...); err != nil {
		t.Fatal(err)
	}
	seed := c.Addrs()[0]
	master := c.NodeForKey("cart")

	r := runWithInput(t, "", "slot", "cart", "--cluster", seed, "-o", "json")
	if want := fmt.Sprintf(`"owner":%q`, master.Addr()); r.code != exitOK || !strings.Contains(r.stdout, want) {
		t.Errorf("exit code %d, %s%s, want %s", r.code, r.stdout, r.stderr, want)
	}

	replicaScans := func() (n int) {
		for _, m := range c.Masters() {
			for _, rep := range m.Replicas() {
				info := rep.Client().Info(ctx, "commandstats").Val()
				if strings.Contains(info, "cmdstat_scan:") {
					n++
				}
			}
		}
		return n
	}
	untilNil(t, func() error { // replicas have all keys
		for _, m := range c.Masters() {
			for _, rep := range m.Replicas() {
				if a, b := m.Client().DBSize(ctx).Val(), rep.Client().DBSize(ctx).Val(); a != b {
					return fmt.Errorf("%d keys on the master, %d on its replica", a, b)
				}
			}
		}
		return nil
	})
	for _, sample := range []string{"100000", "1000"} {
		rep := skewJSON(t, runWithInput(t, "", "skew", "--cluster", seed, "-o", "json", "--sample", sample, "--pause", "0s"), exitOK)
		if rep.Keys != 8000 || len(rep.Nodes) != 3 || rep.Nodes[0].Node != master.Addr() || rep.Hottest[0].Slot != hashtag.Slot("cart") || rep.Hottest[0].Keys < 2000 {
			t.Errorf("sample of %s: %+v", sample, rep)
		}
		if len(rep.Static) != 1 || *rep.Static[0].Tag != "cart" || rep.Static[0].Keys < 1000 || rep.Static[0].Keys > 3000 {
			t.Errorf("sample of %s: static tags %+v, want cart with about 2000 keys", sample, rep.Static)
		}
		if sample == "1000" && (rep.Sampled < 900 || rep.Sampled > 3000) {
			t.Errorf("%d keys sampled, want about 1000", rep.Sampled)
		}
	}
	if n := replicaScans(); n != 3 {
		t.Errorf("%d replicas were asked, want all 3", n)
	}

	// --match chooses among the keys looked at, it does not make them more.
	for _, sample := range []string{"100000", "2000"} {
		r := runWithInput(t, "", "skew", "--cluster", seed, "-o", "json", "--sample", sample, "--pause", "0s", "--match", "{cart}:1*")
		rep := skewJSON(t, r, exitOK) // 1111 keys
		if len(rep.Static) != 1 || rep.Static[0].Share != 1 || rep.Static[0].Keys < 500 || rep.Static[0].Keys > 2000 {
			t.Errorf("sample of %s: static tags %+v, want cart with about 1111 keys", sample, rep.Static)
		}
	}
	// When the time is over there is what was read by then, of every shard.
	for range 5 {
		r := runWithInput(t, "", "skew", "--cluster", seed, "-o", "json", "--count", "1", "--pause", "1ms", "--for", "150ms")
		if rep := skewJSON(t, r, exitOK); rep.Sampled == 0 || rep.Sampled >= 8000 {
			t.Errorf("%d keys in 150ms, want some", rep.Sampled)
		}
	}
	before := scans(c)
	rep := skewJSON(t, runWithInput(t, "", "skew", "--cluster", seed, "-o", "json", "--sample", "2000", "--pause", "0s", "--match", "none"), exitOK)
	if n := scans(c) - before; rep.Sampled != 0 || n > 300 {
		t.Errorf("%d SCANs for a sample of 2000, %d keys", n, rep.Sampled)
	}

	rep = skewJSON(t, runWithInput(t, "{cart}:1\nother\n", "skew", "-", "--cluster", seed, "-o", "json"), exitOK)
	if rep.Keys != 2 || len(rep.Nodes) != 3 {
		t.Errorf("keys from standard input with owners: %+v", rep)
	}

	// A dead shard is named, the others are reported.
	for _, n := range append(master.Replicas(), master) {
		if err := n.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	alive := c.Masters()[0]
	if alive == master {
		alive = c.Masters()[1]
	}
	r = runWithInput(t, "", "skew", "--cluster", alive.Addr(), "-o", "json", "--pause", "0s")
	rep = skewJSON(t, r, exitUnknown)
	if rep.Keys == 0 || rep.Keys >= 6000 || !strings.Contains(r.stderr, master.Addr()) {
		t.Errorf("%d keys, stderr %s", rep.Keys, r.stderr)
	}
	r = runWithInput(t, "", "skew", "--cluster", "127.0.0.1:1", "--timeout", "1s")
	if r.code != exitUnknown || r.stdout != "" {
		t.Errorf("no server: exit code %d, stdout %s", r.code, r.stdout)
	}
}

// scans is how many SCANs all nodes have executed.
func scans(c *clustertest.Cluster) (n int) {
	for _, node := range c.Nodes() {
		var calls int
		info := node.Client().Info(context.Background(), "commandstats").Val()
		if _, rest, ok := strings.Cut(info, "cmdstat_scan:calls="); ok {
			fmt.Sscan(strings.Split(rest, ",")[0], &calls)
		}
		n += calls
	}
	return n
}

// untilNil polls until check returns nil.
func untilNil(t *testing.T, check func() error) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(15 * time.Second); ; <-tick.C {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
