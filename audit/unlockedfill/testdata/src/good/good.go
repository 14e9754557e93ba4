package good

import (
	"context"

	"github.com/rcctl/rcctl/lockcluster"
)

func monitor(ctx context.Context, cache *lockcluster.Cache) ([]byte, error) {
	return cache.Get(ctx, "monitor:quality", countRows) // one load per expiry in the whole cluster
}

func countRows(ctx context.Context) ([]byte, error) { return nil, nil }
