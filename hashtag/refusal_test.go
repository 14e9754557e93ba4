package hashtag_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
)

// failHandshakes makes the next n handshakes with a node fail; the client has
// to make new connections.
func failHandshakes(t *testing.T, node *clustertest.Node, n int, msg string) {
	t.Helper()
	for _, command := range []string{"HELLO", "AUTH"} {
		if _, err := node.Inject(clustertest.Fault{Command: command, Error: msg, Times: n}); err != nil {
			t.Fatal(err)
		}
	}
	if err := node.ResetConns(); err != nil {
		t.Fatal(err)
	}
}

func TestAHandshakeThatIsRefusedForAMomentIsRepeated(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Config: map[string]string{"requirepass": "secret"}})
	client := redis.NewClusterClient(c.ClientOptions())
	defer client.Close()
	m := hashtag.Multi{Client: client}
	keys := numbered(60)
	fill(t, m, keys)
	failHandshakes(t, c.Masters()[0], 2, "LOADING Redis is loading the dataset in memory")
	if values, err := m.MGet(t.Context(), keys...); err != nil || wrong(keys, values) != nil {
		t.Errorf("MGet: %v, %v", err, wrong(keys, values))
	}
	failHandshakes(t, c.Masters()[0], 2, "LOADING Redis is loading the dataset in memory")
	if n, err := m.Del(t.Context(), keys...); n != 60 || err != nil {
		t.Errorf("Del = %d, %v", n, err)
	}
}

func TestReadsGoToTheMasterWhenTheReplicaFails(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{Replicas: 1, NodeTimeout: time.Minute})
	o := c.ClientOptions()
	o.ReadOnly = true
	client := redis.NewClusterClient(o)
	defer client.Close()
	m := hashtag.Multi{Client: client, ShardTimeout: 10 * time.Second}
	keys := numbered(60)
	fill(t, m, keys)
	if err := c.Masters()[0].Replicas()[0].Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Masters()[1].Replicas()[0].Inject(clustertest.Fault{Error: "MASTERDOWN Link with MASTER is down"}); err != nil {
		t.Fatal(err)
	}
	if values, err := m.MGet(t.Context(), keys...); err != nil || wrong(keys, values) != nil {
		t.Errorf("MGet: %v, %v", err, wrong(keys, values))
	}
	if n, err := m.Exists(t.Context(), keys...); n != 60 || err != nil {
		t.Errorf("Exists = %d, %v", n, err)
	}
}
