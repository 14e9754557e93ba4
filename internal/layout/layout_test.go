// Package layout holds the tests that keep the plan of the repository true:
// who may import whom, which modules the root needs and why, and how little
// an importer of pool links.
package layout

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rcctl/rcctl"

// open to every package, beside the standard library.
var everyone = []string{"github.com/redis/go-redis/v9", "golang.org/x/sync"}

// allowed lists, per folder, the folders of this module that its non-test code
// may import, and the outside modules that only it may.
var allowed = map[string]struct{ folders, modules []string }{
	"hashtag":            {},
	"pool":               {folders: []string{"hashtag", "internal/breaker"}},
	"lockcluster":        {folders: []string{"hashtag", "internal/breaker"}},
	"health":             {folders: []string{"hashtag", "pool", "internal/redisinfo"}},
	"metrics":            {folders: []string{"pool", "lockcluster", "health", "internal/redisinfo"}, modules: []string{"github.com/prometheus/client_golang"}},
	"sysctl":             {modules: []string{"golang.org/x/sys"}},
	"bench":              {folders: []string{"hashtag", "pool", "lockcluster", "health", "sysctl", "internal/redisinfo"}, modules: []string{"github.com/HdrHistogram/hdrhistogram-go", "golang.org/x/perf", "golang.org/x/sys"}},
	"clustertest":        {folders: []string{"hashtag", "internal/redisinfo"}, modules: []string{"github.com/alicebob/miniredis/v2", "github.com/yuin/gopher-lua", "golang.org/x/sys"}},
	"internal/redisinfo": {},
	"internal/doctor":    {folders: []string{"hashtag", "pool", "health", "sysctl", "internal/redisinfo"}},
	"internal/breaker":   {},
	"internal/layout":    {},
	"audit":              {modules: []string{"golang.org/x/tools"}},
	"cmd/rcctl": {folders: []string{"hashtag", "pool", "lockcluster", "health", "metrics", "sysctl", "bench", "clustertest",
		"internal/redisinfo", "internal/doctor", "audit"},
		modules: []string{"github.com/spf13/cobra", "golang.org/x/term", "github.com/prometheus/client_golang", "github.com/prometheus/common", "github.com/prometheus/exporter-toolkit"}},
}

// rootRequirements are the modules that the root go.mod requires directly.
var rootRequirements = map[string]string{
	"github.com/redis/go-redis/v9":            "the engine",
	"golang.org/x/sync":                       "singleflight, errgroup and semaphore",
	"golang.org/x/sys":                        "rlimits, inet_diag, signals to child processes",
	"golang.org/x/term":                       "is this a terminal, how wide",
	"golang.org/x/tools":                      "analyzers and package loading, in audit only",
	"github.com/spf13/cobra":                  "the command line, in cmd/rcctl only",
	"github.com/prometheus/client_golang":     "collectors, in metrics and cmd/rcctl only",
	"github.com/prometheus/common":            "text format of rcctl exporter --once, in cmd/rcctl only",
	"github.com/prometheus/exporter-toolkit":  "TLS and basic auth of rcctl exporter, in cmd/rcctl only",
	"github.com/HdrHistogram/hdrhistogram-go": "latency histograms, in bench only",
	"golang.org/x/perf":                       "Mann-Whitney test of rcctl bench compare, in bench only",
	"github.com/alicebob/miniredis/v2":        "command engine of the embedded cluster, in clustertest only",
	"github.com/yuin/gopher-lua":              "Lua of the embedded cluster, where miniredis' own is no server's, in clustertest only",
	"github.com/google/go-cmp":                "differences in test output, in tests only",
	"go.uber.org/goleak":                      "leaked goroutines fail, in tests only",
}

type pkg struct {
	ImportPath, Dir string
	Imports         []string
	TestImports     []string
	XTestImports    []string
}

// folder is the entry of the table that a package of this module belongs to:
// packages below an entry's folder follow its rule.
func folder(importPath string) string {
	rel := strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
	for {
		if _, ok := allowed[rel]; ok {
			return rel
		}
		i := strings.LastIndexByte(rel, '/')
		if i < 0 {
			return rel
		}
		rel = rel[:i]
	}
}

func root(t *testing.T) string {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(wd))
}

func goCmd(t *testing.T, dir string, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append([]string{"GOWORK=off"}, env...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// packages lists the packages of the root module as a system builds them.
func packages(t *testing.T, goos string) []pkg {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(goCmd(t, root(t), []string{"GOOS=" + goos, "CGO_ENABLED=0"}, "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports", "./..."))))
	var out []pkg
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
}

func within(path, of string) bool { return path == of || strings.HasPrefix(path, of+"/") }

