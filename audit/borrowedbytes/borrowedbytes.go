// Package borrowedbytes is the rule against keeping fasthttp's buffers.
package borrowedbytes

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/internal/code"
)

// Analyzer reports buffers of fasthttp and Fiber that outlive their request.
var Analyzer = &analysis.Analyzer{
	Name: "borrowedbytes",
	Doc: `fasthttp buffer kept after the request

fasthttp reuses the memory of a request when its handler returns. The bytes of
Body and Peek, and in Fiber the strings of Params, Query, Get and their siblings
too, then show the next request's data: keys and values in a cache change under
its feet. Copy what stays: strings.Clone, bytes.Clone, or fiber's
Immutable setting.

Reported: such a value stored in a map, a package variable, a field of something
that outlives the request, an in-process cache (methods Set, Add, Put, Store), sent
on a channel, used as the key of singleflight.DoChan, or used in a goroutine. Not
reported: what goes to Redis, which is written before the call returns.`,
	Run:              run,
	Requires:         []*analysis.Analyzer{code.Analyzer},
	RunDespiteErrors: true,
}

var fiberMethods = map[string]bool{"Params": true, "Query": true, "Get": true, "Cookies": true, "FormValue": true, "Path": true,
	"OriginalURL": true, "Body": true, "BodyRaw": true, "Hostname": true, "BaseURL": true}
var fasthttpMethods = map[string]bool{"PostBody": true, "Path": true, "Peek": true, "Body": true, "Method": true, "RequestURI": true,
	"QueryString": true, "Host": true, "UserAgent": true, "Referer": true, "URI": false}

func run(pass *analysis.Pass) (any, error) {
	p := code.Of(pass)
	if immutable(pass) {
		return nil, nil
	}
	for _, f := range p.Funcs {
		for _, call := range f.All {
			if source(f, call) {
				trace(pass, f, call)
			}
		}
	}
	return nil, nil
}

// immutable reports whether the package makes a Fiber app that copies.
func immutable(pass *analysis.Pass) bool {
	found := false
	for _, file := range pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			kv, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, ok := kv.Key.(*ast.Ident)
			if value, isIdent := kv.Value.(*ast.Ident); ok && isIdent && key.Name == "Immutable" && value.Name == "true" {
				found = true
			}
			return true
		})
	}
	return found
}

// source reports whether a call's result is borrowed from the request.
func source(f *code.Func, call *ast.CallExpr) bool {
	fn := f.Callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Signature().Recv() == nil {
		return false
	}
	if recv := code.Receiver(call); recv != nil && code.IsFiber(f.Type(recv)) {
		return fiberMethods[fn.Name()]
	}
	return fn.Pkg().Path() == "github.com/valyala/fasthttp" && fasthttpMethods[fn.Name()] && isBytes(f.Type(call))
}

func isBytes(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	return ok && types.Identical(s.Elem(), types.Typ[types.Byte])
}

// trace reports where a borrowed value is kept: itself, or the variable it is
// assigned to.
func trace(pass *analysis.Pass, f *code.Func, call *ast.CallExpr) {
	if where := kept(f, call); where != "" {
		report(pass, f, call, where)
		return
	}
	as, ok := f.Parent(call).(*ast.AssignStmt)
	if !ok || len(as.Lhs) != 1 {
		return
	}
	v := f.Var(as.Lhs[0])
	if v == nil || len(f.Defs(v)) != 1 {
		return
	}
	for _, use := range f.Uses(v) {
		where := kept(f, use)
		if where == "" && inGoroutine(f, use, v) {
			where = "used in a goroutine that may outlive the request"
		}
		if where != "" {
			report(pass, f, use, where)
			return
		}
	}
}

func report(pass *analysis.Pass, f *code.Func, e ast.Expr, where string) {
	copied := "strings.Clone(" + text(pass, e) + ")"
	var fixes []analysis.SuggestedFix
	if isBytes(f.Type(e)) {
		copied = "append([]byte(nil), " + text(pass, e) + "...)"
	}
	if isBytes(f.Type(e)) || imports(pass, e, "strings") {
		fixes = []analysis.SuggestedFix{{Message: "Copy it", TextEdits: []analysis.TextEdit{{Pos: e.Pos(), End: e.End(), NewText: []byte(copied)}}}}
	}
	if inGoroutineLit(f, e) {
		fixes = nil // the copy has to be made before the goroutine starts
	}
	code.Report(pass, analysis.Diagnostic{Pos: e.Pos(), End: e.End(), SuggestedFixes: fixes,
		Message: "memory of the request is " + where + ": fasthttp reuses it for the next request; copy it (strings.Clone, bytes.Clone)"})
}

func text(pass *analysis.Pass, e ast.Expr) string {
	var b bytes.Buffer
	if err := format.Node(&b, pass.Fset, e); err != nil {
		return ""
	}
	return b.String()
}

