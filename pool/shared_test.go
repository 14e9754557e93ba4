package pool_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/pool"
)

// embedded is a cluster in this process and a Config for it.
func embedded(t testing.TB, o clustertest.Options) (*clustertest.Cluster, pool.Config) {
	t.Helper()
	c := clustertest.Run(t, o)
	opt := c.ClientOptions()
	return c, pool.Config{Addrs: opt.Addrs, Dialer: opt.Dialer, Logger: quiet}
}

func TestOneSharedPoolServesAHandlerThatAsksForOneInEveryRequest(t *testing.T) {
	c, cfg := embedded(t, clustertest.Options{})
	cfg.PoolSize, cfg.MinIdleConns = 10, 2
	keep, err := pool.Shared(t.Context(), t.Name(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := pool.Shared(r.Context(), "TestOneSharedPoolServesAHandlerThatAsksForOneInEveryRequest", cfg)
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		defer p.Close()
		if p.Client() != keep.Client() {
			http.Error(w, "another client", 500)
			return
		}
		if err := p.Client().Incr(r.Context(), "hits").Err(); err != nil {
			http.Error(w, err.Error(), 500)
		}
	}))
	defer srv.Close()
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			resp, err := http.Get(srv.URL)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
	wg.Wait()
	if n, err := keep.Client().Get(t.Context(), "hits").Int(); err != nil || n != 200 {
		t.Errorf("%d hits, %v", n, err)
	}
	for _, n := range keep.Stats().Nodes {
		if n.Conns > 10 {
			t.Errorf("%s: %d connections", n.Addr, n.Conns)
		}
	}
	if err := keep.Close(); err != nil {
		t.Error(err)
	}
	if err := keep.Client().Ping(t.Context()).Err(); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("still open after the last Close: %v", err)
	}
	_ = c
}

func TestAThousandConcurrentSharedAndClose(t *testing.T) {
	_, cfg := embedded(t, clustertest.Options{})
	cfg.PoolSize, cfg.MinIdleConns = 5, 1
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			p, err := pool.Shared(context.Background(), t.Name(), cfg)
			if err != nil {
				t.Error(err)
				return
			}
			if i%10 == 0 {
				if err := p.Client().Set(context.Background(), "k", i, 0).Err(); err != nil {
					t.Error(err)
				}
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if err := p.Close(); err != nil { // a second time counts for nothing
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestASharedNameWithAnotherConfigIsRefused(t *testing.T) {
	_, cfg := embedded(t, clustertest.Options{})
	p, err := pool.Shared(t.Context(), t.Name(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	other := cfg
	other.PoolSize = 7
	_, err = pool.Shared(t.Context(), t.Name(), other)
	if !errors.Is(err, pool.ErrSharedConfig) || !strings.Contains(err.Error(), "PoolSize") {
		t.Errorf("%v", err)
	}
}

func TestAFailedSharedPoolIsTriedAnew(t *testing.T) {
	hole := blackHole(t)
	cfg := pool.Config{Addrs: []string{hole}, BootTimeout: 100 * time.Millisecond, Logger: quiet}
	for range 2 {
		start := time.Now()
		if _, err := pool.Shared(t.Context(), t.Name(), cfg); err == nil {
			t.Fatal("no error")
		}
		if d := time.Since(start); d < 50*time.Millisecond {
			t.Errorf("failed after %s: not tried anew", d)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := pool.Shared(ctx, t.Name(), cfg); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestASecondPoolForTheSameSeedsIsCounted(t *testing.T) {
	_, cfg := embedded(t, clustertest.Options{})
	a, err := pool.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	before := a.Stats().Duplicates
	b, err := pool.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if n := a.Stats().Duplicates - before; n != 1 {
		t.Errorf("%d duplicates counted", n)
	}
}
