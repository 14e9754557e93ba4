package bad

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func waitFor(ctx context.Context, rdb *redis.ClusterClient, channel string) (string, error) {
	sub := rdb.Subscribe(ctx, channel) // want `subscription never closed`
	msg, err := sub.ReceiveMessage(ctx)
	if err != nil {
		return "", err
	}
	return msg.Payload, nil
}
