package clustertest_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/hashtag"
)

// A whole scenario in one test: write, move the slot under the client, kill
// its master. It takes less than 100 ms.
func Example() {
	ctx := context.Background()
	c, err := clustertest.Start(ctx, clustertest.Options{Replicas: 1, NodeTimeout: 100 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	rdb := c.Client()

	rdb.Set(ctx, "user:1000", "Ada", 0)

	owner := c.NodeForKey("user:1000")
	for _, other := range c.Masters() {
		if other != owner {
			if err := c.MoveSlots(ctx, other, hashtag.Slot("user:1000")); err != nil {
				log.Fatal(err)
			}
			break
		}
	}
	// The client follows the redirect.
	fmt.Println("after the move:", rdb.Get(ctx, "user:1000").Val())

	master := c.NodeForKey("user:1000")
	replica := master.Replicas()[0]
	if err := master.Kill(); err != nil {
		log.Fatal(err)
	}
	if err := c.Failover(ctx, replica); err != nil {
		log.Fatal(err)
	}
	// go-redis keeps its old view of the cluster for up to a minute when a
	// node dies, and dials a dead seed five times; a new client that dials once
	// knows the new master.
	o := c.ClientOptions()
	o.DialerRetries = 1
	fresh := redis.NewClusterClient(o)
	defer fresh.Close()
	fmt.Println("after the kill:", fresh.Get(ctx, "user:1000").Val())

	// Output:
	// after the move: Ada
	// after the kill: Ada
}
