// Package echo has the shapes of Echo that the rules look at.
package echo

import "net/http"

type HandlerFunc func(Context) error

type Context interface {
	Request() *http.Request
	Param(name string) string
	JSON(code int, v any) error
}
