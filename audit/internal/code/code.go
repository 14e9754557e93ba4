// Package code is what the rules of package audit ask of Go code: which calls
// are go-redis commands, on what kind of client, with which keys.
package code

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// Analyzer finds the functions of a package and the go-redis calls in them,
// once for all rules. Its result is a *Package. Test files are left out: what
// is a mistake in a service is a convenience in a test.
var Analyzer = &analysis.Analyzer{
	Name:             "rediscode",
	Doc:              "find go-redis calls (for the other analyzers of rcctl audit)",
	Run:              run,
	ResultType:       reflect.TypeFor[*Package](),
	RunDespiteErrors: true,
}

// A Package is the code of one package as the rules see it.
type Package struct {
	Pass  *analysis.Pass
	Funcs []*Func
	decls map[*types.Func]*Func
}

// A Func is one declared function with its body. Function literals belong to
// the declaration around them.
type Func struct {
	Package *Package
	Decl    *ast.FuncDecl
	Obj     *types.Func
	// Calls are the go-redis calls, in order of position.
	Calls []*Call
	// All are all calls, in order of position.
	All []*ast.CallExpr

	// Made on first use; go vet runs the rules of a package at the same time.
	parentsOnce, defsOnce sync.Once
	parents               map[ast.Node]ast.Node
	defs                  map[types.Object][]Def
}

// A Def is one assignment to a variable. Index is its place among the results
// of Expr, or -1 when Expr is the value itself. Expr is nil for a variable of
// a range statement and for one whose address is taken.
type Def struct {
	Expr  ast.Expr
	Index int
	Node  ast.Node
}

// A Call is a call of a go-redis function or method.
type Call struct {
	*ast.CallExpr
	Func *Func
	// Name is the function's or method's name: Get, NewClient, ForEachMaster.
	Name string
	// Recv is the name of go-redis' type that the method is called on, as the
	// program sees it: Client, ClusterClient, UniversalClient, Cmdable,
	// Pipeliner, Tx, StringCmd ... Empty for functions.
	Recv string
	// X is the receiver, nil for functions.
	X ast.Expr
	// Args are the arguments without the leading context.
	Args []ast.Expr
}

func run(pass *analysis.Pass) (any, error) {
	p := &Package{Pass: pass, decls: map[*types.Func]*Func{}}
	for _, file := range pass.Files {
		if strings.HasSuffix(pass.Fset.File(file.FileStart).Name(), "_test.go") {
			continue
		}
		for _, d := range file.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok || decl.Body == nil {
				continue
			}
			f := &Func{Package: p, Decl: decl}
			f.Obj, _ = pass.TypesInfo.Defs[decl.Name].(*types.Func)
			ast.Inspect(decl.Body, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					f.All = append(f.All, call)
					if c := f.redisCall(call); c != nil {
						f.Calls = append(f.Calls, c)
					}
				}
				return true
			})
			p.Funcs = append(p.Funcs, f)
			if f.Obj != nil {
				p.decls[f.Obj] = f
			}
		}
	}
	return p, nil
}

// Of is the package that a rule's pass looks at.
func Of(pass *analysis.Pass) *Package { return pass.ResultOf[Analyzer].(*Package) }

// IsRedis reports whether a package path is go-redis', of any version.
func IsRedis(path string) bool {
	for _, p := range []string{"github.com/redis/go-redis", "github.com/go-redis/redis"} {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || versionSuffix.MatchString(rest)) {
			return true
		}
	}
	return false
}

var versionSuffix = regexp.MustCompile(`^/v\d+$`)

// Pool is the import path of rcctl's own client factory.
const Pool = "github.com/rcctl/rcctl/pool"

// Callee is the function or method that a call calls, nil when it is not
// known before run time.
func (f *Func) Callee(call *ast.CallExpr) *types.Func {
	fn, _ := typeutil.Callee(f.info(), call).(*types.Func)
	if fn != nil {
		fn = fn.Origin()
	}
	return fn
}

// Is reports whether a call is of the function or method with this name in a
// package with this path, or one that ends in it after a slash.
func (f *Func) Is(call *ast.CallExpr, path string, names ...string) bool {
	fn := f.Callee(call)
	if fn == nil || fn.Pkg() == nil || !pathIs(fn.Pkg().Path(), path) {
		return false
	}
	for _, n := range names {
		if fn.Name() == n {
			return true
		}
	}
	return len(names) == 0
}

func pathIs(path, want string) bool { return path == want || strings.HasSuffix(path, "/"+want) }

