package clustertest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
)

func TestANodeThatEndsByItselfIsDeadAndCanBeStarted(t *testing.T) {
	on(t, allBackends, func(t *testing.T, b clustertest.Backend) {
		c, ctx := run(t, b, 0), t.Context()
		n := c.Nodes()[0]
		for _, killed := range []bool{false, true} {
			must(t, n.Client().ShutdownNoSave(ctx).Err())
			eventually(t, func() error {
				if n.Alive() {
					return errors.New("it is alive after SHUTDOWN")
				}
				return nil
			})
			if killed {
				must(t, n.Kill())
			}
			must(t, n.Start(ctx))
			must(t, c.WaitReady(ctx))
		}
	})
}

func TestADeadNodeIsNeitherPausedNorResumed(t *testing.T) {
	on(t, allBackends, func(t *testing.T, b clustertest.Backend) {
		c, ctx := run(t, b, 1), t.Context()
		n := c.Nodes()[5]
		must(t, n.Pause())
		must(t, n.Kill())
		must(t, n.Kill())
		must(t, n.Stop(ctx))
		for what, err := range map[string]error{"Resume": n.Resume(), "Pause": n.Pause()} {
			if err == nil || strings.Count(err.Error(), n.Addr()) != 1 {
				t.Errorf("%s of a dead node says %v", what, err)
			}
		}
		if n.Alive() {
			t.Error("a dead node is alive")
		}
		must(t, n.Start(ctx))
		must(t, n.Client().Ping(ctx).Err())
	})
}

func TestAStoppedNodeClosesItsConnectionsInOrder(t *testing.T) {
	on(t, []clustertest.Backend{clustertest.Embedded{}, clustertest.Processes{}}, func(t *testing.T, b clustertest.Backend) {
		c, ctx := run(t, b, 0), t.Context()
		for _, n := range c.Nodes()[:2] {
			conn := dial(t, n.Addr())
			if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(conn, make([]byte, len("+PONG\r\n"))); err != nil {
				t.Fatal(err)
			}
			if n == c.Nodes()[0] {
				must(t, n.Stop(ctx))
			} else {
				must(t, n.Client().ShutdownNoSave(ctx).Err())
			}
			if k, err := conn.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the client reads %d bytes, %v", k, err)
			}
		}
	})
}

func TestConnectionsInMemoryEndAsThoseOfTCPDo(t *testing.T) {
	c, ctx := run(t, clustertest.Embedded{InMemory: true}, 0), t.Context()
	for i, want := range []error{syscall.ECONNRESET, io.EOF, net.ErrClosed} {
		n := c.Nodes()[i]
		conn, err := c.ClientOptions().Dialer(ctx, "tcp", n.Addr())
		must(t, err)
		defer conn.Close()
		switch want {
		case syscall.ECONNRESET:
			must(t, n.Kill())
		case io.EOF:
			must(t, n.Stop(ctx))
		default:
			must(t, conn.Close())
		}
		err = conn.SetDeadline(time.Now().Add(time.Minute))
		if want != net.ErrClosed {
			must(t, err)
			_, err = conn.Read(make([]byte, 1))
		}
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

func TestAClosedClusterStartsNothing(t *testing.T) {
	on(t, allBackends, func(t *testing.T, b clustertest.Backend) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		c := run(t, b, 0)
		n, other := c.Nodes()[0], c.Nodes()[1]
		must(t, other.Kill())
		var wg sync.WaitGroup
		begun := make(chan struct{})
		for _, n := range c.Nodes() {
			wg.Go(func() {
				ready := sync.OnceFunc(func() {
					if n == other {
						close(begun)
					}
				})
				for {
					_ = n.Kill() // it may be too late for that
					if n.Start(ctx) != nil {
						return
					}
					ready()
				}
			})
		}
		<-begun
		must(t, c.Close())
		wg.Wait()
		must(t, c.Close())
		for what, err := range map[string]error{
			"Start": n.Start(ctx), "Pause": n.Pause(), "Resume": n.Resume(),
			"MoveSlots": c.MoveSlots(ctx, n, 16383), "Failover": c.Failover(ctx, n),
			"a client": c.Client().Ping(ctx).Err(), "a client of a node": n.Client().Ping(ctx).Err(),
		} {
			if err == nil {
				t.Errorf("%s works on a closed cluster", what)
			}
		}
		if n.Alive() || other.Alive() || len(c.Masters()) > 0 || n.IsMaster() {
			t.Error("nodes are alive")
		}
	})
}

func TestAFrozenViewOutlastsTheProcessAndIsTheLastOne(t *testing.T) {
	on(t, withFaults, func(t *testing.T, b clustertest.Backend) {
		c, ctx := run(t, b, 0), t.Context()
		frozen, from, to := c.Nodes()[0], c.Nodes()[1], c.Nodes()[2]
		owner := func() string {
			rdb := redis.NewClient(&redis.Options{Addr: frozen.Addr()}) // it was started again
			defer rdb.Close()
			return ownerOf(t, rdb, 6000)
		}
		must(t, frozen.FreezeView(true))
		must(t, frozen.Kill())
		must(t, frozen.Start(ctx))
		must(t, c.WaitReady(ctx))
		must(t, c.MoveSlots(ctx, to, 6000))
		if owner() != from.ID() {
			t.Error("the restart thawed the view")
		}
		must(t, frozen.FreezeView(false))
		eventually(t, func() error {
			if owner() != to.ID() {
				return errors.New("it does not know the new owner")
			}
			return nil
		})
		must(t, frozen.FreezeView(true))
		must(t, c.MoveSlots(ctx, from, 6000))
		eventually(t, func() error {
			must(t, frozen.FreezeView(true))
			if owner() != from.ID() {
				return errors.New("frozen again it shows the view of the first time")
			}
			return nil
		})
		must(t, frozen.Pause())
		if err := frozen.FreezeView(true); err == nil {
			t.Error("a paused node was frozen")
		}
		must(t, frozen.FreezeView(false))
		must(t, frozen.Resume())
		if err := from.PauseReplication(true); err == nil {
			t.Error("replication of a master was paused")
		}
	})
}

func TestBadTargetsAndHostNamesAreRefused(t *testing.T) {
	on(t, allBackends, func(t *testing.T, b clustertest.Backend) {
		c, ctx := run(t, b, 0), t.Context()
		n := c.Nodes()[0]
		if err := c.MoveSlots(ctx, nil); err == nil {
			t.Error("slots were moved to nobody")
		}
		for _, host := range []string{"two words", "a\nb", strings.Repeat("x", 256)} {
			if err := n.AnnounceHost(ctx, host); err == nil || !strings.Contains(err.Error(), "Hostnames") {
				t.Errorf("host %.10q: %v", host, err)
			}
		}
		must(t, c.WaitReady(ctx))
	})
}