func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func TestPackagesImportOnlyWhatTheTableAllows(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, p := range packages(t, goos) {
			from := folder(p.ImportPath)
			rule, ok := allowed[from]
			if !ok {
				t.Errorf("%s is in no folder of the table; a new folder needs a line and a reason", p.ImportPath)
				continue
			}
			for _, imp := range p.Imports {
				if problem := judge(from, rule.folders, rule.modules, imp); problem != "" {
					t.Errorf("%s (%s) imports %s: %s", p.ImportPath, goos, imp, problem)
				}
			}
		}
	}
}

func judge(from string, folders, modules []string, imp string) string {
	switch {
	case isStandard(imp):
		return ""
	case within(imp, module):
		to := folder(imp)
		if to == from || slices.Contains(folders, to) {
			return ""
		}
		return "not among the folders that " + from + " may import"
	}
	for _, m := range append(slices.Clone(everyone), modules...) {
		if within(imp, m) {
			return ""
		}
	}
	return "not among the modules that " + from + " may import"
}

// Tests that use clustertest are external (_test packages), so that clustertest
// may itself be built on what they test.
func TestInternalTestsDoNotImportClustertest(t *testing.T) {
	for _, p := range packages(t, "linux") {
		if folder(p.ImportPath) == "clustertest" || folder(p.ImportPath) == "cmd/rcctl" {
			continue
		}
		if slices.Contains(p.TestImports, module+"/clustertest") {
			t.Errorf("%s: tests inside the package import clustertest; put them into package %s_test", p.ImportPath, filepath.Base(p.ImportPath))
		}
	}
}

// The packages that users import must not drag outside modules into the test
// builds of their importers either.
func TestTestsOfImportedPackagesStayLight(t *testing.T) {
	light := append(slices.Clone(everyone), module, "github.com/google/go-cmp", "go.uber.org/goleak", "golang.org/x/sys")
	for _, p := range packages(t, "linux") {
		switch folder(p.ImportPath) {
		case "pool", "hashtag", "lockcluster":
		default:
			continue
		}
		for _, imp := range append(p.TestImports, p.XTestImports...) {
			ok := isStandard(imp) || slices.ContainsFunc(light, func(m string) bool { return within(imp, m) })
			if !ok {
				t.Errorf("tests of %s import %s", p.ImportPath, imp)
			}
		}
	}
}

func TestRootRequiresOnlyModulesWithAReason(t *testing.T) {
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace []struct{ Old struct{ Path string } }
	}
	if err := json.Unmarshal(goCmd(t, root(t), nil, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		if _, ok := rootRequirements[r.Path]; !ok && !r.Indirect {
			t.Errorf("go.mod requires %s without a reason in rootRequirements", r.Path)
		}
		if strings.Contains(r.Path, "testcontainers") || strings.Contains(r.Path, "docker") {
			t.Errorf("go.mod mentions %s; it belongs in integration/", r.Path)
		}
	}
	if len(mod.Replace) > 0 {
		t.Errorf("go.mod has replace directives: importers do not get them")
	}
}

func TestNoWorkspaceFileIsCommitted(t *testing.T) {
	if _, err := os.Stat(filepath.Join(root(t), "go.work")); err == nil {
		t.Error("go.work is in the repository")
	}
}

// A service that imports pool links at most six modules besides this one and
// gets at most 30 lines of go.sum.
func TestAnImporterOfPoolLinksAtMostSixModules(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module consumer.example/app\n\ngo 1.26.0\n\nrequire "+module+" v0.0.0\n\nreplace "+module+" => "+root(t)+"\n")
	write("main.go", `package main

import (
	"context"

	"`+module+`/pool"
)

func main() {
	c, err := pool.New(context.Background(), pool.Config{Addrs: []string{"127.0.0.1:7000"}})
	if err == nil {
		_ = c.Close()
	}
}
`)
	goCmd(t, dir, nil, "build", "-mod=mod", "-o", "app", ".")
	var linked []string
	for _, line := range strings.Split(string(goCmd(t, dir, nil, "version", "-m", "app")), "\n") {
		f := strings.Fields(line)
		if len(f) > 1 && f[0] == "dep" && f[1] != module {
			linked = append(linked, f[1])
		}
	}
	if len(linked) == 0 || len(linked) > 6 {
		t.Errorf("links %d modules, want 1 to 6: %v", len(linked), linked)
	}
	sum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	n := strings.Count(string(sum), "\n")
	if n > 30 {
		t.Errorf("go.sum has %d lines, want at most 30:\n%s", n, sum)
	}
	t.Logf("an importer of pool links %d modules and has %d lines of go.sum", len(linked), n)
}
