package code

import (
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// IgnorePrefix starts the comment that silences a rule on its line and on the
// one below: //rcctl:ignore id reason.
const IgnorePrefix = "//rcctl:ignore "

// Report reports a finding unless a comment with a reason says to ignore it.
func Report(pass *analysis.Pass, d analysis.Diagnostic) {
	file := fileOf(pass, d.Pos)
	if file == nil || strings.HasSuffix(pass.Fset.Position(d.Pos).Filename, "_test.go") {
		return
	}
	switch ignored(pass.Fset, file, d.Pos, pass.Analyzer.Name) {
	case withReason:
		return
	case withoutReason:
		d.Message += " (the ignore comment gives no reason, so it does not count)"
	}
	pass.Report(d)
}

type ignore int

const (
	no ignore = iota
	withoutReason
	withReason
)

func ignored(fset *token.FileSet, file *ast.File, pos token.Pos, id string) ignore {
	line := fset.Position(pos).Line
	found := no
	for _, g := range file.Comments {
		for _, c := range g.List {
			rest, ok := strings.CutPrefix(c.Text, IgnorePrefix)
			if l := fset.Position(c.Pos()).Line; !ok || l != line && l != line-1 {
				continue
			}
			words := strings.Fields(rest)
			if len(words) == 0 || words[0] != id {
				continue
			}
			found = max(found, withoutReason)
			if len(words) > 1 {
				found = withReason
			}
		}
	}
	return found
}

func fileOf(pass *analysis.Pass, pos token.Pos) *ast.File {
	for _, f := range pass.Files {
		if f.FileStart <= pos && pos <= f.FileEnd {
			return f
		}
	}
	return nil
}

// Reportf reports a finding without fixes or places.
func (f *Func) Reportf(pass *analysis.Pass, n ast.Node, message string) {
	Report(pass, analysis.Diagnostic{Pos: n.Pos(), End: n.End(), Message: message})
}
