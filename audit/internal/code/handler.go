package code

import (
	"go/ast"
	"go/types"
)

// IsFiber reports whether t is fiber's context, whose strings are borrowed.
func IsFiber(t types.Type) bool {
	return IsNamed(t, "github.com/gofiber/fiber", "Ctx") || IsNamed(t, "github.com/gofiber/fiber/v2", "Ctx") ||
		IsNamed(t, "github.com/gofiber/fiber/v3", "Ctx")
}

// IsRequest reports whether t is a type that carries one request: of net/http,
// Fiber, fasthttp, Gin or Echo. Chi's handlers are those of net/http.
func IsRequest(t types.Type) bool {
	return IsNamed(t, "net/http", "Request") || IsFiber(t) ||
		IsNamed(t, "github.com/gin-gonic/gin", "Context") ||
		IsNamed(t, "github.com/labstack/echo", "Context") || IsNamed(t, "github.com/labstack/echo/v4", "Context") ||
		IsNamed(t, "github.com/labstack/echo/v5", "Context") ||
		IsNamed(t, "github.com/valyala/fasthttp", "RequestCtx")
}

// IsHandler reports whether a function type is that of an HTTP handler.
func IsHandler(t types.Type) bool {
	sig, ok := types.Unalias(t).Underlying().(*types.Signature)
	if !ok {
		return false
	}
	p := sig.Params()
	switch {
	case p.Len() == 2 && IsNamed(p.At(0).Type(), "net/http", "ResponseWriter"):
		return IsNamed(p.At(1).Type(), "net/http", "Request")
	case p.Len() == 1:
		return IsRequest(p.At(0).Type()) && !IsNamed(p.At(0).Type(), "net/http", "Request")
	}
	return false
}

// Handler is the innermost HTTP handler around a node: a function literal or
// the declaration itself. Nil when there is none.
func (f *Func) Handler(n ast.Node) ast.Node {
	for p := f.Parent(n); p != nil; p = f.Parent(p) {
		switch p := p.(type) {
		case *ast.FuncLit:
			if IsHandler(f.Type(p)) {
				return p
			}
		case *ast.FuncDecl:
			if f.Obj != nil && IsHandler(f.Obj.Type()) {
				return p
			}
		}
	}
	return nil
}
