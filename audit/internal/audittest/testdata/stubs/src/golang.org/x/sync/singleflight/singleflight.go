// Package singleflight has the shapes of x/sync's singleflight.
package singleflight

type Group struct{}
type Result struct {
	Val    any
	Err    error
	Shared bool
}

func (*Group) Do(key string, fn func() (any, error)) (any, error, bool) { return nil, nil, false }
func (*Group) DoChan(key string, fn func() (any, error)) <-chan Result  { return nil }
func (*Group) Forget(key string)                                        {}
