package code

import (
	"go/ast"
	"go/types"
	"regexp"
)

// A Fill is the cache-aside pattern in one function: a key is read, on a miss
// something else is asked, and the answer is written to the same key.
type Fill struct {
	Func *Func
	Get  *Call
	Set  *Call
	// Load is the call that the written value comes from.
	Load *ast.CallExpr
	// Loader is the function's parameter that loads, nil when the function
	// loads by itself. A function with a loader is a helper: each of its
	// callers has the pattern.
	Loader *types.Var
	// TTL is the expiry argument of the write, nil for none.
	TTL ast.Expr
}

var fillReads = map[string]bool{"Get": true, "GetEx": true}

// Fills finds the fills of a function.
func (f *Func) Fills() []*Fill {
	var out []*Fill
	for _, set := range f.Calls {
		switch set.Name {
		case "Set", "SetEx", "SetXX", "SetArgs", "SetNX":
		default:
			continue
		}
		if len(set.Args) < 3 || !IsClient(set.Recv) && set.Recv != "Pipeliner" {
			continue
		}
		if fill := f.fill(set); fill != nil {
			out = append(out, fill)
		}
	}
	return out
}

func (f *Func) fill(set *Call) *Fill {
	key := f.Key(set.Args[0]).String()
	for _, get := range f.Calls {
		if !fillReads[get.Name] || !IsClient(get.Recv) || get.Pos() > set.Pos() || len(get.Args) == 0 || f.Key(get.Args[0]).String() != key {
			continue
		}
		load := f.origin(set.Args[1], get, set.CallExpr, map[types.Object]bool{})
		if load == nil {
			continue
		}
		fill := &Fill{Func: f, Get: get, Set: set, Load: load}
		if set.Name != "SetArgs" {
			fill.TTL = set.Args[2]
		}
		if v := f.Var(load.Fun); v != nil && f.isParam(v) {
			fill.Loader = v
		}
		return fill
	}
	return nil
}

func (f *Func) isParam(v *types.Var) bool {
	if f.Obj == nil {
		return false
	}
	for p := range f.Obj.Signature().Params().Variables() {
		if p == v {
			return true
		}
	}
	return false
}

// origin follows a written value back to the call that loaded it after the
// read. It is nil when the value was computed from what the read returned, or
// from nothing that had to be asked for.
func (f *Func) origin(e ast.Expr, get *Call, before ast.Node, seen map[types.Object]bool) *ast.CallExpr {
	var found *ast.CallExpr
	derived := false
	ast.Inspect(e, func(n ast.Node) bool {
		if found != nil || derived {
			return false
		}
		switch n := n.(type) {
		case *ast.CallExpr:
			if n.Pos() > get.Pos() && f.asks(n) {
				found = n
			}
		case *ast.Ident:
			v := f.Var(n)
			if v == nil || seen[v] {
				return true
			}
			seen[v] = true
			for _, d := range f.Defs(v) {
				if d.Expr == nil || d.Node.Pos() > before.Pos() {
					continue
				}
				if Within(get, d.Expr) {
					continue // the variable holds the cached value or the loaded one
				}
				if load := f.origin(d.Expr, get, before, seen); load != nil && load.Pos() > get.Pos() {
					found = load
				}
			}
			if found == nil {
				found = f.filledIn(v, get, before)
			}
		}
		return true
	})
	return found
}

// filledIn is a call after the read that gets the variable's address, as
// Scan(&v) of database/sql and First(&v) of ORMs.
func (f *Func) filledIn(v *types.Var, get *Call, before ast.Node) *ast.CallExpr {
	for _, call := range f.All {
		if call.Pos() < get.End() || call.Pos() > before.Pos() || !f.asks(call) {
			continue
		}
		for _, a := range call.Args {
			if u, ok := a.(*ast.UnaryExpr); ok && f.Var(u.X) == v {
				return call
			}
		}
	}
	return nil
}

