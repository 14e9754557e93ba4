// Package singleclient is the rule against plain clients of a cluster.
package singleclient

import (
	"go/ast"
	"regexp"

	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/internal/code"
)

// Analyzer reports clients for one server that are given a cluster's address.
var Analyzer = &analysis.Analyzer{
	Name: "singleclient",
	Doc: `client for one server used for a cluster

redis.NewClient follows no redirects: against a cluster it gets MOVED for every
key of another node. redis.NewUniversalClient makes such a client too when it is
given one address and IsClusterMode is not set.

Reported: one constant address that a cluster client of the same package also has; an
address that says it is a cluster's (clustercfg of ElastiCache, a variable, field or
environment variable named after a cluster); and commands with hash-tagged keys on a
client that is made here for one address, since hash tags are for clusters. Not
reported: a package that chooses between NewClient and NewClusterClient.`,
	Run:              run,
	Requires:         []*analysis.Analyzer{code.Analyzer},
	RunDespiteErrors: true,
}

// maker is a client made for one address.
type maker struct {
	f    *code.Func
	call *code.Call
	addr ast.Expr
}

func run(pass *analysis.Pass) (any, error) {
	p := code.Of(pass)
	var makers []maker
	cluster := map[string]bool{} // constant addresses of cluster clients
	clusters := false
	for _, f := range p.Funcs {
		for _, call := range f.All {
			for _, e := range clusterAddrs(f, call) {
				if s, ok := f.Const(e); ok {
					cluster[s] = true
				}
			}
		}
		for _, c := range f.Calls {
			clusters = clusters || c.Name == "NewClusterClient" && c.X == nil
			if addr := singleAddr(f, c); addr != nil {
				makers = append(makers, maker{f, c, addr})
			}
		}
	}
	tagged := taggedKey(p)
	for _, m := range makers {
		name := "redis." + m.call.Name
		addr, constant := m.f.Const(m.addr)
		switch {
		case constant && cluster[addr]:
			m.f.Reportf(pass, m.call, name+" for "+addr+", which a cluster client of this package has too: every key of another node gets MOVED; use a cluster client")
		case named(m.f, m.addr):
			m.f.Reportf(pass, m.call, name+" for one address of what is named a cluster: every key of another node gets MOVED; use a cluster client")
		case tagged != nil && !clusters:
			code.Report(pass, analysis.Diagnostic{Pos: m.call.Pos(), End: m.call.End(),
				Message: name + " for one address, but this package's keys have hash tags, which are for clusters: there every key of another node gets MOVED; use a cluster client",
				Related: []analysis.RelatedInformation{{Pos: tagged.Pos(), End: tagged.End(), Message: "a hash tag"}}})
		}
	}
	return nil, nil
}

// option is the value of a field in the options literal of a call, nil when it
// is not there.
func option(f *code.Func, arg ast.Expr, field string) ast.Expr {
	v, _ := f.Value(arg)
	if u, ok := v.(*ast.UnaryExpr); ok {
		v = u.X
	}
	lit, ok := v.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if id, ok := kv.Key.(*ast.Ident); ok && id.Name == field {
			return kv.Value
		}
	}
	return nil
}

func elements(f *code.Func, e ast.Expr) []ast.Expr {
	if e == nil {
		return nil
	}
	v, _ := f.Value(e)
	if lit, ok := v.(*ast.CompositeLit); ok {
		return lit.Elts
	}
	return nil
}

func clusterAddrs(f *code.Func, call *ast.CallExpr) []ast.Expr {
	switch {
	case f.Is(call, code.Pool, "New") && len(call.Args) == 2:
		return elements(f, option(f, call.Args[1], "Addrs"))
	case len(call.Args) == 1:
		if fn := f.Callee(call); fn != nil && fn.Pkg() != nil && code.IsRedis(fn.Pkg().Path()) && fn.Name() == "NewClusterClient" {
			return elements(f, option(f, call.Args[0], "Addrs"))
		}
	}
	return nil
}

// singleAddr is the one address of a client that will not be a cluster's, nil
// when there is none to see.
func singleAddr(f *code.Func, c *code.Call) ast.Expr {
	if c.X != nil || len(c.Args) != 1 {
		return nil
	}
	switch c.Name {
	case "NewClient":
		return option(f, c.Args[0], "Addr")
	case "NewUniversalClient":
		if option(f, c.Args[0], "MasterName") != nil || option(f, c.Args[0], "IsClusterMode") != nil {
			return nil
		}
		if addrs := elements(f, option(f, c.Args[0], "Addrs")); len(addrs) == 1 {
			return addrs[0]
		}
	}
	return nil
}

var (
	clusterWord = regexp.MustCompile(`(?i)redis[-_]?cluster|cluster[-_]?(addr|node|host|endpoint|url|seed)|clustercfg`)
	inKube      = regexp.MustCompile(`\.svc(\.cluster\.local)?`)
)

// named reports whether an address says that it is a cluster's: in the text,
// or in the names it is read from.
func named(f *code.Func, e ast.Expr) bool {
	v, _ := f.Value(e)
	found := false
	for _, x := range []ast.Expr{e, v} {
		ast.Inspect(x, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IndexExpr:
				return false // one of a list of nodes, on purpose
			case *ast.Ident:
				found = found || clusterWord.MatchString(n.Name)
			case *ast.BasicLit:
				if s, ok := f.Const(n); ok {
					found = found || clusterWord.MatchString(inKube.ReplaceAllString(s, ""))
				}
			}
			return true
		})
	}
	return found
}

// taggedKey is a command of the package whose key has a hash tag, on a client
// that is not a cluster's.
func taggedKey(p *code.Package) ast.Node {
	for _, f := range p.Funcs {
		for _, c := range f.Calls {
			if len(c.Args) == 0 || c.Recv != "Client" && c.Recv != "UniversalClient" {
				continue
			}
			fn := f.Callee(c.CallExpr)
			i := len(c.CallExpr.Args) - len(c.Args)
			if i >= fn.Signature().Params().Len() {
				continue
			}
			if name := fn.Signature().Params().At(i).Name(); name != "key" && name != "keys" {
				continue
			}
			if tag, ok := f.Key(c.Args[0]).Tag(); ok && tag != "" {
				return c.Args[0]
			}
		}
	}
	return nil
}
