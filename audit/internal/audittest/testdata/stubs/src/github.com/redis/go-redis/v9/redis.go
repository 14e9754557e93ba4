// Package redis has the shapes of go-redis that the rules look at.
package redis

import (
	"context"
	"errors"
	"time"
)

var Nil = errors.New("redis: nil")

type Options struct {
	Addr     string
	PoolSize int
}
type ClusterOptions struct {
	Addrs    []string
	PoolSize int
}
type UniversalOptions struct {
	Addrs         []string
	MasterName    string
	IsClusterMode bool
}
type FailoverOptions struct{ MasterName string }

type cmd[T any] struct {
	val T
	err error
}

func (c *cmd[T]) Result() (T, error) { return c.val, c.err }
func (c *cmd[T]) Val() T             { return c.val }
func (c *cmd[T]) Err() error         { return c.err }

type StringCmd struct{ cmd[string] }

func (c *StringCmd) Bytes() ([]byte, error)  { return []byte(c.val), c.err }
func (c *StringCmd) Int() (int, error)       { return 0, c.err }
func (c *StringCmd) Scan(v any) error        { return c.err }
func (c *StringCmd) Result() (string, error) { return c.val, c.err }
func (c *StringCmd) Val() string             { return c.val }
func (c *StringCmd) Err() error              { return c.err }

type StatusCmd struct{ cmd[string] }
type IntCmd struct{ cmd[int64] }
type BoolCmd struct{ cmd[bool] }
type SliceCmd struct{ cmd[[]any] }
type StringSliceCmd struct{ cmd[[]string] }
type ScanCmd struct{ cmd[[]string] }
type MapStringStringCmd struct{ cmd[map[string]string] }
type Cmd struct{ cmd[any] }
type Cmder interface{ Err() error }

type Z struct {
	Score  float64
	Member any
}
type SetArgs struct {
	Mode    string
	TTL     time.Duration
	KeepTTL bool
}

type Cmdable interface {
	Pipeline() Pipeliner
	Pipelined(ctx context.Context, fn func(Pipeliner) error) ([]Cmder, error)
	TxPipelined(ctx context.Context, fn func(Pipeliner) error) ([]Cmder, error)
	TxPipeline() Pipeliner

	Get(ctx context.Context, key string) *StringCmd
	GetEx(ctx context.Context, key string, ttl time.Duration) *StringCmd
	GetDel(ctx context.Context, key string) *StringCmd
	Set(ctx context.Context, key string, value any, ttl time.Duration) *StatusCmd
	SetEx(ctx context.Context, key string, value any, ttl time.Duration) *StatusCmd
	SetNX(ctx context.Context, key string, value any, ttl time.Duration) *BoolCmd
	SetXX(ctx context.Context, key string, value any, ttl time.Duration) *BoolCmd
	SetArgs(ctx context.Context, key string, value any, a SetArgs) *StatusCmd
	Incr(ctx context.Context, key string) *IntCmd
	Expire(ctx context.Context, key string, ttl time.Duration) *BoolCmd
	Del(ctx context.Context, keys ...string) *IntCmd
	Unlink(ctx context.Context, keys ...string) *IntCmd
	Exists(ctx context.Context, keys ...string) *IntCmd
	Touch(ctx context.Context, keys ...string) *IntCmd
	MGet(ctx context.Context, keys ...string) *SliceCmd
	MSet(ctx context.Context, values ...any) *StatusCmd
	MSetNX(ctx context.Context, values ...any) *BoolCmd
	Rename(ctx context.Context, key, newkey string) *StatusCmd
	RenameNX(ctx context.Context, key, newkey string) *BoolCmd
	SUnion(ctx context.Context, keys ...string) *StringSliceCmd
	SInter(ctx context.Context, keys ...string) *StringSliceCmd
	SDiff(ctx context.Context, keys ...string) *StringSliceCmd
	SUnionStore(ctx context.Context, dst string, keys ...string) *IntCmd
	SMove(ctx context.Context, src, dst string, member any) *BoolCmd
	RPopLPush(ctx context.Context, src, dst string) *StringCmd
	LPush(ctx context.Context, key string, values ...any) *IntCmd
	SAdd(ctx context.Context, key string, members ...any) *IntCmd
	HGet(ctx context.Context, key, field string) *StringCmd
	HGetAll(ctx context.Context, key string) *MapStringStringCmd
	HSet(ctx context.Context, key string, values ...any) *IntCmd
	Eval(ctx context.Context, script string, keys []string, args ...any) *Cmd
	EvalSha(ctx context.Context, sha string, keys []string, args ...any) *Cmd
	Do(ctx context.Context, args ...any) *Cmd
	Publish(ctx context.Context, channel string, message any) *IntCmd

	Ping(ctx context.Context) *StatusCmd
	Keys(ctx context.Context, pattern string) *StringSliceCmd
	Scan(ctx context.Context, cursor uint64, match string, count int64) *ScanCmd
	ScanType(ctx context.Context, cursor uint64, match string, count int64, typ string) *ScanCmd
	FlushAll(ctx context.Context) *StatusCmd
	FlushDB(ctx context.Context) *StatusCmd
	FlushAllAsync(ctx context.Context) *StatusCmd
	DBSize(ctx context.Context) *IntCmd
	Info(ctx context.Context, section ...string) *StringCmd
}

