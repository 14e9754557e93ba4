package audit

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
)

// Options say what to look at. The zero value is every package in and below
// the working directory, with every rule.
type Options struct {
	// Dir is where the patterns are meant. Empty: the working directory.
	Dir string
	// Patterns are those of the go command. Empty: "./...".
	Patterns []string
	// Rules are the ids of the rules to apply. Empty: all.
	Rules []string
	// Env is the environment of the go command. Nil: this process's.
	Env []string
	// Tags are build tags, separated by commas.
	Tags string
}

// A Place is a piece of source.
type Place struct {
	// File is relative to Options.Dir when it lies below it.
	File string `json:"file"`
	// Line and Column start at 1; columns count bytes.
	Line      int `json:"line"`
	Column    int `json:"column"`
	EndLine   int `json:"end_line,omitempty"`
	EndColumn int `json:"end_column,omitempty"`
	// Message says what this place has to do with the finding it belongs to.
	Message string `json:"message,omitempty"`
}

// A Finding is one place with a mistake.
type Finding struct {
	Rule        string `json:"rule"`
	Information bool   `json:"information,omitempty"`
	Package     string `json:"package"`
	Message     string `json:"message"`
	Place
	// Related are other places of the same mistake: the call sites of a
	// helper, the SETNX of a lock.
	Related []Place `json:"related,omitempty"`
	// Fixable is true when a safe change is known; see Fix.
	Fixable bool `json:"fixable,omitempty"`

	edits []edit
}

// edit replaces the bytes from start to end of a file.
type edit struct {
	path       string
	start, end int
	text       string
}

// A Skip is something that was not looked at, or only in part.
type Skip struct {
	Package string `json:"package"`
	Reason  string `json:"reason"`
}

// A Result is what a run saw.
type Result struct {
	// Findings are in order of file and line.
	Findings []Finding `json:"findings"`
	Skipped  []Skip    `json:"skipped"`
	// Packages and Lines count what was looked at.
	Packages int `json:"packages"`
	Lines    int `json:"lines"`

	dir string
}

// Failing is the number of findings that are not mere information.
func (r *Result) Failing() int {
	n := 0
	for _, f := range r.Findings {
		if !f.Information {
			n++
		}
	}
	return n
}

// LoadError says that nothing could be looked at: no such packages, no go
// command, no module.
type LoadError struct{ Err error }

func (e *LoadError) Error() string { return "load packages: " + e.Err.Error() }
func (e *LoadError) Unwrap() error { return e.Err }

// UnknownRuleError names a rule in Options.Rules that does not exist.
type UnknownRuleError struct{ ID string }

func (e *UnknownRuleError) Error() string {
	var ids []string
	for _, r := range Rules() {
		ids = append(ids, r.ID())
	}
	return fmt.Sprintf("no rule %q; the rules are %s", e.ID, strings.Join(ids, ", "))
}

// Run loads the packages and applies the rules. Packages that do not compile
// are looked at as far as they go and listed in Result.Skipped. It needs the go
// command and no network when the modules are in the module cache. The error is
// a *LoadError or an *UnknownRuleError. Run blocks until done or until ctx
// ends; one call uses all cores for loading.
func Run(ctx context.Context, o Options) (*Result, error) {
	rules, err := choose(o.Rules)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, &LoadError{err}
	}
	pkgs, err := load(ctx, dir, o)
	if err != nil {
		return nil, &LoadError{err}
	}
	res := &Result{dir: dir, Findings: []Finding{}, Skipped: []Skip{}}
	run := newRunner(rules)
	for _, p := range pkgs {
		if len(p.GoFiles) == 0 && len(p.Errors) == 0 {
			continue // nothing but tests
		}
		if len(p.Syntax) == 0 || p.Types == nil || p.TypesInfo == nil {
			res.Skipped = append(res.Skipped, Skip{p.PkgPath, "not looked at: " + why(p)})
			continue
		}
		if len(p.Errors) > 0 {
			res.Skipped = append(res.Skipped, Skip{p.PkgPath, "looked at as far as it compiles: " + why(p)})
		}
		res.Packages++
		for _, f := range p.Syntax {
			res.Lines += p.Fset.File(f.FileStart).LineCount()
		}
		run.pkg(p, res)
		if err := ctx.Err(); err != nil {
			return nil, &LoadError{err}
		}
	}
	if res.Packages == 0 {
		reason := "no packages match"
		if len(res.Skipped) > 0 {
			reason = res.Skipped[0].Package + ": " + res.Skipped[0].Reason
		}
		return nil, &LoadError{fmt.Errorf("%s", reason)}
	}
	slices.SortFunc(res.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule))
	})
	return res, nil
}

