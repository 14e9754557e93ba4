// Package fiber has the shapes of Fiber that the rules look at.
package fiber

import (
	"context"

	"github.com/valyala/fasthttp"
)

type Map map[string]any
type Config struct{ Immutable bool }
type Handler = func(*Ctx) error
type App struct{}

func New(c ...Config) *App                  { return &App{} }
func (*App) Get(path string, h ...Handler)  {}
func (*App) Post(path string, h ...Handler) {}

type Ctx struct{}

func (*Ctx) Params(key string, def ...string) string    { return "" }
func (*Ctx) Query(key string, def ...string) string     { return "" }
func (*Ctx) Get(key string, def ...string) string       { return "" }
func (*Ctx) Cookies(key string, def ...string) string   { return "" }
func (*Ctx) FormValue(key string, def ...string) string { return "" }
func (*Ctx) Path(override ...string) string             { return "" }
func (*Ctx) OriginalURL() string                        { return "" }
func (*Ctx) Body() []byte                               { return nil }
func (*Ctx) BodyRaw() []byte                            { return nil }
func (*Ctx) Context() *fasthttp.RequestCtx              { return nil }
func (*Ctx) UserContext() context.Context               { return nil }
func (*Ctx) Status(code int) *Ctx                       { return nil }
func (*Ctx) SendString(s string) error                  { return nil }
func (*Ctx) JSON(v any) error                           { return nil }
