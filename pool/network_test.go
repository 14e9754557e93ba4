package pool_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/pool"
)

func hostPort(t testing.TB, addr string) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

func TestTLSWithACertificateForEachNodeAndNoIPInItWorks(t *testing.T) {
	ca := newCertAuthority(t)
	clientCert, clientKey := ca.issue("client")
	var addrs []string
	clients := make([]*redis.Client, 2)
	clientTLS := &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{ca.keyPair(clientCert, clientKey)}}
	for i := range clients {
		name := fmt.Sprintf("node%d.redis.test", i)
		cert, key := ca.issue(name)
		addr := startServer(t, append(ca.tlsDirectives(cert, key, "yes"), "--tls-cluster", "yes", "--cluster-enabled", "yes",
			"--cluster-announce-hostname", name, "--cluster-preferred-endpoint-type", "hostname")...)
		addrs = append(addrs, addr)
		conf := clientTLS.Clone()
		conf.ServerName = name
		clients[i] = redis.NewClient(&redis.Options{Addr: addr, TLSConfig: conf, DialTimeout: 20 * time.Second, ReadTimeout: 20 * time.Second})
		defer clients[i].Close()
	}
	ctx := t.Context()
	clients[0].ClusterAddSlotsRange(ctx, 0, 8191)
	clients[1].ClusterAddSlotsRange(ctx, 8192, 16383)
	host, port := hostPort(t, addrs[1])
	busPort, _ := strconv.Atoi(port)
	if err := clients[0].Do(ctx, "cluster", "meet", host, port, busPort+10000).Err(); err != nil {
		t.Fatal(err)
	}
	addrMap := make(map[string]string)
	for i, a := range addrs {
		h, _ := hostPort(t, a)
		addrMap[fmt.Sprintf("node%d.redis.test", i)] = h
	}
	eventually(t, 20*time.Second, "both nodes knowing each other's name", func() bool {
		for _, c := range clients {
			//lint:ignore SA1019 what clients ask for
			s, err := c.ClusterSlots(ctx).Result()
			if err != nil || len(s) != 2 || !strings.Contains(s[0].Nodes[0].Addr, "redis.test") || !strings.Contains(s[1].Nodes[0].Addr, "redis.test") {
				return false
			}
			if info := c.ClusterInfo(ctx).Val(); !strings.Contains(info, "cluster_state:ok") {
				return false
			}
		}
		return true
	})
	_, seedPort := hostPort(t, addrs[0])
	p, err := pool.New(ctx, patient(pool.Config{Addrs: []string{"node0.redis.test:" + seedPort}, AddrMap: addrMap, TLS: clientTLS}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i := range 50 {
		if err := p.Client().Set(ctx, fmt.Sprint(i), i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range p.Stats().Nodes {
		if n.Role == "master" && n.Attempts == 0 {
			t.Errorf("%s got no command", n.Addr)
		}
	}
	// Without the client certificate it fails at boot, and says why.
	wantInError(t, failedNew(t, pool.Config{Addrs: []string{"node0.redis.test:" + seedPort}, AddrMap: addrMap, TLS: &tls.Config{RootCAs: ca.pool}}),
		"client certificate")
}

func TestAnnouncedAddressesBehindANATAreMapped(t *testing.T) {
	addr := startServer(t, "--cluster-enabled", "yes", "--cluster-announce-ip", "127.99.99.99")
	ownAllSlots(t, &redis.Options{Addr: addr})
	host, port := hostPort(t, addr)
	wantInError(t, failedNew(t, pool.Config{Addrs: []string{addr}}), "127.99.99.99:"+port, "connection refused", "slots 0-16383")
	for _, m := range []map[string]string{{"127.99.99.99": host}, {"127.99.99.99:" + port: addr}} {
		p, err := pool.New(t.Context(), patient(pool.Config{Addrs: []string{addr}, AddrMap: m}))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Client().Set(t.Context(), "k", 1, 0).Err(); err != nil {
			t.Error(err)
		}
		_ = p.Close()
	}
}

func TestRedirectsWithoutAHostGoToTheNodeOnThatPort(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1,
		Config: map[string]string{"cluster-preferred-endpoint-type": "unknown-endpoint"}})
	ctx := t.Context()
	p, err := pool.New(ctx, patient(pool.Config{Addrs: c.Addrs()[:1]}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	key := "{" + tagFor(5) + "}n"
	for i := range 6 {
		if err := c.MoveSlots(ctx, c.Masters()[i%3], 5); err != nil {
			t.Fatal(err)
		}
		if n, err := p.Client().Incr(ctx, key).Result(); err != nil || n != int64(i+1) {
			t.Fatal(n, err)
		}
	}
}

func TestAPasswordThatRotatesIsPickedUpByNewConnections(t *testing.T) {
	addr := startServer(t, "--cluster-enabled", "yes")
	ownAllSlots(t, &redis.Options{Addr: addr})
	admin := redis.NewClient(&redis.Options{Addr: addr})
	defer admin.Close()
	ctx := t.Context()
	rotate := func(password string) {
		if err := admin.Do(ctx, "acl", "setuser", "app", "on", "resetpass", ">"+password, "~*", "+@all").Err(); err != nil {
			t.Fatal(err)
		}
	}
	var password atomic.Value
	password.Store("first")
	rotate("first")
	p, err := pool.New(ctx, pool.Config{Addrs: []string{addr}, Logger: quiet, Credentials: func(context.Context) (string, string, error) {
		return "app", password.Load().(string), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	password.Store("second")
	rotate("second")
	if err := admin.Do(ctx, "client", "kill", "user", "app").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "commands with the new password", func() bool { return p.Client().Set(ctx, "k", 1, 0).Err() == nil })
}

func TestTheLeastRightsAreEnough(t *testing.T) {
	addr := startServer(t, "--cluster-enabled", "yes")
	ownAllSlots(t, &redis.Options{Addr: addr})
	admin := redis.NewClient(&redis.Options{Addr: addr})
	defer admin.Close()
	ctx := t.Context()
	set := append([]any{"acl", "setuser", "app", "reset", "on", ">x", "~*", "+get", "+set"}, leastRights()...)
	if err := admin.Do(ctx, set...).Err(); err != nil {
		t.Fatal(err)
	}
	p, err := pool.New(ctx, patient(pool.Config{Addrs: []string{addr}, Username: "app", Password: "x"}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Client().Set(ctx, "k", 1, 0).Err(); err != nil {
		t.Error(err)
	}
	if len(connsPerMaster(p)) != 1 || connsPerMaster(p)[0] < 20 {
		t.Errorf("warm connections: %v", connsPerMaster(p))
	}
	if err := admin.Do(ctx, "acl", "setuser", "app", "-cluster|slots").Err(); err != nil {
		t.Fatal(err)
	}
	wantInError(t, failedNew(t, pool.Config{Addrs: []string{addr}, Username: "app", Password: "x"}), "NOPERM", "+cluster|slots")
}

func leastRights() (out []any) {
	for _, r := range pool.LeastRights() {
		out = append(out, r)
	}
	return out
}

func TestAPoolNeverOpensMoreThanPoolSizeConnectionsToANode(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
	ctx := t.Context()
	p, err := pool.New(ctx, patient(pool.Config{Addrs: c.Addrs(), Name: "capped"}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for g := range 500 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if g%2 == 0 {
					_ = p.Client().Incr(ctx, fmt.Sprint(g, i%10)).Err()
					continue
				}
				_, _ = p.Client().Pipelined(ctx, func(pipe redis.Pipeliner) error {
					for j := range 10 {
						pipe.Incr(ctx, fmt.Sprint(g, j))
					}
					return nil
				})
			}
		})
	}
	most := 0
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); waitABit() {
		sum := 0
		for _, n := range c.Masters() {
			list, err := n.Client().ClientList(ctx).Result()
			if err != nil {
				t.Fatal(err)
			}
			sum += strings.Count(list, " name=rcctl:capped ")
		}
		most = max(most, sum)
	}
	close(stop)
	wg.Wait()
	t.Logf("at most %d connections at three masters", most)
	if most > 300 || most < 30 {
		t.Errorf("%d connections at three masters, want up to 300", most)
	}
}

// openFiles is the number of open files of this process, 0 where it cannot be
// told.
func openFiles() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}

func TestNewAndCloseAHundredTimesLeaveNothingBehind(t *testing.T) {
	addr := startServer(t, "--cluster-enabled", "yes")
	ownAllSlots(t, &redis.Options{Addr: addr})
	password := startServer(t, "--cluster-enabled", "yes", "--requirepass", "x")
	hole := blackHole(t)
	once := func(i int) {
		switch i % 4 {
		case 0, 1:
			p, err := pool.New(t.Context(), patient(pool.Config{Addrs: []string{addr}}))
			if err != nil {
				t.Error(err)
				return
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		case 2:
			if _, err := pool.New(t.Context(), patient(pool.Config{Addrs: []string{password}, Password: "wrong"})); err == nil {
				t.Error("no error")
			}
		case 3:
			if _, err := pool.New(t.Context(), pool.Config{Addrs: []string{hole}, ReadTimeout: 10 * time.Millisecond, Logger: quiet}); err == nil {
				t.Error("no error")
			}
		}
	}
	for i := range 4 {
		once(i) // what go-redis and the runtime start once
	}
	goroutines, files := runtime.NumGoroutine(), openFiles()
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() { once(i) })
		if i%10 == 9 {
			wg.Wait()
		}
	}
	wg.Wait()
	eventually(t, 10*time.Second, "goroutines and files as before", func() bool {
		return runtime.NumGoroutine() <= goroutines && openFiles() <= files
	})
}

func TestCloseDuringAnOutageIsSoonAndComplete(t *testing.T) {
	c := cluster33(t)
	network := &swallower{}
	goroutines := runtime.NumGoroutine()
	p, err := pool.New(t.Context(), pool.Config{Addrs: c.Addrs(), Dialer: network.dial, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	victim := c.Masters()[0]
	heal := network.drop(victim.Addr())
	defer heal()
	b := startBeat(p.Client(), keyOn(t, c, victim), 50)
	eventually(t, 10*time.Second, "errors", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.errs > 0
	})
	start := time.Now()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("Close took %s", d)
	}
	b.end()
	_ = c.Close()
	eventually(t, 10*time.Second, "goroutines as before", func() bool { return runtime.NumGoroutine() <= goroutines })
}

func TestTheBriefsProgramRuns(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
	ctx := t.Context()
	p, err := pool.New(ctx, pool.Config{Addrs: c.Addrs()[:3], PoolSize: 100, MinIdleConns: 20, MaxRetries: 3, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Client().Set(ctx, "user:session:1001", "data", 10*time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	if v, err := p.Client().Get(ctx, "user:session:1001").Result(); err != nil || v != "data" {
		t.Error(v, err)
	}
	if ttl := p.Client().TTL(ctx, "user:session:1001").Val(); ttl < 9*time.Minute {
		t.Error(ttl)
	}
}