func choose(ids []string) ([]Rule, error) {
	all := Rules()
	if len(ids) == 0 {
		return all, nil
	}
	var out []Rule
	for _, id := range ids {
		i := slices.IndexFunc(all, func(r Rule) bool { return r.ID() == id })
		if i < 0 {
			return nil, &UnknownRuleError{id}
		}
		out = append(out, all[i])
	}
	return out, nil
}

// load reads the packages and their types: the named packages from source,
// what they import from the compiler's export data.
func load(ctx context.Context, dir string, o Options) ([]*packages.Package, error) {
	cfg := &packages.Config{
		Context: ctx,
		Dir:     dir,
		Env:     o.Env,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo |
			packages.NeedExportFile | packages.NeedModule,
	}
	if o.Tags != "" {
		cfg.BuildFlags = []string{"-tags=" + o.Tags}
	}
	if cfg.Env == nil {
		cfg.Env = os.Environ()
	}
	patterns := o.Patterns
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	pkgs, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, err
	}
	return dependenciesFirst(pkgs), nil
}

// dependenciesFirst orders packages so that what a rule learned about one is
// known when its importers are looked at.
func dependenciesFirst(pkgs []*packages.Package) []*packages.Package {
	named := map[*packages.Package]bool{}
	for _, p := range pkgs {
		named[p] = true
	}
	var out []*packages.Package
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		if named[p] {
			out = append(out, p)
		}
	})
	return out
}

// why is the first error of a package in one line, and how many more there are.
func why(p *packages.Package) string {
	if len(p.Errors) == 0 {
		return "its types could not be read"
	}
	s := strings.Join(strings.Fields(p.Errors[0].Error()), " ")
	if n := len(p.Errors) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

func (r *Result) place(fset *token.FileSet, pos, end token.Pos, message string) Place {
	p := fset.Position(pos)
	out := Place{File: p.Filename, Line: p.Line, Column: p.Column, Message: message}
	if rel, err := filepath.Rel(r.dir, p.Filename); err == nil && filepath.IsLocal(rel) {
		out.File = filepath.ToSlash(rel)
	}
	if end.IsValid() {
		e := fset.Position(end)
		out.EndLine, out.EndColumn = e.Line, e.Column
	}
	return out
}

// finding turns a diagnostic into a finding.
func (r *Result) finding(p *packages.Package, rule Rule, d analysis.Diagnostic) Finding {
	f := Finding{Rule: rule.ID(), Information: rule.Information, Package: p.PkgPath, Message: d.Message,
		Place: r.place(p.Fset, d.Pos, d.End, "")}
	for _, rel := range d.Related {
		f.Related = append(f.Related, r.place(p.Fset, rel.Pos, rel.End, rel.Message))
	}
	if len(d.SuggestedFixes) > 0 {
		for _, e := range d.SuggestedFixes[0].TextEdits {
			file := p.Fset.File(e.Pos)
			end := e.End
			if !end.IsValid() {
				end = e.Pos
			}
			f.edits = append(f.edits, edit{file.Name(), file.Offset(e.Pos), file.Offset(end), string(e.NewText)})
		}
		f.Fixable = true
	}
	return f
}
