// Package requestctx is the rule against flights on one caller's context.
package requestctx

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/internal/code"
)

// Analyzer reports shared loads that run on one caller's context.
var Analyzer = &analysis.Analyzer{
	Name: "requestctx",
	Doc: `shared load on one caller's context

A load that singleflight or lockcluster shares serves every caller that waits. On
the context of the first one it dies when that client goes away, and all the
others get "context canceled". The same holds for a timeout that was made before
the flight: it counts from the wrong moment and ends with the wrong caller. Load on
a context of its own: context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
inside the loading function (lockcluster hands one over).

Not reported: context.WithoutCancel, Value, and logging.`,
	Run:              run,
	Requires:         []*analysis.Analyzer{code.Analyzer},
	RunDespiteErrors: true,
}

func run(pass *analysis.Pass) (any, error) {
	for _, f := range code.Of(pass).Funcs {
		for _, call := range f.All {
			if !code.IsFlight(f, call, "Do", "DoChan") && !code.IsLockcluster(f, call) {
				continue
			}
			for _, a := range call.Args {
				v, _ := f.Value(a)
				if lit, ok := v.(*ast.FuncLit); ok {
					check(pass, f, lit)
				}
			}
		}
	}
	return nil, nil
}

// check reports the first use of an outer context in a loading function.
func check(pass *analysis.Pass, f *code.Func, lit *ast.FuncLit) {
	done := false
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || done {
			return !done
		}
		v := f.Var(id)
		if v == nil || code.Within(at{v}, lit) {
			return true
		}
		if what := borrowed(f, id, v); what != "" {
			done = true
			f.Reportf(pass, id, "shared load runs on "+what+": when that caller goes away, everybody who waits fails; use context.WithoutCancel and a timeout of its own inside the loading function")
		}
		return true
	})
}

// borrowed says what outer context an identifier brings into the load, "" for
// none.
func borrowed(f *code.Func, id *ast.Ident, v *types.Var) string {
	if code.IsContext(v.Type()) {
		if harmless(f, id) {
			return ""
		}
		return contextOf(f, v)
	}
	if !code.IsRequest(v.Type()) {
		return ""
	}
	switch p := f.Parent(id).(type) {
	case *ast.SelectorExpr: // r.Context(), c.UserContext(), c.Request().Context()
		return requestCall(f, p)
	case *ast.CallExpr: // fasthttp's and Gin's contexts are contexts themselves
		if p.Fun != ast.Expr(id) && passedAsContext(f, p, id) && !harmless(f, id) {
			return "the request's context"
		}
	}
	return ""
}

func requestCall(f *code.Func, sel *ast.SelectorExpr) string {
	for {
		var n ast.Node = sel
		if call, ok := f.Parent(sel).(*ast.CallExpr); ok && call.Fun == ast.Expr(sel) {
			n = call
			switch sel.Sel.Name {
			case "Context", "UserContext":
				if code.IsContext(f.Type(call)) || code.IsRequest(f.Type(call)) {
					if harmless(f, call) {
						return ""
					}
					return "the request's context"
				}
			case "Request":
			default:
				return ""
			}
		} else if sel.Sel.Name != "Request" {
			return ""
		}
		next, ok := f.Parent(n).(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		sel = next
	}
}

// passedAsContext reports whether an argument is taken as a context.Context.
func passedAsContext(f *code.Func, call *ast.CallExpr, arg ast.Expr) bool {
	sig, ok := f.Type(call.Fun).Underlying().(*types.Signature)
	if !ok {
		return false
	}
	for i, a := range call.Args {
		if a == arg && i < sig.Params().Len() {
			return code.IsContext(sig.Params().At(i).Type())
		}
	}
	return false
}

var logs = regexp.MustCompile(`^(Log|Debug|Info|Warn|Error|Trace|Print|Ctx|FromContext|SpanFromContext|LoggerFrom)`)

// harmless reports whether a context is only asked for its values.
func harmless(f *code.Func, e ast.Expr) bool {
	switch p := f.Parent(e).(type) {
	case *ast.SelectorExpr:
		return p.Sel.Name == "Value"
	case *ast.CallExpr:
		if f.Is(p, "context", "WithoutCancel") {
			return true
		}
		switch fun := p.Fun.(type) {
		case *ast.SelectorExpr:
			return logs.MatchString(fun.Sel.Name)
		case *ast.Ident:
			return logs.MatchString(fun.Name)
		}
	}
	return false
}

// contextOf says whose context a variable from outside the load holds, "" for
// one that ends with no caller.
func contextOf(f *code.Func, v *types.Var) string {
	defs := f.Defs(v)
	if len(defs) == 0 {
		return "its caller's context" // a parameter
	}
	what := ""
	for _, d := range defs {
		call, ok := d.Expr.(*ast.CallExpr)
		if !ok {
			continue
		}
		switch {
		case f.Is(call, "context", "Background", "TODO", "WithoutCancel"):
			return ""
		case f.Is(call, "context", "WithTimeout", "WithDeadline"):
			if d.Index == 0 {
				what = "a timeout made outside the flight"
			}
		case f.Is(call, "context", "WithCancel", "WithValue"):
			what = parentOf(f, v, call.Args[0])
		default:
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Context" || sel.Sel.Name == "UserContext") {
				what = "the request's context"
			}
		}
	}
	return what
}

// parentOf says whose context another one is derived from, "" when a function
// that may detach it stands between.
func parentOf(f *code.Func, child *types.Var, e ast.Expr) string {
	if parent := f.Var(e); parent != nil && parent != child {
		return contextOf(f, parent)
	}
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Context" || sel.Sel.Name == "UserContext") {
			return "the request's context"
		}
		return ""
	}
	return "its caller's context"
}

// at is the place of a variable's declaration.
type at struct{ v *types.Var }

func (a at) Pos() token.Pos { return a.v.Pos() }
func (a at) End() token.Pos { return a.v.Pos() }
