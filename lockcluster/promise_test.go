package lockcluster_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/lockcluster"
	"github.com/redis/go-redis/v9"
)

func TestAHitIsOnePlainCommandAndTwoMoreAllocationsAtMost(t *testing.T) {
	cluster := sharedCluster(t)
	counts := &commandCount{}
	client := newClient(t, cluster)
	client.OnNewNode(func(node *redis.Client) { node.AddHook(counts) })
	plain := newClient(t, cluster)
	c := newCache(t, client, lockcluster.Config{})
	ctx, key := context.Background(), uniqueKey("hit")
	l := constant{value: strings.Repeat("x", 1000)}
	for range 2 {
		if _, err := c.Get(ctx, key, l.load); err != nil {
			t.Fatal(err)
		}
	}
	gets, others := counts.gets.Load(), counts.others.Load()
	for range 100 {
		if r, err := c.Get(ctx, key, l.load); err != nil || r.Source != lockcluster.Fresh {
			t.Fatal(r, err)
		}
	}
	if g, o := counts.gets.Load()-gets, counts.others.Load()-others; g != 100 || o > 1 { // one clock sample may fall due
		t.Errorf("100 hits took %d GET and %d other commands", g, o)
	}
	if raceEnabled {
		return // the race detector allocates
	}
	base := testing.AllocsPerRun(1000, func() { _, _ = plain.Get(ctx, key).Bytes() })
	bare := newCache(t, plain, lockcluster.Config{})
	_, _ = bare.Get(ctx, key, l.load)
	load := l.load
	ours := testing.AllocsPerRun(1000, func() { _, _ = bare.Get(ctx, key, load) })
	t.Logf("allocations: GET %.0f, hit %.0f", base, ours)
	if ours > base+2 {
		t.Errorf("a hit allocates %.0f times, a GET %.0f", ours, base)
	}
}

func TestManyKeysLeaveNothingBehind(t *testing.T) {
	keys := 20_000
	if os.Getenv("LOCKCLUSTER_LONG") != "" {
		keys = 1_000_000
	}
	cluster := sharedCluster(t)
	c := newCache(t, newClient(t, cluster), lockcluster.Config{Fresh: 2 * time.Second, Stale: lockcluster.Off})
	prefix := uniqueKey("flat")
	load := func(context.Context, *lockcluster.Load) ([]byte, error) { return []byte("v"), nil }
	state := func() (goroutines int, heap uint64) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	ask := func(from, to int) {
		done := make(chan struct{})
		for w := range 16 {
			go func() {
				defer func() { done <- struct{}{} }()
				for i := from + w; i < to; i += 16 {
					if r, err := c.Get(context.Background(), fmt.Sprint(prefix, i), load); err != nil || string(r.Value) != "v" {
						t.Error(r, err)
					}
				}
			}()
		}
		for range 16 {
			<-done
		}
	}
	ask(0, 2000) // connections, copies
	g0, h0 := state()
	ask(2000, keys)
	if n := c.Waiters(); n != 0 {
		t.Errorf("%d keys with waiters", n)
	}
	var g1 int
	var h1 uint64
	eventually(t, 10*time.Second, "goroutines end", func() bool {
		g1, h1 = state()
		return g1 <= g0+3
	})
	t.Logf("%d keys: goroutines %d → %d, heap %d → %d kB", keys, g0, g1, h0>>10, h1>>10)
	if h1 > h0+(2<<20) {
		t.Errorf("the heap grew from %d to %d kB", h0>>10, h1>>10)
	}
}

// Whether a value is fresh is the server's business: no file but clock.go asks
// for the time, and clock.go only for monotonic differences.
func TestNothingAsksTheWallClock(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	asks := map[string]bool{"Now": true, "Since": true, "Until": true, "Unix": true, "UnixMilli": true, "UnixNano": true, "UnixMicro": true}
	for _, f := range files {
		name := f.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !asks[sel.Sel.Name] {
				return true
			}
			pkg, isPkg := sel.X.(*ast.Ident)
			if isPkg && pkg.Name == "time" && name == "clock.go" && sel.Sel.Name == "Now" {
				return true
			}
			if isPkg && pkg.Name == "time" || strings.HasPrefix(sel.Sel.Name, "Unix") {
				t.Errorf("%s uses %s", name, sel.Sel.Name)
			}
			return true
		})
	}
}

