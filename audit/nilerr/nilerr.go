// Package nilerr is the rule against errors taken for misses.
package nilerr

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/internal/code"
)

// Analyzer reports errors of reads that are taken for a missing key.
var Analyzer = &analysis.Analyzer{
	Name: "nilerr",
	Doc: `error of a GET treated as a miss

go-redis says redis.Nil for a missing key, and everything else is Redis in
trouble: a timeout, a full pool, a shard that is down. Code that takes every error
for a miss sends the whole load to the database just when Redis is sick, or answers
"not found" for what is there. Ask errors.Is(err, redis.Nil); log any other error
before going to the source.

Reported: the error of a read of one key that is only compared with nil (or
dropped), where what follows is a miss: the same key is written, or the answer is
"not found". Not reported: an error that is returned, logged or looked at in any
other way.`,
	Run:              run,
	Requires:         []*analysis.Analyzer{code.Analyzer},
	RunDespiteErrors: true,
}

var reads = map[string]bool{"Get": true, "GetEx": true, "GetDel": true, "HGet": true, "JSONGet": true}
var results = map[string]bool{"Result": true, "Bytes": true, "Int": true, "Int64": true, "Uint64": true, "Float64": true, "Bool": true, "Scan": true, "Err": true, "Text": true}

var notFound = regexp.MustCompile(`(?i)not_?found|no_?rows|miss(ing)?$|not_?exist`)

func run(pass *analysis.Pass) (any, error) {
	for _, f := range code.Of(pass).Funcs {
		for _, c := range f.Calls {
			if !reads[c.Name] || !code.IsClient(c.Recv) || len(c.Args) == 0 {
				continue
			}
			check(pass, f, c)
		}
	}
	return nil, nil
}

func check(pass *analysis.Pass, f *code.Func, c *code.Call) {
	errVar, dropped, stmt := errorOf(f, c)
	if stmt == nil || !dropped && (errVar == nil || looksAt(f, errVar, stmt)) {
		return
	}
	if writes(f, c) || !dropped && saysNotFound(f, errVar, stmt) {
		f.Reportf(pass, c, "every error of this read is taken for a missing key; ask errors.Is(err, redis.Nil) and log any other error")
	}
}

// errorOf is the variable that the read's error goes to. dropped is true when
// it goes to the blank identifier. stmt is nil when the read is used otherwise.
func errorOf(f *code.Func, c *code.Call) (v *types.Var, dropped bool, stmt *ast.AssignStmt) {
	sel, ok := f.Parent(c.CallExpr).(*ast.SelectorExpr)
	if !ok || !results[sel.Sel.Name] {
		return nil, false, nil
	}
	call, ok := f.Parent(sel).(*ast.CallExpr)
	if !ok {
		return nil, false, nil
	}
	as, ok := f.Parent(call).(*ast.AssignStmt)
	if !ok || len(as.Rhs) != 1 {
		return nil, false, nil
	}
	last := as.Lhs[len(as.Lhs)-1]
	if id, ok := last.(*ast.Ident); ok && id.Name == "_" {
		return nil, true, as
	}
	return f.Var(last), false, as
}

// looksAt reports whether the error of this assignment is used for anything
// but a comparison with nil before the next assignment.
func looksAt(f *code.Func, v *types.Var, as *ast.AssignStmt) bool {
	end := f.Decl.Body.End()
	for _, d := range f.Defs(v) {
		if d.Node.Pos() > as.Pos() && d.Node.Pos() < end && !insideNilTest(f, v, d.Node, as) {
			end = d.Node.Pos()
		}
	}
	compared := false
	for _, use := range f.Uses(v) {
		if use.Pos() < as.End() || use.Pos() > end {
			continue
		}
		if _, ok := nilTest(f, use); !ok {
			if overwritten(f, v, as, use) {
				continue
			}
			return true
		}
		compared = true
	}
	return !compared
}

// overwritten reports whether the variable is assigned anew between the read
// and the use, in a block around the use.
func overwritten(f *code.Func, v *types.Var, as *ast.AssignStmt, use *ast.Ident) bool {
	for _, d := range f.Defs(v) {
		if d.Node == ast.Node(as) || d.Node.Pos() < as.End() || d.Node.Pos() > use.Pos() {
			continue
		}
		if b := f.Parent(d.Node); b != nil && code.Within(use, b) {
			return true
		}
	}
	return false
}

// insideNilTest reports whether an assignment happens in the branch that the
// error of as leads to, so that uses after it may still mean the first error.
func insideNilTest(f *code.Func, v *types.Var, n ast.Node, as *ast.AssignStmt) bool {
	return f.Around(n, func(p ast.Node) bool {
		ifs, ok := p.(*ast.IfStmt)
		return ok && ifs.Pos() >= as.Pos() && f.Mentions(ifs.Cond, v)
	}) != nil
}

// nilTest is the comparison of a variable with nil that an identifier is in.
func nilTest(f *code.Func, id *ast.Ident) (op token.Token, ok bool) {
	b, ok := f.Parent(id).(*ast.BinaryExpr)
	if !ok {
		return 0, false
	}
	for _, e := range []ast.Expr{b.X, b.Y} {
		if n, ok := e.(*ast.Ident); ok && n.Name == "nil" {
			return b.Op, true
		}
	}
	return 0, false
}

// writes reports whether the function writes the same key after the read.
func writes(f *code.Func, read *code.Call) bool {
	key := f.Key(read.Args[0]).String()
	for _, c := range f.Calls {
		switch c.Name {
		case "Set", "SetEx", "SetNX", "SetArgs", "HSet", "HSetNX":
			if len(c.Args) > 1 && c.Pos() > read.End() && f.Key(c.Args[0]).String() == key {
				return true
			}
		}
	}
	return false
}

// saysNotFound reports whether the branch for err != nil answers that the key
// is not there.
func saysNotFound(f *code.Func, v *types.Var, as *ast.AssignStmt) bool {
	found := false
	ast.Inspect(f.Decl.Body, func(n ast.Node) bool {
		ifs, ok := n.(*ast.IfStmt)
		if !ok || ifs.End() < as.Pos() || ifs.Init != ast.Stmt(as) && !follows(f, as, ifs) {
			return true
		}
		b, ok := ast.Unparen(ifs.Cond).(*ast.BinaryExpr)
		if !ok || b.Op != token.NEQ || f.Var(b.X) != v {
			return true
		}
		for _, s := range ifs.Body.List {
			switch s.(type) {
			case *ast.ReturnStmt, *ast.ExprStmt:
				found = found || namesNotFound(s)
			}
		}
		return true
	})
	return found
}

// follows reports whether ifs is the statement right behind as.
func follows(f *code.Func, as *ast.AssignStmt, ifs *ast.IfStmt) bool {
	b, ok := f.Parent(as).(*ast.BlockStmt)
	if !ok {
		return false
	}
	for i, s := range b.List {
		if s == ast.Stmt(as) {
			return i+1 < len(b.List) && b.List[i+1] == ast.Stmt(ifs)
		}
	}
	return false
}

func namesNotFound(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && notFound.MatchString(id.Name) {
			found = true
		}
		return true
	})
	return found
}