func imports(pass *analysis.Pass, at ast.Node, path string) bool {
	for _, file := range pass.Files {
		if file.FileStart <= at.Pos() && at.Pos() <= file.FileEnd {
			for _, imp := range file.Imports {
				if imp.Path.Value == `"`+path+`"` && imp.Name == nil {
					return true
				}
			}
		}
	}
	return false
}

// kept says where an expression is stored beyond the request, "" for nowhere.
func kept(f *code.Func, e ast.Expr) string {
	switch p := f.Parent(e).(type) {
	case *ast.AssignStmt:
		for i, rhs := range p.Rhs {
			if rhs == e && i < len(p.Lhs) && p.Tok == token.ASSIGN && outlives(f, p.Lhs[i]) {
				return "stored where it outlives the request"
			}
		}
	case *ast.IndexExpr: // m[k] = v keeps the key too
		if as, ok := f.Parent(p).(*ast.AssignStmt); ok && p.Index == e && as.Lhs[0] == ast.Expr(p) && isStringMap(f, p.X) && outlives(f, p) {
			return "kept as the key of a map"
		}
	case *ast.SendStmt:
		if p.Value == e {
			return "sent on a channel"
		}
	case *ast.CallExpr:
		return passed(f, p, e)
	}
	return ""
}

func isStringMap(f *code.Func, e ast.Expr) bool {
	_, ok := f.Type(e).Underlying().(*types.Map)
	return ok
}

// outlives reports whether something assigned to lives longer than a request:
// a package variable, or a part of one, or of the receiver.
func outlives(f *code.Func, e ast.Expr) bool {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			if f.Object(x.X) == nil {
				return false
			}
			e = x.X
			continue
		case *ast.IndexExpr:
			e = x.X
			continue
		case *ast.Ident:
			v, ok := f.Object(x).(*types.Var)
			if !ok {
				return false
			}
			return v.Parent() == f.Package.Pass.Pkg.Scope() || f.Obj != nil && f.Obj.Signature().Recv() == v && pointer(v.Type())
		}
		return false
	}
}

func pointer(t types.Type) bool { _, ok := t.Underlying().(*types.Pointer); return ok }

// passed says how a call keeps its argument, "" when it does not.
func passed(f *code.Func, call *ast.CallExpr, e ast.Expr) string {
	if _, ok := f.Parent(call).(*ast.GoStmt); ok && call.Fun != e {
		return "passed to a goroutine that may outlive the request"
	}
	if code.IsFlight(f, call, "DoChan") && call.Args[0] == e {
		return "the key of a flight that may outlive the request"
	}
	fn := f.Callee(call)
	recv := code.Receiver(call)
	if fn == nil || recv == nil || fn.Signature().Recv() == nil || fn.Pkg() == nil || code.IsRedis(fn.Pkg().Path()) || !caches(f, recv, fn) {
		return ""
	}
	switch fn.Name() {
	case "Set", "SetWithTTL", "SetDefault", "Add", "Put", "Store", "LoadOrStore":
		return "stored in a cache"
	}
	return ""
}

// caches reports whether a method belongs to something that keeps values in
// this process: sync.Map, a library's cache, or a type that says so.
func caches(f *code.Func, recv ast.Expr, fn *types.Func) bool {
	if code.IsNamed(f.Type(recv), "sync", "Map") {
		return true
	}
	t := types.TypeString(f.Type(recv), (*types.Package).Name)
	return cacheName.MatchString(t) && !notKeeping.MatchString(fn.Pkg().Path())
}

var (
	cacheName  = regexp.MustCompile(`(?i)cache|lru|store\b`)
	notKeeping = regexp.MustCompile(`bigcache|freecache|fastcache|redis|memcache`) // they copy, or write to the network
)

// inGoroutine reports whether a variable from outside is used in a function
// literal that runs in a goroutine of its own.
func inGoroutine(f *code.Func, use *ast.Ident, v *types.Var) bool {
	for lit := f.Lit(use); lit != nil && (v.Pos() < lit.Pos() || v.Pos() > lit.End()); lit = f.Lit(lit) {
		if runsAside(f, lit) && !copied(f, use) {
			return true
		}
	}
	return false
}

func inGoroutineLit(f *code.Func, e ast.Node) bool {
	for lit := f.Lit(e); lit != nil; lit = f.Lit(lit) {
		if runsAside(f, lit) {
			return true
		}
	}
	return false
}

// runsAside reports whether a literal is what a go statement, or DoChan, runs.
func runsAside(f *code.Func, lit *ast.FuncLit) bool {
	call, ok := f.Parent(lit).(*ast.CallExpr)
	if !ok {
		return false
	}
	if _, ok := f.Parent(call).(*ast.GoStmt); ok && call.Fun == ast.Expr(lit) {
		return true
	}
	return code.IsFlight(f, call, "DoChan")
}

// copied reports whether a use inside a goroutine only looks at the length.
func copied(f *code.Func, use *ast.Ident) bool {
	call, ok := f.Parent(use).(*ast.CallExpr)
	if !ok {
		return false
	}
	id, ok := call.Fun.(*ast.Ident)
	return ok && (id.Name == "len" || id.Name == "cap")
}
