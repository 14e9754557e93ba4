package clustertest_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
)

func TestEmbeddedServesGoRedisInBothProtocols(t *testing.T) {
	for proto := 2; proto <= 3; proto++ {
		t.Run(fmt.Sprintf("RESP%d", proto), func(t *testing.T) {
			c := clustertest.Run(t, clustertest.Options{Replicas: 1})
			o := c.ClientOptions()
			o.Protocol = proto
			rdb := redis.NewClusterClient(o)
			defer rdb.Close()
			ctx := t.Context()
			for i := range 200 {
				if err := rdb.Set(ctx, fmt.Sprint("k", i), i, 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
			pipe := rdb.Pipeline()
			for i := range 200 {
				pipe.Get(ctx, fmt.Sprint("k", i))
			}
			cmds, err := pipe.Exec(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for i, cmd := range cmds {
				if got := cmd.(*redis.StringCmd).Val(); got != fmt.Sprint(i) {
					t.Fatalf("k%d is %q", i, got)
				}
			}
		})
	}
}
