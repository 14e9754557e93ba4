package lockcluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/lockcluster"
)

// Writers change the source and then invalidate, in all the ways there are;
// readers must never see a version older than the last one that was invalidated
// before they asked. With lost replies all the time the same holds as long as no
// fill went unanswered.
func TestNoReaderEverSeesWhatWasInvalidatedBeforeItAsked(t *testing.T) {
	span := 6 * time.Second
	if testing.Short() {
		span = 2 * time.Second
	}
	for _, faults := range []bool{false, true} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("faults=%v,plain=%v", faults, plain), func(t *testing.T) {
				var cluster *clustertest.Cluster
				if faults {
					cluster = ownCluster(t, 0)
				} else {
					cluster = sharedCluster(t)
				}
				stress(t, cluster, faults, plain, span)
			})
		}
	}
}

func stress(t *testing.T, cluster *clustertest.Cluster, faults, plain bool, span time.Duration) {
	cfg := lockcluster.Config{PlainValues: plain, Fresh: 150 * time.Millisecond, Stale: 100 * time.Millisecond, Lease: 100 * time.Millisecond, Cooldown: lockcluster.Off}
	var cs []*lockcluster.Cache
	for range 3 {
		cs = append(cs, newCache(t, newClient(t, cluster), cfg))
	}
	client := newClient(t, cluster)
	type item struct {
		key            string
		version, floor atomic.Int64
	}
	items := make([]*item, 4)
	for i := range items {
		items[i] = &item{key: uniqueKey("stress")}
	}
	load := func(it *item) lockcluster.Loader {
		return func(context.Context, *lockcluster.Load) ([]byte, error) {
			v := it.version.Load()
			<-time.After(rand.N(30 * time.Millisecond))
			return strconv.AppendInt(nil, v, 10), nil
		}
	}
	end := time.Now().Add(span)
	var wg sync.WaitGroup
	var reads, writes atomic.Int64
	for i := range 24 {
		wg.Go(func() {
			for time.Now().Before(end) {
				it := items[rand.IntN(len(items))]
				floor := it.floor.Load()
				r, err := cs[i%3].Get(context.Background(), it.key, load(it))
				if err != nil {
					var le *lockcluster.LoadError
					if !errors.As(err, &le) || le.Reason != lockcluster.Superseded {
						t.Errorf("get: %v", err)
					}
					continue
				}
				reads.Add(1)
				if faults && (r.Source == lockcluster.LastGood || r.Source == lockcluster.Alone || cs[i%3].Stats().Fills["unanswered"] > 0) {
					continue // no promise while a shard is sick
				}
				if v, _ := strconv.ParseInt(string(r.Value), 10, 64); v < floor {
					t.Errorf("asked after version %d was invalidated, got %d from %s", floor, v, r.Source)
				}
				if i%4 == 0 {
					<-time.After(rand.N(5 * time.Millisecond))
				}
			}
		})
	}
	for _, it := range items { // one writer a key
		wg.Go(func() {
			for time.Now().Before(end) {
				v := it.version.Add(1)
				remove := func() error { return cs[rand.IntN(3)].Invalidate(context.Background(), it.key) }
				if !plain && rand.IntN(2) == 0 {
					remove = func() error { return client.Del(context.Background(), it.key).Err() }
				}
				for remove() != nil {
				}
				it.floor.Store(v)
				writes.Add(1)
				<-time.After(rand.N(60 * time.Millisecond))
			}
		})
	}
	if faults {
		wg.Go(func() {
			for time.Now().Before(end) {
				f := clustertest.Fault{Command: "EVALSHA", Times: 1}
				if rand.IntN(2) == 0 {
					f.DropAfter = true
				} else {
					f.DropBefore = true
				}
				if _, err := cluster.NodeForKey(items[rand.IntN(len(items))].key).Inject(f); err != nil {
					t.Error(err)
				}
				<-time.After(10 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	var loads, lost, unanswered uint64
	for _, c := range cs {
		s := c.Stats()
		for _, n := range s.Loads {
			loads += n["ok"]
		}
		lost += s.Fills["lost"]
		unanswered += s.Fills["unanswered"]
	}
	t.Logf("%d reads, %d invalidations, %d loads, %d fills lost, %d unanswered", reads.Load(), writes.Load(), loads, lost, unanswered)
}
