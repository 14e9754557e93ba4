// Package fasthttp has the shapes of fasthttp that the rules look at.
package fasthttp

import "time"

type RequestHandler func(*RequestCtx)
type RequestCtx struct {
	Request Request
}

func (*RequestCtx) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*RequestCtx) Done() <-chan struct{}       { return nil }
func (*RequestCtx) Err() error                  { return nil }
func (*RequestCtx) Value(key any) any           { return nil }
func (*RequestCtx) PostBody() []byte            { return nil }
func (*RequestCtx) Path() []byte                { return nil }
func (*RequestCtx) QueryArgs() *Args            { return nil }
func (*RequestCtx) UserValue(key any) any       { return nil }

type Args struct{}

func (*Args) Peek(key string) []byte { return nil }

type Request struct{ Header RequestHeader }

func (*Request) Body() []byte { return nil }

type RequestHeader struct{}

func (*RequestHeader) Peek(key string) []byte { return nil }
