// Package audit finds every place in Go code with the same mistake in its use
// of go-redis: when one endpoint has the pattern, fourteen have it.
//
// The rules are analyzers of golang.org/x/tools/go/analysis, one folder each.
// [Run] loads packages and applies them; rcctl audit is its command line, and
// audit/rcctl-vet the same rules as a tool for go vet -vettool.
//
// A comment //rcctl:ignore id reason silences one rule on its own line and on
// the line below. Without a reason it does not count.
//
// The rules look at go-redis v8 and v9 by import path and type name. They read
// code, not values: a key that only a configuration knows, or a client behind
// an interface of one's own, is out of their sight. Test files are left out.
package audit

import (
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/allnodes"
	"github.com/rcctl/rcctl/audit/borrowedbytes"
	"github.com/rcctl/rcctl/audit/clientperrequest"
	"github.com/rcctl/rcctl/audit/crossslot"
	"github.com/rcctl/rcctl/audit/fixedttl"
	"github.com/rcctl/rcctl/audit/lateforget"
	"github.com/rcctl/rcctl/audit/mutexfill"
	"github.com/rcctl/rcctl/audit/nakedlock"
	"github.com/rcctl/rcctl/audit/nilerr"
	"github.com/rcctl/rcctl/audit/noclose"
	"github.com/rcctl/rcctl/audit/requestctx"
	"github.com/rcctl/rcctl/audit/singleclient"
	"github.com/rcctl/rcctl/audit/unlockedfill"
)

// A Rule is one analyzer and what its findings mean.
type Rule struct {
	// Analyzer does the work. Its name is the rule's id; its doc is the text
	// of docs/audit.md.
	Analyzer *analysis.Analyzer
	// Information is true for a rule whose findings are worth knowing but not
	// wrong in themselves. They never set the exit code.
	Information bool
}

// ID is the rule's name in output and in ignore comments.
func (r Rule) ID() string { return r.Analyzer.Name }

// Title is the first line of the rule's documentation.
func (r Rule) Title() string {
	title, _, _ := strings.Cut(r.Analyzer.Doc, "\n")
	return title
}

// Rules are all rules in the order of the documentation. The slice is the
// caller's.
func Rules() []Rule {
	return []Rule{
		{Analyzer: clientperrequest.Analyzer},
		{Analyzer: crossslot.Analyzer},
		{Analyzer: unlockedfill.Analyzer},
		{Analyzer: mutexfill.Analyzer, Information: true},
		{Analyzer: nakedlock.Analyzer},
		{Analyzer: fixedttl.Analyzer, Information: true},
		{Analyzer: requestctx.Analyzer},
		{Analyzer: lateforget.Analyzer},
		{Analyzer: borrowedbytes.Analyzer},
		{Analyzer: noclose.Analyzer},
		{Analyzer: nilerr.Analyzer},
		{Analyzer: singleclient.Analyzer},
		{Analyzer: allnodes.Analyzer},
	}
}

// Analyzers are the analyzers of all rules, for other drivers.
func Analyzers() []*analysis.Analyzer {
	var out []*analysis.Analyzer
	for _, r := range Rules() {
		out = append(out, r.Analyzer)
	}
	return out
}
