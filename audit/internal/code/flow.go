package code

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Parent is the node around a node, nil above the declaration.
func (f *Func) Parent(n ast.Node) ast.Node {
	f.parentsOnce.Do(func() {
		f.parents = map[ast.Node]ast.Node{}
		ast.PreorderStack(f.Decl, nil, func(n ast.Node, stack []ast.Node) bool {
			if len(stack) > 0 {
				f.parents[n] = stack[len(stack)-1]
			}
			return true
		})
	})
	return f.parents[n]
}

// Around is the innermost node around n for which match is true, nil for none.
func (f *Func) Around(n ast.Node, match func(ast.Node) bool) ast.Node {
	for p := f.Parent(n); p != nil; p = f.Parent(p) {
		if match(p) {
			return p
		}
	}
	return nil
}

// Lit is the innermost function literal around n, nil when n is in the
// declaration's own body.
func (f *Func) Lit(n ast.Node) *ast.FuncLit {
	lit, _ := f.Around(n, func(n ast.Node) bool { _, ok := n.(*ast.FuncLit); return ok }).(*ast.FuncLit)
	return lit
}

// ArgOf is the call that a node is an argument of, and which, nil for none.
func (f *Func) ArgOf(n ast.Node) (*ast.CallExpr, int) {
	call, ok := f.Parent(n).(*ast.CallExpr)
	if !ok {
		return nil, 0
	}
	for i, a := range call.Args {
		if a == n {
			return call, i
		}
	}
	return nil, 0
}

// Defs are all assignments to a variable in the function.
func (f *Func) Defs(o types.Object) []Def {
	f.defsOnce.Do(func() {
		f.defs = map[types.Object][]Def{}
		ast.Inspect(f.Decl, f.collectDefs)
	})
	return f.defs[o]
}

func (f *Func) collectDefs(n ast.Node) bool {
	add := func(lhs ast.Expr, d Def) {
		if id, ok := ast.Unparen(lhs).(*ast.Ident); ok {
			if o := f.info().ObjectOf(id); o != nil {
				f.defs[o] = append(f.defs[o], d)
			}
		}
	}
	assign := func(lhs, rhs []ast.Expr, n ast.Node) {
		for i, l := range lhs {
			switch {
			case len(rhs) == len(lhs):
				add(l, Def{rhs[i], -1, n})
			case len(rhs) == 1:
				add(l, Def{rhs[0], i, n})
			}
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok == token.ASSIGN || n.Tok == token.DEFINE {
			assign(n.Lhs, n.Rhs, n)
		} else {
			add(n.Lhs[0], Def{nil, -1, n})
			add(n.Lhs[0], Def{n.Rhs[0], -1, n})
		}
	case *ast.ValueSpec:
		lhs := make([]ast.Expr, len(n.Names))
		for i, id := range n.Names {
			lhs[i] = id
		}
		assign(lhs, n.Values, n)
	case *ast.RangeStmt:
		for _, e := range []ast.Expr{n.Key, n.Value} {
			if e != nil {
				add(e, Def{nil, -1, n})
			}
		}
	case *ast.IncDecStmt:
		add(n.X, Def{nil, -1, n})
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			add(n.X, Def{nil, -1, n})
		}
	}
	return true
}

// Value follows a local variable that is assigned once to what it holds; any
// other expression is its own value. Index is the place among several results,
// -1 for a single value.
func (f *Func) Value(e ast.Expr) (ast.Expr, int) {
	index := -1
	for range 8 {
		e = ast.Unparen(e)
		v := f.Var(e)
		if v == nil || index >= 0 {
			return e, index
		}
		defs := f.Defs(v)
		if len(defs) != 1 || defs[0].Expr == nil {
			return e, index
		}
		e, index = defs[0].Expr, defs[0].Index
	}
	return e, index
}

// Uses are the identifiers in the function that stand for a variable, its
// declaration left out.
func (f *Func) Uses(o types.Object) []*ast.Ident {
	var out []*ast.Ident
	ast.Inspect(f.Decl.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && f.info().Uses[id] == o {
			out = append(out, id)
		}
		return true
	})
	return out
}

// Mentions reports whether a node mentions a variable.
func (f *Func) Mentions(n ast.Node, o types.Object) bool {
	found := false
	if n == nil || o == nil {
		return false
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && f.info().ObjectOf(id) == o {
			found = true
		}
		return !found
	})
	return found
}

// Within reports whether a node lies inside another.
func Within(n, of ast.Node) bool { return n.Pos() >= of.Pos() && n.End() <= of.End() }

// Callers are the calls of a function in its package.
func (p *Package) Callers(fn *Func) []*Site {
	var out []*Site
	for _, f := range p.Funcs {
		for _, call := range f.All {
			if fn.Obj != nil && f.Callee(call) == fn.Obj {
				out = append(out, &Site{f, call})
			}
		}
	}
	return out
}

// A Site is a call and the function it is in.
type Site struct {
	Func *Func
	Call *ast.CallExpr
}