// Local is the function of this package that a call calls, nil for others.
func (f *Func) Local(call *ast.CallExpr) *Func { return f.Package.decls[f.Callee(call)] }

func (f *Func) info() *types.Info { return f.Package.Pass.TypesInfo }

func (f *Func) redisCall(call *ast.CallExpr) *Call {
	fn := f.Callee(call)
	if fn == nil || fn.Pkg() == nil || !IsRedis(fn.Pkg().Path()) {
		return nil
	}
	c := &Call{CallExpr: call, Func: f, Name: fn.Name(), Args: call.Args}
	sig := fn.Signature()
	if sig.Params().Len() > 0 && IsContext(sig.Params().At(0).Type()) && len(call.Args) > 0 {
		c.Args = call.Args[1:]
	}
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && sig.Recv() != nil {
		c.X = sel.X
		c.Recv = f.redisType(sel)
	}
	return c
}

// redisType is the name of the first go-redis type on the way from the
// expression before the dot to the method: the client itself, or the client
// that a struct embeds.
func (f *Func) redisType(sel *ast.SelectorExpr) string {
	t := f.info().TypeOf(sel.X)
	s := f.info().Selections[sel]
	if s == nil {
		return ""
	}
	for _, i := range s.Index() {
		if name := RedisName(t); name != "" {
			return name
		}
		st, ok := deref(t).Underlying().(*types.Struct)
		if !ok || i >= st.NumFields() {
			break
		}
		t = st.Field(i).Type()
	}
	return RedisName(t)
}

func deref(t types.Type) types.Type {
	if t == nil {
		return types.Typ[types.Invalid]
	}
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		return types.Unalias(p.Elem())
	}
	return t
}

// RedisName is the name of a go-redis type or a pointer to one, "" for others.
func RedisName(t types.Type) string {
	if named, ok := deref(t).(*types.Named); ok {
		if o := named.Obj(); o.Pkg() != nil && IsRedis(o.Pkg().Path()) {
			return o.Name()
		}
	}
	return ""
}

// IsNamed reports whether t, or what it points to, is the type with this name
// in a package with this path or one that ends in it.
func IsNamed(t types.Type, path string, names ...string) bool {
	named, ok := deref(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || !pathIs(named.Obj().Pkg().Path(), path) {
		return false
	}
	for _, n := range names {
		if named.Obj().Name() == n {
			return true
		}
	}
	return false
}

// IsContext reports whether t is context.Context.
func IsContext(t types.Type) bool { return IsNamed(t, "context", "Context") }

// IsCluster reports whether a go-redis type talks to a cluster, or may.
func IsCluster(recv string) bool { return recv == "ClusterClient" || recv == "UniversalClient" }

// IsClient reports whether a go-redis type sends commands at once.
func IsClient(recv string) bool {
	switch recv {
	case "Client", "ClusterClient", "UniversalClient", "Cmdable", "Ring", "Conn", "StatefulCmdable":
		return true
	}
	return false
}

// Const is the value of a constant string expression.
func (f *Func) Const(e ast.Expr) (string, bool) {
	tv, ok := f.info().Types[e]
	if !ok || tv.Value == nil || tv.Value.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(tv.Value), true
}

// ConstInt is the value of a constant integer expression, durations included.
func (f *Func) ConstInt(e ast.Expr) (int64, bool) {
	tv, ok := f.info().Types[e]
	if !ok || tv.Value == nil || tv.Value.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(tv.Value)
}

// IsConst reports whether an expression is a constant.
func (f *Func) IsConst(e ast.Expr) bool {
	tv, ok := f.info().Types[e]
	return ok && tv.Value != nil
}

// Type is the type of an expression, never nil.
func (f *Func) Type(e ast.Expr) types.Type {
	if t := f.info().TypeOf(e); t != nil {
		return t
	}
	return types.Typ[types.Invalid]
}

// Object is what an identifier or the last part of a selector stands for.
func (f *Func) Object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return f.info().ObjectOf(e)
	case *ast.SelectorExpr:
		return f.info().ObjectOf(e.Sel)
	}
	return nil
}

// Var is the local variable that an expression names, nil for anything else.
func (f *Func) Var(e ast.Expr) *types.Var {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	v, ok := f.info().ObjectOf(id).(*types.Var)
	if !ok || v.IsField() || v.Parent() == f.Package.Pass.Pkg.Scope() {
		return nil
	}
	return v
}

// Line is the line of a position.
func (f *Func) Line(p token.Pos) int { return f.Package.Pass.Fset.Position(p).Line }
