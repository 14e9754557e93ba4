// Package unlockedfill is the rule against cache fills that stampede.
package unlockedfill

import (
	"fmt"
	"go/ast"

	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/internal/code"
)

// Analyzer reports cache fills that nothing keeps from happening at once, and
// every call of a helper that does them.
var Analyzer = &analysis.Analyzer{
	Name: "unlockedfill",
	Doc: `cache fill without a lock

Read a key, miss, load, write the key: when a hot key expires, everybody misses at
the same moment and everybody loads. With one worker in development nothing
shows; in production it goes off once per TTL. Fill under
lockcluster (one load per expiry in the whole cluster) or at least singleflight
(one per process).

A helper that takes key and loader is the finding, and each of its calls is
one more, in other packages too: those are the places to look at.

Not reported: a fill with singleflight, lockcluster, a mutex, SETNX or anything
called lock in the function or around all its calls in the package; a value that
is computed from the one that was read; a write of what nobody had to be asked
for.`,
	Run:              run,
	Requires:         []*analysis.Analyzer{code.Analyzer},
	FactTypes:        []analysis.Fact{(*Helper)(nil)},
	RunDespiteErrors: true,
}

// Helper is the fact that a function fills a cache with its caller's loader
// and without a lock.
type Helper struct{ Place string }

// AFact marks Helper as a fact.
func (*Helper) AFact() {}

func (h *Helper) String() string { return "unlocked fill helper" }

func run(pass *analysis.Pass) (any, error) {
	p := code.Of(pass)
	for _, f := range p.Funcs {
		for _, fill := range f.Fills() {
			if f.Guard() != nil {
				continue
			}
			report(pass, p, fill)
			break // one finding a function
		}
	}
	for _, f := range p.Funcs {
		for _, call := range f.All {
			var h Helper
			fn := f.Callee(call)
			if fn == nil || !pass.ImportObjectFact(fn, &h) || f.Obj == fn {
				continue
			}
			if !guardedSite(f, call) {
				f.Reportf(pass, call, fmt.Sprintf("cache fill without a lock by %s (%s): everybody who misses here loads at once", fn.Name(), h.Place))
			}
		}
	}
	return nil, nil
}

func report(pass *analysis.Pass, p *code.Package, fill *code.Fill) {
	f := fill.Func
	related := []analysis.RelatedInformation{
		{Pos: fill.Get.Pos(), End: fill.Get.End(), Message: "read here"},
		{Pos: fill.Load.Pos(), End: fill.Load.End(), Message: "loaded here"},
	}
	message := "cache fill without a lock: everybody who misses loads at once; fill under lockcluster or singleflight"
	if fill.Loader != nil {
		sites := p.Callers(f)
		for _, s := range sites {
			related = append(related, analysis.RelatedInformation{Pos: s.Call.Pos(), End: s.Call.End(), Message: "called here, in " + s.Func.Decl.Name.Name})
		}
		message = fmt.Sprintf("helper %s fills a cache without a lock, called in %d places of this package: everybody who misses loads at once; fill under lockcluster or singleflight", f.Decl.Name.Name, len(sites))
		if f.Obj != nil {
			pos := pass.Fset.Position(f.Decl.Pos())
			pass.ExportObjectFact(f.Obj, &Helper{Place: fmt.Sprintf("%s:%d", base(pos.Filename), pos.Line)})
		}
	}
	code.Report(pass, analysis.Diagnostic{Pos: fill.Set.Pos(), End: fill.Set.End(), Message: message, Related: related})
}

func base(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' || path[i] == '\\' {
			return path[i+1:]
		}
	}
	return path
}

// guardedSite reports whether a call stands in a function literal handed to a
// flight.
func guardedSite(f *code.Func, call *ast.CallExpr) bool {
	for lit := f.Lit(call); lit != nil; lit = f.Lit(lit) {
		if outer, _ := f.ArgOf(lit); outer != nil && (code.IsFlight(f, outer, "Do", "DoChan") || code.IsLockcluster(f, outer)) {
			return true
		}
	}
	return false
}