type UniversalClient interface {
	Cmdable
	Watch(ctx context.Context, fn func(*Tx) error, keys ...string) error
	Subscribe(ctx context.Context, channels ...string) *PubSub
	PSubscribe(ctx context.Context, channels ...string) *PubSub
	Close() error
}

type Pipeliner interface {
	Cmdable
	Len() int
	Exec(ctx context.Context) ([]Cmder, error)
	Discard()
}

type base struct{ Cmdable }

func (base) Close() error                                                        { return nil }
func (base) Watch(ctx context.Context, fn func(*Tx) error, keys ...string) error { return nil }
func (base) Subscribe(ctx context.Context, channels ...string) *PubSub           { return nil }
func (base) PSubscribe(ctx context.Context, channels ...string) *PubSub          { return nil }
func (base) SSubscribe(ctx context.Context, channels ...string) *PubSub          { return nil }

type Client struct{ base }

func (*Client) Conn() *Conn { return nil }

type ClusterClient struct{ base }

func (*ClusterClient) DBSize(ctx context.Context) *IntCmd { return nil }
func (*ClusterClient) ForEachMaster(ctx context.Context, fn func(ctx context.Context, c *Client) error) error {
	return nil
}
func (*ClusterClient) ForEachShard(ctx context.Context, fn func(ctx context.Context, c *Client) error) error {
	return nil
}

type Ring struct{ base }
type Tx struct{ base }
type Conn struct{ base }

type Message struct{ Channel, Payload string }
type PubSub struct{}

func (*PubSub) Close() error                                            { return nil }
func (*PubSub) Channel() <-chan *Message                                { return nil }
func (*PubSub) Receive(ctx context.Context) (any, error)                { return nil, nil }
func (*PubSub) ReceiveMessage(ctx context.Context) (*Message, error)    { return nil, nil }
func (*PubSub) Subscribe(ctx context.Context, channels ...string) error { return nil }

type Script struct{}

func NewScript(src string) *Script                                                  { return &Script{} }
func (*Script) Run(ctx context.Context, c Cmdable, keys []string, args ...any) *Cmd { return nil }

func NewClient(o *Options) *Client                           { return &Client{} }
func NewClusterClient(o *ClusterOptions) *ClusterClient      { return &ClusterClient{} }
func NewUniversalClient(o *UniversalOptions) UniversalClient { return nil }
func NewFailoverClient(o *FailoverOptions) *Client           { return &Client{} }