func TestOneErrorNamesEveryBadField(t *testing.T) {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, RouteRandomly: true})
	defer client.Close()
	_, err := lockcluster.New(client, lockcluster.Config{Fresh: time.Minute, Jitter: time.Hour, Lease: time.Nanosecond, LoadTimeout: -1, RefreshWorkers: -2, WhenSick: 7, Beta: 1000})
	if err == nil {
		t.Fatal("passed")
	}
	for _, want := range []string{"ReadOnly", "ContextTimeoutEnabled", "Jitter", "Lease", "LoadTimeout", "RefreshWorkers", "WhenSick", "Beta"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in:\n%v", want, err)
		}
	}
	if _, err := lockcluster.New(nil, lockcluster.Config{}); err == nil {
		t.Error("a nil client passed")
	}
	good := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: true})
	defer good.Close()
	if _, err := lockcluster.New(good, lockcluster.Config{NoRenewal: true}); err == nil || !strings.Contains(err.Error(), "LoadTimeout") {
		t.Errorf("a lease that ends before the load passed: %v", err)
	}
}

func TestPatternsAreBoundedAndCounted(t *testing.T) {
	client := newClient(t, sharedCluster(t))
	c := newCache(t, client, lockcluster.Config{Pattern: func(key string) string { return key[strings.LastIndexByte(key, ':')+1:] }})
	l := constant{value: "v"}
	base := uniqueKey("pattern")
	for i := range 150 {
		_, _ = c.Get(t.Context(), fmt.Sprintf("%s:p%d", base, i), l.load)
	}
	_, _ = c.Get(t.Context(), base+":p0", l.load)
	s := c.Stats()
	if len(s.Patterns) != 101 || s.Patterns["other"].Miss != 50 || s.Patterns["p0"].Miss != 1 || s.Patterns["p0"].Fresh != 1 {
		t.Errorf("%d patterns, other %+v, p0 %+v", len(s.Patterns), s.Patterns["other"], s.Patterns["p0"])
	}
	if s.Loads["miss"]["ok"] != 150 || s.Leases["acquired"] != 150 || s.Fills["stored"] != 150 {
		t.Errorf("loads %v, leases %v, fills %v", s.Loads["miss"], s.Leases, s.Fills)
	}
}

func TestASingleServerWorksToo(t *testing.T) {
	cluster := sharedCluster(t)
	// Any master serves keys of its slots to a client that knows no cluster.
	node := cluster.Masters()[0]
	client := redis.NewClient(&redis.Options{Addr: node.Addr(), ContextTimeoutEnabled: true})
	defer client.Close()
	for _, plain := range []bool{false, true} {
		c := newCache(t, client, lockcluster.Config{PlainValues: plain})
		key := keyOn(cluster, node)
		l := constant{value: "v", takes: 20 * time.Millisecond}
		for _, g := range callers(10, []*lockcluster.Cache{c}, t.Context(), key, l.load) {
			if g.err != nil || string(g.r.Value) != "v" {
				t.Errorf("got %+v", g)
			}
		}
		if r, err := c.Get(t.Context(), key, l.load); err != nil || r.Source != lockcluster.Fresh || l.calls.Load() != 1 {
			t.Errorf("got %+v, %v", r, err)
		}
	}
}

func TestARingWorksToo(t *testing.T) {
	cluster := sharedCluster(t)
	node := cluster.Masters()[1]
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": node.Addr()}, ContextTimeoutEnabled: true})
	defer ring.Close()
	c := newCache(t, ring, lockcluster.Config{})
	key := keyOn(cluster, node)
	l := constant{value: "v", takes: 20 * time.Millisecond}
	for _, g := range callers(10, []*lockcluster.Cache{c}, t.Context(), key, l.load) {
		if g.err != nil || string(g.r.Value) != "v" {
			t.Errorf("got %+v", g)
		}
	}
	if r, err := c.Get(t.Context(), key, l.load); err != nil || r.Source != lockcluster.Fresh || l.calls.Load() != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
	eventually(t, 5*time.Second, "it subscribes", func() bool { return c.Stats().Subscribed })
}
