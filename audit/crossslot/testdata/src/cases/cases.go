package cases

import (
	"context"
	"fmt"
	"strconv"

	"github.com/rcctl/rcctl/hashtag"
	"github.com/redis/go-redis/v9"
)

const stock = "stock"

func constants(ctx context.Context, rdb *redis.ClusterClient) {
	rdb.Del(ctx, "a", "b")                 // want `Del with keys in different slots \(a and b\)`
	rdb.MSet(ctx, "a", 1, stock, 2)        // want `MSet with keys in different slots \(a and stock\)`
	rdb.Rename(ctx, "tmp:list", "list")    // want `Rename with keys`
	rdb.SUnion(ctx, "{x}:a", "{y}:a")      // want `SUnion with keys`
	rdb.Exists(ctx, []string{"a", "b"}...) // want `Exists with keys`
}

func variables(ctx context.Context, rdb redis.UniversalClient, from, to int) {
	rdb.MGet(ctx, fmt.Sprintf("account:%d", from), fmt.Sprintf("account:%d", to)) // want `MGet with keys in different slots \(account:\* and account:\*\)`
	rdb.Unlink(ctx, "a:"+strconv.Itoa(from), "b:"+strconv.Itoa(from))             // want `Unlink with keys`
}

func eval(ctx context.Context, rdb *redis.ClusterClient, orderID string) {
	rdb.Eval(ctx, "return 1", []string{"stock:" + orderID, "order:" + orderID}) // want `Eval with keys`
	redis.NewScript("").Run(ctx, rdb, []string{"lock", "queue"})                // want `script with keys`
}

func tx(ctx context.Context, rdb *redis.ClusterClient, id int) {
	rdb.TxPipelined(ctx, func(p redis.Pipeliner) error { // want `transaction with keys in different slots`
		p.Set(ctx, fmt.Sprintf("user:%d", id), 1, 0)
		p.Incr(ctx, "users")
		return nil
	})
	pipe := rdb.TxPipeline() // want `transaction with keys`
	pipe.Incr(ctx, "a")
	pipe.LPush(ctx, "b", 1)
	pipe.Exec(ctx)
}

func watch(ctx context.Context, rdb *redis.ClusterClient) {
	rdb.Watch(ctx, func(tx *redis.Tx) error { return nil }, "a", "b") // want `Watch with keys`
}

func okTagged(ctx context.Context, rdb *redis.ClusterClient, id int, user string) {
	rdb.Del(ctx, "{a}:1", "{a}:2")
	rdb.MGet(ctx, fmt.Sprintf("{user:%d}:a", id), fmt.Sprintf("{user:%d}:b", id))
	rdb.MGet(ctx, hashtag.Key(user, "a"), hashtag.Key(user, "b"))
}

func okSingleServer(ctx context.Context, rdb *redis.Client) { rdb.Del(ctx, "a", "b") }

func okWholeVariables(ctx context.Context, rdb *redis.ClusterClient, src, dst string, keys []string) {
	rdb.Rename(ctx, src, dst)
	rdb.MGet(ctx, keys...)
}

func okPrefix(ctx context.Context, rdb *redis.ClusterClient, prefix, tag string) {
	rdb.Del(ctx, prefix+":a", prefix+":b")
	rdb.Del(ctx, "x:"+tag+":a", "x:"+tag+":b")
}

func okPlainPipeline(ctx context.Context, rdb *redis.ClusterClient) {
	rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, "a")
		p.Incr(ctx, "b")
		return nil
	})
}

func okOneKey(ctx context.Context, rdb *redis.ClusterClient, id int) {
	rdb.Del(ctx, "a", "a")
	rdb.Eval(ctx, "return 1", []string{"a"}, "b", "c")
	rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, fmt.Sprintf("n:%d", id))
		p.Expire(ctx, fmt.Sprintf("n:%d", id), 1)
		p.Publish(ctx, "channel", "x")
		return nil
	})
}

func okInterface(ctx context.Context, rdb redis.Cmdable) { rdb.Del(ctx, "a", "b") }

func okSameSlot(ctx context.Context, rdb *redis.ClusterClient) {
	key := "{cart}:items"
	rdb.RPopLPush(ctx, key, "{cart}:done")
}
