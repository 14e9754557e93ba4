// Package clientperrequest is the rule against clients made per request.
package clientperrequest

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/internal/code"
)

// Analyzer reports clients that are made in HTTP handlers, in loops and in
// functions that handlers reach.
var Analyzer = &analysis.Analyzer{
	Name: "clientperrequest",
	Doc: `client made per request

A client owns a pool of connections. Made in an HTTP handler, in a loop, or in a
function of the same package that a handler calls, it dials anew for every
request: TCP and TLS handshakes, ports in TIME_WAIT, and in the end "too many
open files". Make one client when the process starts and hand it to those who
need it.

Not reported: a client that is kept (in a package variable, a field, a map, a
slice), one made under sync.Once, and one per element of the loop's own list of
addresses.`,
	Run:              run,
	Requires:         []*analysis.Analyzer{code.Analyzer},
	RunDespiteErrors: true,
}

func run(pass *analysis.Pass) (any, error) {
	p := code.Of(pass)
	reached := reachable(p)
	for _, f := range p.Funcs {
		for _, call := range f.All {
			name, ok := maker(f, call)
			if !ok || onceOnly(f, call) || kept(f, call) {
				continue
			}
			switch {
			case f.Handler(call) != nil:
				f.Reportf(pass, call, name+" in an HTTP handler: a new pool of connections for every request; make the client once, when the process starts")
			case loop(f, call):
				f.Reportf(pass, call, name+" in a loop: a new pool of connections in every round; make the client once, before the loop")
			case reached[f] != "" && f.Lit(call) == nil:
				f.Reportf(pass, call, name+" in "+f.Decl.Name.Name+", which the HTTP handler "+reached[f]+" reaches: a new pool of connections for every request; make the client once, when the process starts")
			}
		}
	}
	return nil, nil
}

// maker is the name of a call that makes a client.
func maker(f *code.Func, call *ast.CallExpr) (string, bool) {
	fn := f.Callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Signature().Recv() != nil {
		return "", false
	}
	switch fn.Name() {
	case "NewClient", "NewClusterClient", "NewUniversalClient", "NewFailoverClient", "NewFailoverClusterClient", "NewRing":
		return "redis." + fn.Name(), code.IsRedis(fn.Pkg().Path())
	case "New":
		return "pool.New", fn.Pkg().Path() == code.Pool
	}
	return "", false
}

// onceOnly reports whether the call is under sync.Once, in a function handed
// to somebody who decides when to call it, or behind a test for nil.
func onceOnly(f *code.Func, call *ast.CallExpr) bool {
	for n := ast.Node(call); n != nil; n = f.Parent(n) {
		if lit, ok := n.(*ast.FuncLit); ok {
			outer, _ := f.ArgOf(lit)
			if outer != nil && f.Is(outer, "sync", "Do", "OnceFunc", "OnceValue", "OnceValues") {
				return true
			}
		}
		ifs, ok := f.Parent(n).(*ast.IfStmt)
		if ok && n == ifs.Body && comparesNil(ifs.Cond) {
			return true
		}
	}
	return false
}

func comparesNil(cond ast.Expr) bool {
	found := false
	ast.Inspect(cond, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.EQL {
			for _, e := range []ast.Expr{b.X, b.Y} {
				if id, ok := e.(*ast.Ident); ok && id.Name == "nil" {
					found = true
				}
			}
		}
		return true
	})
	return found
}

// kept reports whether the client outlives the function in something that is
// not made anew for the next request.
func kept(f *code.Func, call *ast.CallExpr) bool {
	switch parent := f.Parent(call).(type) {
	case *ast.AssignStmt:
		for i, rhs := range parent.Rhs {
			if rhs == ast.Expr(call) {
				return lasting(f, parent.Lhs[i], call)
			}
		}
	case *ast.CallExpr:
		return isAppend(parent)
	case *ast.KeyValueExpr:
		return f.Handler(call) == nil // a field of a new value; whoever makes that decides
	}
	return false
}

func lasting(f *code.Func, lhs ast.Expr, call ast.Node) bool {
	v := f.Var(lhs)
	if v == nil {
		id, blank := lhs.(*ast.Ident)
		return !blank || id.Name != "_"
	}
	if l := enclosingLoop(f, call); l != nil && !code.Within(node{v.Pos()}, l) && f.Handler(call) == nil {
		return true // a variable from before the loop: a retry
	}
	for _, use := range f.Uses(v) {
		switch p := f.Parent(use).(type) {
		case *ast.AssignStmt:
			for i, rhs := range p.Rhs {
				if rhs == ast.Expr(use) && i < len(p.Lhs) && f.Var(p.Lhs[i]) == nil {
					return !isBlank(p.Lhs[i])
				}
			}
		case *ast.CallExpr:
			if isAppend(p) || f.Is(p, "sync", "Store", "LoadOrStore", "Swap") || f.Is(p, "sync/atomic", "Store", "CompareAndSwap", "Swap") {
				return true
			}
		}
	}
	return false
}

type node struct{ pos token.Pos }

func (n node) Pos() token.Pos { return n.pos }
func (n node) End() token.Pos { return n.pos }

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

func isAppend(call *ast.CallExpr) bool {
	id, ok := call.Fun.(*ast.Ident)
	return ok && id.Name == "append"
}

func enclosingLoop(f *code.Func, n ast.Node) ast.Node {
	return f.Around(n, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return true
		}
		return false
	})
}

// loop reports whether the call is in a loop that makes the same client again
// and again: neither from the loop's variables nor returned from it.
func loop(f *code.Func, call *ast.CallExpr) bool {
	l := enclosingLoop(f, call)
	if l == nil || f.Lit(call) != f.Lit(l) {
		return false
	}
	for _, arg := range call.Args {
		if fromInside(f, arg, l) {
			return false
		}
	}
	if _, ok := f.Parent(call).(*ast.ReturnStmt); ok {
		return false
	}
	if as, ok := f.Parent(call).(*ast.AssignStmt); ok {
		if v := f.Var(as.Lhs[0]); v != nil {
			for _, use := range f.Uses(v) {
				if _, ok := f.Parent(use).(*ast.ReturnStmt); ok {
					return false
				}
			}
		}
	}
	return true
}

// fromInside reports whether an expression mentions a variable that is
// declared in the loop.
func fromInside(f *code.Func, e ast.Expr, l ast.Node) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v := f.Var(id); v != nil && code.Within(node{v.Pos()}, l) {
				found = true
			}
		}
		return true
	})
	return found
}

// reachable are the functions that a handler of the package calls, directly or
// through others, with the handler's name.
func reachable(p *code.Package) map[*code.Func]string {
	out := map[*code.Func]string{}
	var visit func(f *code.Func, handler string)
	visit = func(f *code.Func, handler string) {
		if f == nil || out[f] != "" {
			return
		}
		out[f] = handler
		for _, call := range f.All {
			if !onceOnly(f, call) {
				visit(f.Local(call), handler)
			}
		}
	}
	for _, f := range p.Funcs {
		for _, call := range f.All {
			if h := f.Handler(call); h != nil && !onceOnly(f, call) && f.Local(call) != f {
				visit(f.Local(call), handlerName(f, h))
			}
		}
	}
	return out
}

func handlerName(f *code.Func, h ast.Node) string {
	if _, ok := h.(*ast.FuncLit); ok {
		return "in " + f.Decl.Name.Name
	}
	if recv := f.Obj.Signature().Recv(); recv != nil {
		return types.TypeString(recv.Type(), func(*types.Package) string { return "" }) + "." + f.Decl.Name.Name
	}
	return f.Decl.Name.Name
}
