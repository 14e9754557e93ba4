package cases

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

const ttl = 10 * time.Second

func noExpiry(ctx context.Context, rdb *redis.Client, token string) {
	rdb.SetNX(ctx, "mutex:report", token, 0) // want `never expires`
}

func constant(ctx context.Context, rdb *redis.Client) bool {
	return rdb.SetNX(ctx, "leader", true, ttl).Val() // want `has a constant value`
}

func byName(ctx context.Context, rdb redis.Cmdable, lockKey, token string) {
	if rdb.SetNX(ctx, lockKey, token, ttl).Val() { // want `released by a plain DEL`
		rdb.Del(ctx, lockKey)
	}
}

func checkedFirst(ctx context.Context, rdb *redis.Client, id, token string) {
	key := fmt.Sprintf("order:%s:lock", id)
	rdb.SetNX(ctx, key, token, ttl) // want `released by a plain DEL`
	if rdb.Get(ctx, key).Val() == token {
		rdb.Unlink(ctx, key)
	}
}

type mutex struct {
	rdb *redis.ClusterClient
	key string
}

func (m *mutex) TryLock(ctx context.Context, token string) bool {
	return m.rdb.SetNX(ctx, m.key, token, ttl).Val() // want `released by a plain DEL`
}

func (m *mutex) Unlock(ctx context.Context) { m.rdb.Del(ctx, m.key) }

func deferredDel(ctx context.Context, rdb *redis.Client, job, me string) {
	rdb.SetNX(ctx, "running:"+job, me, ttl) // want `released by a plain DEL`
	defer func() { rdb.Del(ctx, "running:"+job) }()
}

func setArgs(ctx context.Context, rdb *redis.Client, token string) {
	rdb.SetArgs(ctx, "lock", token, redis.SetArgs{Mode: "NX"}) // want `never expires`
}

func okOncePerDay(ctx context.Context, rdb *redis.Client, user string) bool {
	return rdb.SetNX(ctx, "mailed:"+user, 1, 24*time.Hour).Val()
}

func okDefaultValue(ctx context.Context, rdb *redis.Client) {
	rdb.SetNX(ctx, "config:version", "1", 0)
}

func okBlock(ctx context.Context, rdb *redis.Client, hash string) {
	rdb.SetNX(ctx, "block:"+hash, "seen", ttl)
}

func okOwner(ctx context.Context, rdb *redis.Client, token string) bool {
	return rdb.SetNX(ctx, "lock:a", token, ttl).Val()
}

func okDelOther(ctx context.Context, rdb *redis.Client, token string) {
	rdb.SetNX(ctx, "lock:b", token, ttl)
	rdb.Del(ctx, "value:b")
}

func okRetryLater(ctx context.Context, rdb *redis.Client, id string, work func() error) {
	if rdb.SetNX(ctx, "handled:"+id, "1", ttl).Val() {
		if work() != nil {
			rdb.Del(ctx, "handled:"+id)
		}
	}
}

func okPlainSet(ctx context.Context, rdb *redis.Client) {
	rdb.Set(ctx, "lock:c", "1", ttl)
	rdb.SetArgs(ctx, "lock:c", "1", redis.SetArgs{Mode: "XX"})
}
