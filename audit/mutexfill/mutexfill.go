// Package mutexfill is the rule about fills under a mutex.
package mutexfill

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/internal/code"
)

// Analyzer reports cache fills under a mutex that serialises all keys, that is
// never given back, or that lets the next one load again.
var Analyzer = &analysis.Analyzer{
	Name: "mutexfill",
	Doc: `cache fill under a mutex

One mutex for all keys makes a slow load of one key stop every other. A map of
mutexes, one per key, grows with every key ever seen. And a mutex hands nothing
over: the next one in line loads again unless it looks into the cache once more.
singleflight and lockcluster have one flight per key, free it, and hand the
result to everybody who waits.

Information only. Not reported: a mutex that is local to the function.`,
	Run:              run,
	Requires:         []*analysis.Analyzer{code.Analyzer},
	RunDespiteErrors: true,
}

func run(pass *analysis.Pass) (any, error) {
	p := code.Of(pass)
	for _, f := range p.Funcs {
		for _, fill := range f.Fills() {
			lock := heldAt(f, fill)
			if lock == nil {
				continue
			}
			wrong := judge(p, f, fill, lock)
			if len(wrong) > 0 {
				f.Reportf(pass, fill.Set, "cache fill under a mutex: "+strings.Join(wrong, "; ")+"; use lockcluster or singleflight")
			}
			break
		}
	}
	return nil, nil
}

// heldAt is the Lock call whose mutex is held while the fill loads, nil for
// none.
func heldAt(f *code.Func, fill *code.Fill) *ast.CallExpr {
	var held *ast.CallExpr
	for _, call := range f.All {
		if call.Pos() > fill.Load.Pos() {
			break
		}
		if _, ok := f.Parent(call).(*ast.DeferStmt); ok {
			continue
		}
		switch {
		case code.IsMutex(f, call, "Lock"):
			held = call
		case held != nil && code.IsMutex(f, call, "Unlock") && f.Canon(code.Receiver(call)) == f.Canon(code.Receiver(held)) && f.Parent(f.Parent(call)) == f.Parent(f.Parent(held)):
			held = nil
		}
	}
	return held
}

func judge(p *code.Package, f *code.Func, fill *code.Fill, lock *ast.CallExpr) []string {
	var wrong []string
	switch from := source(f, code.Receiver(lock)); {
	case from == nil:
	case perKey(f, from):
		if m := mapOf(f, from); m != nil && !shrinks(p, m) {
			wrong = append(wrong, "the map of mutexes only grows")
		}
	case global(f, from):
		wrong = append(wrong, "one mutex serialises all keys")
	}
	if fill.Get.Pos() < lock.Pos() && !readAgain(f, fill, lock) {
		wrong = append(wrong, "the cache is not read again after the lock, so the next in line loads again")
	}
	return wrong
}

// source is what a mutex expression comes from: itself, or the value of the
// local variable that holds it.
func source(f *code.Func, e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	for range 4 {
		if ta, ok := ast.Unparen(e).(*ast.TypeAssertExpr); ok {
			e = ta.X
			continue
		}
		v := f.Var(e)
		if v == nil {
			return e
		}
		next := ast.Expr(nil)
		for _, d := range f.Defs(v) {
			if d.Expr != nil && (next == nil || perKey(f, d.Expr)) {
				next = d.Expr
			}
		}
		if next == nil {
			return e
		}
		e = next
	}
	return e
}

// perKey reports whether a mutex comes out of a map.
func perKey(f *code.Func, e ast.Expr) bool { return mapOf(f, e) != nil }

func mapOf(f *code.Func, e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		if _, ok := f.Type(e.X).Underlying().(*types.Map); ok {
			return f.Object(e.X)
		}
	case *ast.CallExpr:
		if f.Is(e, "sync", "LoadOrStore", "Load") {
			return f.Object(code.Receiver(e))
		}
		if l := f.Local(e); l != nil { // mutexFor(key)
			var found types.Object
			ast.Inspect(l.Decl.Body, func(n ast.Node) bool {
				if x, ok := n.(ast.Expr); ok && found == nil {
					switch x.(type) {
					case *ast.IndexExpr, *ast.CallExpr:
						if c, ok := x.(*ast.CallExpr); !ok || l.Is(c, "sync", "LoadOrStore") {
							found = mapOf(l, x)
						}
					}
				}
				return true
			})
			return found
		}
	case *ast.TypeAssertExpr:
		return mapOf(f, e.X)
	}
	return nil
}

// shrinks reports whether the package deletes from the map.
func shrinks(p *code.Package, m types.Object) bool {
	for _, f := range p.Funcs {
		for _, call := range f.All {
			id, builtin := call.Fun.(*ast.Ident)
			if builtin && (id.Name == "delete" || id.Name == "clear") && len(call.Args) > 0 && f.Object(call.Args[0]) == m {
				return true
			}
			if f.Is(call, "sync", "Delete", "LoadAndDelete", "CompareAndDelete", "Clear") && f.Object(code.Receiver(call)) == m {
				return true
			}
		}
	}
	return false
}

// global reports whether a mutex is a package variable or a field.
func global(f *code.Func, e ast.Expr) bool {
	v, ok := f.Object(e).(*types.Var)
	return ok && (v.IsField() || v.Pkg() != nil && v.Parent() == v.Pkg().Scope())
}

// readAgain reports whether the key is read between the lock and the load.
func readAgain(f *code.Func, fill *code.Fill, lock *ast.CallExpr) bool {
	key := f.Key(fill.Get.Args[0]).String()
	for _, c := range f.Calls {
		if between(c, lock.End(), fill.Load.Pos()) && len(c.Args) > 0 && (c.Name == "Get" || c.Name == "GetEx" || c.Name == "Exists") && f.Key(c.Args[0]).String() == key {
			return true
		}
	}
	return false
}

func between(n ast.Node, from, to token.Pos) bool { return n.Pos() > from && n.Pos() < to }
