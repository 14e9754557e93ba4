// Package audittest runs the cases of one rule of package audit: offline, with
// small stand-ins for go-redis and the web frameworks under their real import
// paths.
package audittest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// Least is how many cases of each kind a rule has at least.
const Least = 6

var negative = regexp.MustCompile(`(?m)^func (\([^)]*\) )?ok[A-Z_]`)

// Run applies a rule to all packages below testdata/src of the calling test.
// Lines with a want comment must be reported and no others. Functions named
// okSomething are the cases that must stay silent; there must be six of each.
func Run(t *testing.T, a *analysis.Analyzer) {
	t.Helper()
	dir, pkgs := tree(t)
	positives, negatives := count(t)
	if positives < Least || negatives < Least {
		t.Errorf("%s has %d positive and %d negative cases, want at least %d of each", a.Name, positives, negatives, Least)
	}
	for _, r := range analysistest.Run(t, dir, a, pkgs...) {
		for _, err := range r.Action.Package.Errors {
			t.Errorf("a case does not compile: %v", err)
		}
	}
}

// RunWithFixes is Run, and compares the files after the suggested changes with
// their .golden neighbours.
func RunWithFixes(t *testing.T, a *analysis.Analyzer, pkgs ...string) {
	t.Helper()
	dir, _ := tree(t)
	analysistest.RunWithSuggestedFixes(t, dir, a, pkgs...)
}

func count(t *testing.T) (positives, negatives int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("testdata", "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		positives += strings.Count(string(text), "// want ")
		negatives += len(negative.FindAll(text, -1))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return positives, negatives
}

// GOPATH makes a folder with the stand-ins and the packages of others, and the
// environment in which the go command sees them and nothing else.
func GOPATH(t *testing.T, others ...string) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	_, file, _, _ := runtime.Caller(0)
	for _, from := range append([]string{filepath.Join(filepath.Dir(file), "testdata", "stubs")}, others...) {
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, append(os.Environ(), "GOPATH="+dir, "GO111MODULE=off", "GOWORK=off", "GOFLAGS=", "GOPROXY=off")
}

// tree makes a GOPATH of the stand-ins and the rule's own testdata.
func tree(t *testing.T) (dir string, pkgs []string) {
	t.Helper()
	dir, _ = GOPATH(t, "testdata")
	entries, err := os.ReadDir(filepath.Join("testdata", "src"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pkgs = append(pkgs, e.Name())
	}
	return dir, pkgs
}
