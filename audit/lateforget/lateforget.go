// Package lateforget is the rule against Forget after the result.
package lateforget

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/internal/code"
)

// Analyzer reports singleflight's Forget where the result has arrived.
var Analyzer = &analysis.Analyzer{
	Name: "lateforget",
	Doc: `Forget after the result arrived

When singleflight hands over a result, the flight is over and its key is free.
A Forget by the callers in their error path then hits whoever flies next: every
caller of the failed flight forgets a newer one, and the load that should run
once runs as often as there were callers. Forget inside the function that loads,
or not at all: a failed flight is not remembered.

Not reported: Forget inside the loading function, or by a caller that gave up
waiting.`,
	Run:              run,
	Requires:         []*analysis.Analyzer{code.Analyzer},
	RunDespiteErrors: true,
}

func run(pass *analysis.Pass) (any, error) {
	for _, f := range code.Of(pass).Funcs {
		for _, forget := range f.All {
			if !code.IsFlight(f, forget, "Forget") {
				continue
			}
			if do := arrived(f, forget); do != nil {
				code.Report(pass, analysis.Diagnostic{
					Pos: forget.Pos(), End: forget.End(),
					Message:        "Forget after the result arrived hits the next flight of this key, not this one; forget inside the loading function, or not at all",
					Related:        []analysis.RelatedInformation{{Pos: do.Pos(), End: do.End(), Message: "the flight, over when this hands over its result"}},
					SuggestedFixes: fix(f, forget),
				})
			}
		}
	}
	return nil, nil
}

// arrived is the Do whose result is there when forget runs, nil for none.
func arrived(f *code.Func, forget *ast.CallExpr) *ast.CallExpr {
	if _, ok := f.Parent(forget).(*ast.DeferStmt); ok {
		return nil
	}
	group := receiver(f, forget)
	for _, do := range f.All {
		if !code.IsFlight(f, do, "Do", "DoChan") || receiver(f, do) != group || do.End() > forget.Pos() ||
			f.Lit(do) != f.Lit(forget) || len(do.Args) == 0 || f.Key(do.Args[0]).String() != f.Key(forget.Args[0]).String() {
			continue
		}
		if code.IsFlight(f, do, "Do") || received(f, do, forget) {
			return do
		}
	}
	return nil
}

func receiver(f *code.Func, call *ast.CallExpr) string {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	return f.Canon(sel.X)
}

// received reports whether the channel of a DoChan was read before forget runs:
// in the select case around it, or in a statement before it.
func received(f *code.Func, do, forget *ast.CallExpr) bool {
	ch := ast.Expr(do)
	if as, ok := f.Parent(do).(*ast.AssignStmt); ok {
		ch = as.Lhs[0]
	}
	is := func(n ast.Node) bool {
		found := false
		ast.Inspect(n, func(n ast.Node) bool {
			u, ok := n.(*ast.UnaryExpr)
			if ok && u.Op == token.ARROW && (u.X == ch || f.Canon(u.X) == f.Canon(ch)) {
				found = true
			}
			return true
		})
		return found
	}
	for n := ast.Node(forget); n != nil; n = f.Parent(n) {
		switch p := f.Parent(n).(type) {
		case *ast.CommClause:
			return p.Comm != nil && is(p.Comm)
		case *ast.BlockStmt:
			for _, s := range p.List {
				if s.Pos() >= n.Pos() {
					break
				}
				if _, ok := s.(*ast.SelectStmt); !ok && is(s) {
					return true
				}
			}
		case *ast.IfStmt:
			if p.Init != nil && p.Init != n && is(p.Init) {
				return true
			}
		}
	}
	return false
}

// fix drops the statement, unless it is the only one of its block.
func fix(f *code.Func, forget *ast.CallExpr) []analysis.SuggestedFix {
	stmt, ok := f.Parent(forget).(*ast.ExprStmt)
	if !ok {
		return nil
	}
	block, ok := f.Parent(stmt).(*ast.BlockStmt)
	if !ok || len(block.List) < 2 {
		return nil
	}
	return []analysis.SuggestedFix{{Message: "Drop the Forget", TextEdits: []analysis.TextEdit{{Pos: stmt.Pos(), End: stmt.End()}}}}
}
