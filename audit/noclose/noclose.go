// Package noclose is the rule against subscriptions and clients left open.
package noclose

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/internal/code"
)

// Analyzer reports PubSubs, Conns and clients that nobody closes.
var Analyzer = &analysis.Analyzer{
	Name: "noclose",
	Doc: `subscription, connection or client never closed

A PubSub and a Conn hold a connection of their own, a client a whole pool, until
Close. One that a function makes, keeps to itself and never closes is a
connection (and for PubSub.Channel a goroutine) lost at every call.

Not reported: what leaves the function (returned, stored, passed on), what the
end of main closes, and a function that never returns.`,
	Run:              run,
	Requires:         []*analysis.Analyzer{code.Analyzer},
	RunDespiteErrors: true,
}

func run(pass *analysis.Pass) (any, error) {
	for _, f := range code.Of(pass).Funcs {
		if f.Decl.Recv == nil && (f.Decl.Name.Name == "init" || f.Decl.Name.Name == "main" && pass.Pkg.Name() == "main") {
			continue
		}
		for _, call := range f.All {
			if what := opens(f, call); what != "" {
				check(pass, f, call, what)
			}
		}
	}
	return nil, nil
}

// opens says what a call opens, "" for nothing.
func opens(f *code.Func, call *ast.CallExpr) string {
	fn := f.Callee(call)
	if fn == nil || fn.Pkg() == nil {
		return ""
	}
	if fn.Pkg().Path() == code.Pool && fn.Name() == "New" && fn.Signature().Recv() == nil {
		return "pool"
	}
	if !code.IsRedis(fn.Pkg().Path()) {
		return ""
	}
	switch fn.Name() {
	case "Subscribe", "PSubscribe", "SSubscribe":
		if code.RedisName(f.Type(call)) == "PubSub" {
			return "subscription"
		}
	case "Conn":
		if code.RedisName(f.Type(call)) == "Conn" {
			return "connection"
		}
	case "NewClient", "NewClusterClient", "NewUniversalClient", "NewFailoverClient", "NewFailoverClusterClient", "NewRing":
		if fn.Signature().Recv() == nil {
			return "client"
		}
	}
	return ""
}

func check(pass *analysis.Pass, f *code.Func, call *ast.CallExpr, what string) {
	if neverReturns(f, call) {
		return
	}
	message := what + " never closed: its connections stay open after every call; close it"
	switch parent := f.Parent(call).(type) {
	case *ast.SelectorExpr:
		if parent.Sel.Name != "Close" && what != "client" {
			f.Reportf(pass, call, message)
		}
	case *ast.ExprStmt:
		f.Reportf(pass, call, message)
	case *ast.AssignStmt:
		v := f.Var(parent.Lhs[0])
		if parent.Tok != token.DEFINE || v == nil || leaves(f, v) {
			return
		}
		code.Report(pass, analysis.Diagnostic{Pos: call.Pos(), End: call.End(), Message: message, SuggestedFixes: fix(f, parent, v)})
	}
}

// leaves reports whether a variable is closed, or is used in any way other
// than calling its methods and testing it for nil.
func leaves(f *code.Func, v *types.Var) bool {
	if len(f.Defs(v)) > 1 {
		return true
	}
	for _, use := range f.Uses(v) {
		switch p := f.Parent(use).(type) {
		case *ast.SelectorExpr:
			call, ok := f.Parent(p).(*ast.CallExpr)
			if !ok || call.Fun != ast.Expr(p) || p.Sel.Name == "Close" || p.Sel.Name == "Client" {
				return true
			}
		case *ast.BinaryExpr:
		default:
			return true
		}
	}
	return false
}

// neverReturns reports whether the function around the call ends in a loop
// without a way out.
func neverReturns(f *code.Func, call ast.Node) bool {
	body := f.Decl.Body
	if lit := f.Lit(call); lit != nil {
		body = lit.Body
	}
	if len(body.List) == 0 {
		return false
	}
	var loop *ast.BlockStmt
	switch last := body.List[len(body.List)-1].(type) {
	case *ast.ForStmt:
		if last.Cond == nil {
			loop = last.Body
		}
	case *ast.RangeStmt:
		if _, ok := f.Type(last.X).Underlying().(*types.Chan); ok {
			loop = last.Body
		}
	case *ast.SelectStmt:
		return len(last.Body.List) == 0
	}
	if loop == nil {
		return false
	}
	out := false
	ast.Inspect(loop, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt:
			out = true
		case *ast.BranchStmt:
			out = out || n.Tok == token.BREAK || n.Tok == token.GOTO
		case *ast.FuncLit:
			return false
		}
		return true
	})
	return !out
}

// fix defers the Close behind a statement that stands in the function's own
// block and brings no error to look at first.
func fix(f *code.Func, as *ast.AssignStmt, v *types.Var) []analysis.SuggestedFix {
	body := f.Decl.Body
	if lit := f.Lit(as); lit != nil {
		body = lit.Body
	}
	if f.Parent(as) != ast.Node(body) || len(as.Lhs) != 1 {
		return nil
	}
	return []analysis.SuggestedFix{{Message: "Close when the function returns", TextEdits: []analysis.TextEdit{{
		Pos: as.End(), End: as.End(), NewText: []byte("\ndefer " + v.Name() + ".Close()"),
	}}}}
}
