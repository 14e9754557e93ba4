// Package nakedlock is the rule against locks of SETNX and DEL alone.
package nakedlock

import (
	"go/ast"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/internal/code"
)

// Analyzer reports SETNX locks that anybody's DEL opens, that never expire or
// that have no owner.
var Analyzer = &analysis.Analyzer{
	Name: "nakedlock",
	Doc: `lock of SETNX without owner or end

A lock in Redis needs an end, or a crashed holder keeps it forever, and an owner,
or a holder that was slow deletes the lock of the next one. So: SET NX with an
expiry and a random value, and a release that compares the value in a script.
lockcluster.Locker does this.

Reported: a SETNX lock that the same function, or another method of the same
type, releases with plain DEL; one without expiry; one whose value is a constant.
What a lock is, the names tell (lock, mutex, lease, leader, semaphore in the key
or the function), or a deferred DEL of the same key.`,
	Run:              run,
	Requires:         []*analysis.Analyzer{code.Analyzer},
	RunDespiteErrors: true,
}

// lockName finds the words of a lock, but not block, clock or unlock.
var lockName = regexp.MustCompile(`(?i)(^|[^bcn])lock($|[^a-z]|ed|er|s?keys?|name|id|s)|(?-i:[a-z]Lock)|mutex|(^|[^a-z])lease|leader|semaphore`)

// take is a SETNX and what is wrong with it.
type take struct {
	call  *code.Call
	value ast.Expr
	ttl   ast.Expr // nil: none given
	key   code.Key
}

func run(pass *analysis.Pass) (any, error) {
	p := code.Of(pass)
	dels := releases(p)
	for _, f := range p.Funcs {
		for _, c := range f.Calls {
			t := taken(f, c)
			if t == nil {
				continue
			}
			del := released(t, dels)
			if !isLock(f, t, del) {
				continue
			}
			report(pass, f, t, del)
		}
	}
	return nil, nil
}

func report(pass *analysis.Pass, f *code.Func, t *take, del *code.Call) {
	var wrong []string
	var related []analysis.RelatedInformation
	if del != nil {
		wrong = append(wrong, "is released by a plain DEL, which also deletes the lock of the next holder")
		related = append(related, analysis.RelatedInformation{Pos: del.Pos(), End: del.End(), Message: "released here; compare the value in a script"})
	}
	if n, ok := f.ConstInt(orNil(t.ttl)); t.ttl == nil || ok && n == 0 {
		wrong = append(wrong, "never expires: a crashed holder keeps it forever")
	}
	if v, _ := f.Value(t.value); f.IsConst(v) {
		wrong = append(wrong, "has a constant value: nobody can tell whose it is")
	}
	if len(wrong) > 0 {
		code.Report(pass, analysis.Diagnostic{Pos: t.call.Pos(), End: t.call.End(),
			Message: "this SETNX lock " + strings.Join(wrong, "; it ") + "; use lockcluster.Locker", Related: related})
	}
}

func orNil(e ast.Expr) ast.Expr {
	if e == nil {
		return ast.NewIdent("_")
	}
	return e
}

// taken reads a call that sets a key only if it is not there.
func taken(f *code.Func, c *code.Call) *take {
	if len(c.Args) < 3 || !code.IsClient(c.Recv) {
		return nil
	}
	t := &take{call: c, value: c.Args[1], key: f.Key(c.Args[0])}
	switch c.Name {
	case "SetNX":
		t.ttl = c.Args[2]
		return t
	case "SetArgs":
		lit, ok := ast.Unparen(c.Args[2]).(*ast.CompositeLit)
		if !ok {
			return nil
		}
		nx := false
		for _, e := range lit.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				return nil
			}
			switch name, _ := kv.Key.(*ast.Ident); name.Name {
			case "Mode":
				mode, _ := f.Const(kv.Value)
				nx = strings.EqualFold(mode, "NX")
			case "TTL", "ExpireAt", "KeepTTL":
				t.ttl = kv.Value
			}
		}
		if nx {
			return t
		}
	}
	return nil
}

// releases are the plain deletions of single keys in the package.
func releases(p *code.Package) []*code.Call {
	var out []*code.Call
	for _, f := range p.Funcs {
		for _, c := range f.Calls {
			if (c.Name == "Del" || c.Name == "Unlink") && len(c.Args) == 1 && code.IsClient(c.Recv) {
				out = append(out, c)
			}
		}
	}
	return out
}

// released is the plain DEL of the lock's key: in the same function, or in a
// method of the same type when the key is built from the type's fields or is
// a constant pattern.
func released(t *take, dels []*code.Call) *code.Call {
	key := t.key.String()
	for _, d := range dels {
		k := d.Func.Key(d.Args[0])
		if d.Func == t.call.Func {
			if k.String() == key {
				return d
			}
			continue
		}
		if receiverOf(d.Func) == receiverOf(t.call.Func) && samePattern(t.key, k) {
			return d
		}
	}
	return nil
}

func receiverOf(f *code.Func) string {
	if f.Decl.Recv == nil || len(f.Decl.Recv.List) == 0 {
		return ""
	}
	return f.Canon(f.Decl.Recv.List[0].Type)
}

// samePattern reports whether two keys in two functions are surely the same
// kind: equal constants that name a lock, or the same field of the receiver.
func samePattern(a, b code.Key) bool {
	if a.String() == b.String() {
		return true
	}
	p := a.Pattern()
	return p == b.Pattern() && lockName.MatchString(p)
}

func isLock(f *code.Func, t *take, del *code.Call) bool {
	if lockName.MatchString(t.key.Pattern()) || lockName.MatchString(f.Decl.Name.Name) {
		return true
	}
	for _, p := range t.key {
		if !p.Const && lockName.MatchString(p.Name) {
			return true
		}
	}
	if id, ok := t.call.Args[0].(*ast.Ident); ok && lockName.MatchString(id.Name) {
		return true
	}
	return del != nil && del.Func == f && deferred(f, del)
}

func deferred(f *code.Func, c *code.Call) bool {
	return f.Around(c.CallExpr, func(n ast.Node) bool { _, ok := n.(*ast.DeferStmt); return ok }) != nil
}