// pure are packages whose functions only compute.
var pure = map[string]bool{
	"fmt": true, "strconv": true, "strings": true, "bytes": true, "time": true, "math": true, "errors": true,
	"sort": true, "slices": true, "maps": true, "unicode/utf8": true, "math/rand": true, "math/rand/v2": true,
	"encoding/json": true, "encoding/gob": true, "encoding/base64": true, "encoding/hex": true, "encoding/binary": true,
	"encoding/xml": true, "crypto/rand": true, "crypto/sha256": true, "crypto/md5": true, "crypto/sha1": true,
	"github.com/google/uuid": true, "context": true, "os": true, "reflect": true, "log": true, "log/slog": true,
	"github.com/vmihailenco/msgpack/v5": true, "google.golang.org/protobuf/proto": true, "github.com/bytedance/sonic": true,
	"github.com/json-iterator/go": true, "github.com/goccy/go-json": true,
}

// asks reports whether a call may ask somebody: anything that gives an error
// and is neither go-redis nor plain computation.
func (f *Func) asks(call *ast.CallExpr) bool {
	tv, ok := f.info().Types[call.Fun]
	if !ok || tv.IsType() || tv.IsBuiltin() {
		return false
	}
	if fn := f.Callee(call); fn != nil {
		if fn.Pkg() == nil || IsRedis(fn.Pkg().Path()) || pure[fn.Pkg().Path()] {
			return false
		}
	}
	sig, ok := tv.Type.Underlying().(*types.Signature)
	if !ok {
		return false
	}
	for v := range sig.Results().Variables() {
		if types.TypeString(v.Type(), nil) == "error" {
			return true
		}
	}
	return f.Var(call.Fun) != nil || takesContext(sig)
}

func takesContext(sig *types.Signature) bool {
	return sig.Params().Len() > 0 && IsContext(sig.Params().At(0).Type())
}

// Guard is what keeps two callers from filling at once: a flight, a lock of
// this process or one in Redis, in the function or around all its calls in the
// package. Nil for none.
func (f *Func) Guard() ast.Node {
	for _, call := range f.All {
		if f.guards(call) {
			return call
		}
	}
	var first ast.Node
	sites := f.Package.Callers(f)
	for _, s := range sites {
		g := s.Func.firstGuard()
		if g == nil {
			return nil
		}
		first = g
	}
	if first != nil {
		return first
	}
	return f.handedToFlight()
}

func (f *Func) firstGuard() ast.Node {
	for _, c := range f.All {
		if f.guards(c) {
			return c
		}
	}
	return nil
}

// handedToFlight is a Do of the package that the function itself is handed to.
func (f *Func) handedToFlight() ast.Node {
	for _, g := range f.Package.Funcs {
		for _, call := range g.All {
			if !IsFlight(g, call, "Do", "DoChan") && !IsLockcluster(g, call) {
				continue
			}
			for _, a := range call.Args {
				if o := g.Object(a); o != nil && f.Obj != nil && o == types.Object(f.Obj) {
					return call
				}
			}
		}
	}
	return nil
}

// guards reports whether a call serialises: singleflight, lockcluster, a mutex,
// SETNX, or anything that calls itself a lock.
func (f *Func) guards(call *ast.CallExpr) bool {
	if IsFlight(f, call, "Do", "DoChan") || IsLockcluster(f, call) {
		return true
	}
	name := ""
	if fn := f.Callee(call); fn != nil {
		name = fn.Name()
	} else if id, ok := call.Fun.(*ast.Ident); ok {
		name = id.Name
	}
	switch name {
	case "Lock", "RLock", "TryLock", "LockContext", "TryLockContext", "Acquire", "TryAcquire", "Obtain", "SetNX", "DoChan", "DoContext", "WithLock", "Once":
		return true
	}
	return lockWords.MatchString(name)
}

var lockWords = regexp.MustCompile(`[lL]ock([A-Z]|$)|Mutex|[sS]ingle[fF]light|[cC]oalesc`)
