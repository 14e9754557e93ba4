// Package fixedttl is the rule about fills that all expire at the same moment.
package fixedttl

import (
	"fmt"
	"go/ast"
	"go/types"
	"time"

	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/internal/code"
)

// Least is the number of writes with one TTL that are many.
const Least = 3

// Analyzer reports fills that share one constant TTL.
var Analyzer = &analysis.Analyzer{
	Name: "fixedttl",
	Doc: `many fills with one constant TTL

Keys that are written together and live equally long expire together, and are
loaded together: a wave every TTL. Add a random part (base plus 0 to 10 %), or use
lockcluster, whose jitter only shortens.

Information only. Reported: writes with a constant TTL in a loop over many keys, and
cache fills when three or more in a package share one constant. Not reported: a TTL
that is computed.`,
	Run:              run,
	Requires:         []*analysis.Analyzer{code.Analyzer},
	RunDespiteErrors: true,
}

func run(pass *analysis.Pass) (any, error) {
	byTTL := map[int64][]*code.Fill{}
	var order []int64
	for _, f := range code.Of(pass).Funcs {
		for _, fill := range f.Fills() {
			if n, ok := constant(f, fill.TTL); ok {
				if byTTL[n] == nil {
					order = append(order, n)
				}
				byTTL[n] = append(byTTL[n], fill)
			}
		}
		for _, c := range f.Calls {
			if n, ok := writtenInLoop(f, c); ok {
				f.Reportf(pass, c, fmt.Sprintf("every key of this loop expires after the same %s, at the same moment; add a random part to the TTL", duration(n)))
			}
		}
	}
	for _, n := range order {
		fills := byTTL[n]
		if len(fills) < Least {
			continue
		}
		for _, fill := range fills {
			fill.Func.Reportf(pass, fill.Set, fmt.Sprintf("%d cache fills of this package live exactly %s and expire in waves; add a random part to the TTL", len(fills), duration(n)))
		}
	}
	return nil, nil
}

func constant(f *code.Func, e ast.Expr) (int64, bool) {
	if e == nil {
		return 0, false
	}
	v, index := f.Value(e)
	if index >= 0 {
		return 0, false
	}
	n, ok := f.ConstInt(v)
	return n, ok && n > 0
}

// writtenInLoop is the constant TTL of a write in a loop over a collection,
// with a key that differs in every round.
func writtenInLoop(f *code.Func, c *code.Call) (int64, bool) {
	if c.Name != "Set" && c.Name != "SetEx" || len(c.Args) != 3 || !code.IsClient(c.Recv) && c.Recv != "Pipeliner" {
		return 0, false
	}
	loop, ok := f.Around(c.CallExpr, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.RangeStmt, *ast.FuncLit:
			return true
		}
		return false
	}).(*ast.RangeStmt)
	if !ok || !collection(f.Type(loop.X)) {
		return 0, false
	}
	varies := false
	ast.Inspect(c.Args[0], func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			v := f.Var(id)
			varies = varies || v != nil && v.Pos() >= loop.Pos() && v.Pos() < loop.End()
		}
		return true
	})
	n, ok := constant(f, c.Args[2])
	return n, ok && varies
}

// collection reports whether a range over t has all its rounds at once; a
// channel brings them one by one.
func collection(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Slice, *types.Map, *types.Array:
		return true
	}
	return false
}

func duration(n int64) time.Duration { return time.Duration(n) }
