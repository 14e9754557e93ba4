// Package gin has the shapes of Gin that the rules look at.
package gin

import "net/http"

type HandlerFunc func(*Context)
type Engine struct{}

func (*Engine) GET(path string, h ...HandlerFunc) {}

type Context struct{ Request *http.Request }

func (*Context) Param(key string) string { return "" }
func (*Context) JSON(code int, v any)    {}
func (*Context) Done() <-chan struct{}   { return nil }
