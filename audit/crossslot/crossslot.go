// Package crossslot is the rule against multi-key commands across slots.
package crossslot

import (
	"go/ast"
	"regexp"

	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/internal/code"
)

// Analyzer reports multi-key commands whose keys are in different slots.
var Analyzer = &analysis.Analyzer{
	Name: "crossslot",
	Doc: `multi-key command across slots

A cluster refuses a command, a script or a transaction whose keys hash to
different slots (CROSSSLOT). Give keys that belong together a common hash tag,
{user:1000}:profile and {user:1000}:settings, or use hashtag.MGet and its
siblings, which group the keys by slot.

Reported, on a ClusterClient or UniversalClient: keys whose constant parts prove
different slots, and keys without a hash tag that are built from different
variables, or from the same one with different constants. Not reported: keys that
are variables as a whole, and variables whose name or position says that they may
hold the tag.`,
	Run:              run,
	Requires:         []*analysis.Analyzer{code.Analyzer},
	RunDespiteErrors: true,
}

// keysOf says which arguments of a command are keys.
var keysOf = map[string]func(args []ast.Expr) []ast.Expr{
	"MGet": all, "Del": all, "Unlink": all, "Exists": all, "Touch": all,
	"MSet": pairs, "MSetNX": pairs,
	"Rename": firstTwo, "RenameNX": firstTwo, "SMove": firstTwo, "RPopLPush": firstTwo, "BRPopLPush": firstTwo,
	"LMove": firstTwo, "BLMove": firstTwo, "Copy": firstTwo,
	"SUnion": all, "SInter": all, "SDiff": all, "SUnionStore": all, "SInterStore": all, "SDiffStore": all,
	"PFMerge": all, "PFCount": all,
	"Eval": list, "EvalSha": list, "EvalRO": list, "EvalShaRO": list,
	"Watch": watched,
}

func all(args []ast.Expr) []ast.Expr { return args }
func firstTwo(args []ast.Expr) []ast.Expr {
	return args[:min(2, len(args))]
}
func pairs(args []ast.Expr) (out []ast.Expr) {
	for i := 0; i < len(args); i += 2 {
		out = append(out, args[i])
	}
	return out
}
func watched(args []ast.Expr) []ast.Expr { return args[min(1, len(args)):] }
func list(args []ast.Expr) []ast.Expr {
	if len(args) < 2 {
		return nil
	}
	return elements(args[1])
}

func elements(e ast.Expr) []ast.Expr {
	if lit, ok := ast.Unparen(e).(*ast.CompositeLit); ok {
		return lit.Elts
	}
	return nil
}

func run(pass *analysis.Pass) (any, error) {
	for _, f := range code.Of(pass).Funcs {
		for _, c := range f.Calls {
			switch keys := keysOf[c.Name]; {
			case c.Name == "Run" && c.Recv == "Script" && len(c.Args) >= 2 && code.IsCluster(code.RedisName(f.Type(c.Args[0]))):
				compare(pass, f, c, "script", elements(c.Args[1]))
			case keys != nil && code.IsCluster(c.Recv):
				compare(pass, f, c, c.Name, expand(f, c, keys(c.Args)))
			case c.Name == "TxPipelined" && code.IsCluster(c.Recv) && len(c.Args) == 1:
				if lit, ok := c.Args[0].(*ast.FuncLit); ok {
					queued(pass, f, c, func(q *code.Call) bool { return code.Within(q, lit) && q.Recv == "Pipeliner" })
				}
			case c.Name == "TxPipeline" && code.IsCluster(c.Recv):
				if as, ok := f.Parent(c.CallExpr).(*ast.AssignStmt); ok && len(as.Lhs) == 1 {
					if v := f.Var(as.Lhs[0]); v != nil && len(f.Defs(v)) == 1 {
						queued(pass, f, c, func(q *code.Call) bool { return f.Var(q.X) == v && q.X != nil })
					}
				}
			}
		}
	}
	return nil, nil
}

// expand is the keys of a call that spreads a slice literal, f(keys...).
func expand(f *code.Func, c *code.Call, keys []ast.Expr) []ast.Expr {
	if !c.Ellipsis.IsValid() || len(keys) == 0 {
		return keys
	}
	last := len(keys) - 1
	v, _ := f.Value(keys[last])
	return append(keys[:last:last], elements(v)...)
}

// queued compares the keys of the commands in one transaction.
func queued(pass *analysis.Pass, f *code.Func, tx *code.Call, in func(*code.Call) bool) {
	var keys []ast.Expr
	for _, q := range f.Calls {
		if !in(q) || len(q.Args) == 0 {
			continue
		}
		switch of := keysOf[q.Name]; {
		case of != nil:
			keys = append(keys, of(q.Args)...)
		case keyed(f, q):
			keys = append(keys, q.Args[0])
		}
	}
	compare(pass, f, tx, "transaction", keys)
}

// keyed reports whether a command's first argument is its key: go-redis names
// that parameter key.
func keyed(f *code.Func, c *code.Call) bool {
	fn := f.Callee(c.CallExpr)
	p := fn.Signature().Params()
	i := len(c.CallExpr.Args) - len(c.Args)
	return i < p.Len() && p.At(i).Name() == "key"
}

func compare(pass *analysis.Pass, f *code.Func, c *code.Call, what string, exprs []ast.Expr) {
	var keys []code.Key
	for _, e := range exprs {
		keys = append(keys, f.Key(e))
	}
	for i, a := range keys {
		for _, b := range keys[:i] {
			if !apart(a, b) {
				continue
			}
			f.Reportf(pass, c, what+" with keys in different slots ("+b.Pattern()+" and "+a.Pattern()+"): a cluster refuses it; give them a common hash tag, or use hashtag's multi-key operations")
			return
		}
	}
}

// holdsTag are names of variables that may bring a hash tag of their own;
// identifies are names of variables that do not.
var (
	holdsTag   = regexp.MustCompile(`(?i)tag|prefix|key|slot|base|hash|^ns$|namespace|^p$|^k$`)
	identifies = regexp.MustCompile(`(?i)(id|uuid|email|user|name|sku|token|session|order|product)$`)
)

// apart reports whether two keys are in different slots.
func apart(a, b code.Key) bool {
	if a.String() == b.String() {
		return false
	}
	ta, tagA := a.Tag()
	tb, tagB := b.Tag()
	textA, constA := a.Text()
	textB, constB := b.Text()
	switch {
	case constA && constB:
		return code.Slot(textA) != code.Slot(textB)
	case tagA && tagB:
		return ta != tb && !variable(ta) && !variable(tb) && code.Slot(ta) != code.Slot(tb)
	case tagA || tagB:
		return false // the other one's variable may hold the same tag
	}
	return plain(a, b) && plain(b, a)
}

func variable(tag string) bool { return regexp.MustCompile(`<.*>`).MatchString(tag) }

// plain reports whether a key shows that no variable in it brings a tag it
// could share with the other one: it starts with a constant, and its variables
// are numbers or names of things.
func plain(k, other code.Key) bool {
	if !k[0].Const || k[0].Text == "" {
		return false
	}
	for _, p := range k {
		if p.Const || p.Number {
			continue
		}
		if holdsTag.MatchString(p.Name) {
			return false
		}
		if shared(p, other) && !identifies.MatchString(p.Name) {
			return false
		}
		if _, constant := other.Text(); constant && !identifies.MatchString(p.Name) {
			return false
		}
	}
	return true
}

func shared(p code.Part, k code.Key) bool {
	for _, q := range k {
		if !q.Const && q.Text == p.Text {
			return true
		}
	}
	return false
}
