// Package lockcluster has the shapes of rcctl's lockcluster.
package lockcluster

import "context"

type Cache struct{}

func (*Cache) Get(ctx context.Context, key string, load func(context.Context) ([]byte, error)) ([]byte, error) {
	return nil, nil
}
