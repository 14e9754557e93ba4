package hashtag_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
)

func TestMultiTellsAPlainClientOfAClusterNodeWhichClientFits(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	node := c.Masters()[0]
	keys := numbered(100)
	fill(t, hashtag.Multi{Client: c.Client()}, keys)
	its, others := ownedBy(c, node, keys)
	plain := redis.NewClient(&redis.Options{Addr: node.Addr()})
	defer plain.Close()
	values, err := hashtag.Multi{Client: plain}.MGet(ctx, keys...)
	var pe *hashtag.PartialError
	if !errors.As(err, &pe) || len(pe.Keys) != len(others) || !strings.Contains(err.Error(), "redis.NewClusterClient") {
		t.Errorf("%v, want errors for %d keys", err, len(others))
	}
	found := 0
	for _, v := range values {
		if v.Found {
			found++
		}
	}
	if found != len(its) {
		t.Errorf("%d values, want the node's own %d", found, len(its))
	}
}

func TestMultiWorksOnARing(t *testing.T) {
	shards := map[string]string{}
	for _, name := range []string{"one", "two"} { // each a server with all slots
		shards[name] = clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Masters: 1}).Addrs()[0]
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: shards})
	defer ring.Close()
	m := hashtag.Multi{Client: ring}
	keys := append(numbered(200), "{a}1", "{a}2", "{b}1", "{b}2")
	fill(t, m, keys)
	values, err := m.MGet(t.Context(), keys...)
	if err == nil {
		err = wrong(keys, values)
	}
	if err != nil {
		t.Error(err)
	}
	for _, client := range ring.GetShardClients() {
		if n := client.DBSize(t.Context()).Val(); n == 0 || n == int64(len(keys)) {
			t.Errorf("%d of %d keys on one server of the ring", n, len(keys))
		}
	}
	if n, err := m.Del(t.Context(), keys...); n != int64(len(keys)) || err != nil {
		t.Errorf("Del = %d, %v", n, err)
	}
}

func TestReadOnlyClientsReadFromReplicasAndWriteToMasters(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}, Replicas: 1})
	ctx := t.Context()
	o := c.ClientOptions()
	o.ReadOnly = true
	client := redis.NewClusterClient(o)
	defer client.Close()
	m := hashtag.Multi{Client: client}
	keys := numbered(300)
	fill(t, m, keys)
	before := calls(t, c, "get")
	deadline := time.Now().Add(10 * time.Second)
	for {
		values, err := m.MGet(ctx, keys...)
		if err == nil {
			err = wrong(keys, values)
		}
		if err == nil {
			break
		}
		if time.Now().After(deadline) { // replication takes a moment
			t.Fatal(err)
		}
	}
	if n := calls(t, c, "get") - before; n != 0 {
		t.Errorf("the masters were asked %d times", n)
	}
	if n, err := m.Del(ctx, keys...); n != 300 || err != nil {
		t.Errorf("Del = %d, %v", n, err)
	}
}

func TestAClosedClientIsEveryKeysError(t *testing.T) {
	c := startCluster(t)
	client := redis.NewClusterClient(c.ClientOptions())
	m := hashtag.Multi{Client: client}
	fill(t, m, []string{"a"})
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	n, err := m.Del(t.Context(), "a", "b")
	if n != 0 || !errors.Is(err, redis.ErrClosed) || !errors.Is(err, hashtag.ErrPartial) || errors.Is(err, hashtag.ErrUnknown) {
		t.Errorf("Del = %d, %v", n, err)
	}
}
