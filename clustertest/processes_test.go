package clustertest_test

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
)

// realCluster starts a cluster of processes for a test.
func realCluster(t testing.TB, replicas int) *clustertest.Cluster {
	t.Helper()
	return clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: replicas})
}

func TestARealClusterIsReadyWhenItStarted(t *testing.T) {
	for _, o := range []clustertest.Options{
		{},
		{Masters: 1},
		{Masters: 4, Replicas: 1},
		{Replicas: 2},
		{Replicas: 1, Config: map[string]string{"requirepass": "s3cret", "maxmemory": "64mb"}},
	} {
		t.Run(fmt.Sprintf("%dx%d", o.Masters, o.Replicas), func(t *testing.T) {
			t.Parallel()
			o.Backend = clustertest.Processes{}
			c := clustertest.Run(t, o)
			if err := c.WaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
			rdb := c.Client()
			for i := range 100 {
				if err := rdb.Set(t.Context(), strconv.Itoa(i), "v", 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
			masters := max(o.Masters, 3)
			if o.Masters == 1 {
				masters = 1
			}
			if got := c.Masters(); len(got) != masters || !slices.Equal(got, c.Nodes()[:masters]) {
				t.Errorf("masters are %v, nodes are %v", got, c.Nodes())
			}
			for i, n := range c.Nodes() {
				if n.IsMaster() != (i < masters) || !n.Alive() || len(n.ID()) != 40 {
					t.Errorf("node %d: master %v, alive %v, id %q", i, n.IsMaster(), n.Alive(), n.ID())
				}
				if i < masters && len(n.Replicas()) != o.Replicas {
					t.Errorf("master %d has replicas %v", i, n.Replicas())
				}
			}
			if n := c.NodeForKey("key"); n == nil || n != c.NodeForSlot(hashtag.Slot("key")) {
				t.Errorf("the node for a key is %v", n)
			}
			if err := c.Flush(t.Context()); err != nil {
				t.Error(err)
			}
			if n, err := rdb.DBSize(t.Context()).Result(); err != nil || n != 0 {
				t.Errorf("after a flush there are %d keys, %v", n, err)
			}
		})
	}
}

func TestNothingListensAfterCloseAndTheFolderIsGone(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	c := realCluster(t, 1)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("the second close says %v", err)
	}
	for _, addr := range c.Addrs() {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Errorf("%s still listens", addr)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// startsInARow is how many starts TestManyStartsInARow makes; the figure of
// the README is for 50.
func startsInARow() int {
	if n, err := strconv.Atoi(os.Getenv("RCCTL_STARTS")); err == nil {
		return n
	}
	return 5
}

func TestManyStartsInARowAllSucceed(t *testing.T) {
	for _, replicas := range []int{1, 0} {
		var took []time.Duration
		for range startsInARow() {
			begin := time.Now()
			c := realCluster(t, replicas)
			took = append(took, time.Since(begin))
			if err := c.Client().Set(t.Context(), "key", "value", 0).Err(); err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			for _, addr := range c.Addrs() {
				if conn, err := net.Dial("tcp", addr); err == nil {
					conn.Close()
					t.Fatalf("%s still listens", addr)
				}
			}
		}
		slices.Sort(took)
		t.Logf("3 masters, %d replicas each, %d starts: median %v, slowest %v",
			replicas, len(took), took[len(took)/2], took[len(took)-1])
	}
}
