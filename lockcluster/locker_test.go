package lockcluster_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/lockcluster"
)

func newLocker(t *testing.T, cluster *clustertest.Cluster, cfg lockcluster.LockerConfig) *lockcluster.Locker {
	t.Helper()
	if cfg.StepBudget == 0 {
		cfg.StepBudget = time.Second
	}
	l, err := lockcluster.NewLocker(newClient(t, cluster), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

func TestALockIsHeldByOneAtATimeWithGrowingNumbers(t *testing.T) {
	cluster := sharedCluster(t)
	lockers := []*lockcluster.Locker{newLocker(t, cluster, lockcluster.LockerConfig{}), newLocker(t, cluster, lockcluster.LockerConfig{})}
	forEachOddKey(t, newClient(t, cluster), func(t *testing.T, key string) {
		var inside, last atomic.Int64
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				k, err := lockers[i%2].Acquire(t.Context(), key)
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two at once")
				}
				if before := last.Swap(k.Fence()); k.Fence() <= before {
					t.Errorf("fence %d after %d", k.Fence(), before)
				}
				if _, err := lockers[(i+1)%2].TryAcquire(t.Context(), key); !errors.Is(err, lockcluster.ErrNotObtained) {
					t.Errorf("a held lock: %v", err)
				}
				inside.Add(-1)
				if err := k.Release(t.Context()); err != nil {
					t.Error(err)
				}
				if err := k.Release(t.Context()); !errors.Is(err, lockcluster.ErrNotHeld) {
					t.Errorf("released twice: %v", err)
				}
				if err := k.Extend(t.Context(), time.Second); !errors.Is(err, lockcluster.ErrNotHeld) {
					t.Errorf("extended after release: %v", err)
				}
			})
		}
		wg.Wait()
	})
}

func TestALockOutlivesItsLeaseWhileItIsRenewedAndIsLostOtherwise(t *testing.T) {
	cluster := sharedCluster(t)
	a := newLocker(t, cluster, lockcluster.LockerConfig{Lease: time.Second})
	b := newLocker(t, cluster, lockcluster.LockerConfig{Lease: time.Second, NoRenewal: true})
	ctx, key := t.Context(), uniqueKey("renewed")
	k, err := a.TryAcquire(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 2500*time.Millisecond)
	defer cancel()
	if _, err := b.Acquire(short, key); !errors.Is(err, lockcluster.ErrNotObtained) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	select {
	case <-k.Lost():
		t.Fatal("lost while renewed")
	default:
	}
	if err := k.Release(ctx); err != nil {
		t.Fatal(err)
	}
	k, err = b.TryAcquire(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	next, err := a.Acquire(ctx, key) // when the lease of b ends
	if err != nil || next.Fence() <= k.Fence() {
		t.Fatalf("fence %d after %d, %v", next.Fence(), k.Fence(), err)
	}
	select {
	case <-k.Lost():
	case <-time.After(3 * time.Second):
		t.Fatal("nobody said that the lock is lost")
	}
	if err := k.Extend(ctx, time.Second); !errors.Is(err, lockcluster.ErrLost) {
		t.Errorf("extend: %v", err)
	}
	if err := k.Release(ctx); !errors.Is(err, lockcluster.ErrNotHeld) {
		t.Errorf("release: %v", err)
	}
	if err := next.Extend(ctx, time.Second); err != nil {
		t.Errorf("the next holder: %v", err)
	}
	if err := next.Release(ctx); err != nil {
		t.Error(err)
	}
}

func TestALockSurvivesLostReplies(t *testing.T) {
	cluster := ownCluster(t, 0)
	l := newLocker(t, cluster, lockcluster.LockerConfig{})
	ctx := t.Context()
	for _, key := range []string{"1", "2", "3", "4", "5"} { // nodes know the scripts
		k, err := l.Acquire(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(k.Extend(ctx, time.Second), k.Release(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	for name, fault := range map[string]clustertest.Fault{
		"before": {Command: "EVALSHA", Times: 1, DropBefore: true},
		"after":  {Command: "EVALSHA", Times: 1, DropAfter: true},
	} {
		key := "1"
		inject := func() {
			t.Helper()
			if _, err := cluster.NodeForKey("1").Inject(fault); err != nil {
				t.Fatal(err)
			}
		}
		inject()
		k, err := l.TryAcquire(ctx, key)
		if err != nil {
			t.Fatalf("%s: acquire: %v", name, err)
		}
		inject()
		if err := k.Extend(ctx, time.Second); err != nil {
			t.Fatalf("%s: extend: %v", name, err)
		}
		inject()
		if err := k.Release(ctx); err != nil {
			t.Fatalf("%s: release: %v", name, err)
		}
	}
}
