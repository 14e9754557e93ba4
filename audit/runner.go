package audit

import (
	"fmt"
	"go/types"
	"os"
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
)

// runner applies analyzers to packages that were loaded with syntax. The
// checker package of x/tools wants the syntax of all dependencies too, down to
// the standard library; facts about those are of no use to the rules, and
// their syntax would cost most of the time and memory.
type runner struct {
	rules []Rule
	facts map[factKey]analysis.Fact
}

type factKey struct {
	object any // types.Object or *types.Package
	typ    reflect.Type
}

func newRunner(rules []Rule) *runner {
	return &runner{rules: rules, facts: map[factKey]analysis.Fact{}}
}

// pkg applies all rules to one package. A rule that panics is skipped for this
// package, with the reason.
func (r *runner) pkg(p *packages.Package, res *Result) {
	results := map[*analysis.Analyzer]any{}
	for _, rule := range r.rules {
		_, err := r.apply(rule.Analyzer, p, results, func(d analysis.Diagnostic) {
			res.Findings = append(res.Findings, res.finding(p, rule, d))
		})
		if err != nil {
			res.Skipped = append(res.Skipped, Skip{p.PkgPath, fmt.Sprintf("rule %s: %v", rule.ID(), err)})
		}
	}
	p.TypesInfo, p.Syntax = nil, nil // no rule comes back to them
}

func (r *runner) apply(a *analysis.Analyzer, p *packages.Package, results map[*analysis.Analyzer]any, report func(analysis.Diagnostic)) (result any, err error) {
	if res, ok := results[a]; ok {
		return res, nil
	}
	if len(p.Errors) > 0 && !a.RunDespiteErrors {
		return nil, fmt.Errorf("needs code that compiles")
	}
	inputs := map[*analysis.Analyzer]any{}
	for _, req := range a.Requires {
		in, err := r.apply(req, p, results, func(analysis.Diagnostic) {})
		if err != nil {
			return nil, err
		}
		inputs[req] = in
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("stopped by a bug of the rule: %v", v)
		}
	}()
	result, err = a.Run(r.pass(a, p, inputs, report))
	if err == nil {
		results[a] = result
	}
	return result, err
}

func (r *runner) pass(a *analysis.Analyzer, p *packages.Package, inputs map[*analysis.Analyzer]any, report func(analysis.Diagnostic)) *analysis.Pass {
	pass := &analysis.Pass{
		Analyzer: a, Fset: p.Fset, Files: p.Syntax, OtherFiles: p.OtherFiles, IgnoredFiles: p.IgnoredFiles,
		Pkg: p.Types, TypesInfo: p.TypesInfo, TypesSizes: p.TypesSizes, TypeErrors: p.TypeErrors,
		ResultOf: inputs, Report: report, ReadFile: os.ReadFile,
		ImportObjectFact: func(o types.Object, f analysis.Fact) bool { return r.get(o, f) },
		ExportObjectFact: func(o types.Object, f analysis.Fact) { r.facts[factKey{o, reflect.TypeOf(f)}] = f },
		ImportPackageFact: func(o *types.Package, f analysis.Fact) bool {
			return r.get(o, f)
		},
		ExportPackageFact: func(f analysis.Fact) { r.facts[factKey{p.Types, reflect.TypeOf(f)}] = f },
		AllObjectFacts:    func() []analysis.ObjectFact { return nil },
		AllPackageFacts:   func() []analysis.PackageFact { return nil },
	}
	if m := p.Module; m != nil {
		pass.Module = &analysis.Module{Path: m.Path, Version: m.Version, GoVersion: m.GoVersion}
	}
	return pass
}

func (r *runner) get(object any, f analysis.Fact) bool {
	got, ok := r.facts[factKey{object, reflect.TypeOf(f)}]
	if ok {
		reflect.ValueOf(f).Elem().Set(reflect.ValueOf(got).Elem())
	}
	return ok
}
