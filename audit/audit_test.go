package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rcctl/rcctl/audit"
	"github.com/rcctl/rcctl/audit/internal/audittest"
)

func runOn(t *testing.T, from string, o audit.Options) (*audit.Result, string) {
	t.Helper()
	dir, env := audittest.GOPATH(t, from)
	o.Dir, o.Env = filepath.Join(dir, "src"), env
	res, err := audit.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return res, o.Dir
}

func places(res *audit.Result) []string {
	var out []string
	for _, f := range res.Findings {
		out = append(out, f.File+" "+f.Rule)
	}
	return out
}

func TestTextShowsThePlaceTheLineAndWhatBelongsToIt(t *testing.T) {
	res, _ := runOn(t, "nakedlock/testdata", audit.Options{Patterns: []string{"./bad"}})
	var out bytes.Buffer
	if err := res.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"bad/bad.go:11:13: this SETNX lock is released by a plain DEL",
		"[nakedlock]\n    11 | \tok, err := rdb.SetNX(ctx,",
		"\n       | \t           ^^^^",
		"    bad/bad.go:15:8: released here",
		"1 finding and 0 for information in 1 package (",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the text does not contain %q:\n%s", want, out.String())
		}
	}
}

func TestJSONAndSARIFCarryTheSameFindings(t *testing.T) {
	res, _ := runOn(t, "nakedlock/testdata", audit.Options{Patterns: []string{"./bad", "./cases"}})
	var asJSON, asSARIF bytes.Buffer
	if err := errors.Join(res.WriteJSON(&asJSON), res.WriteSARIF(&asSARIF)); err != nil {
		t.Fatal(err)
	}
	var j struct {
		Schema   string
		Findings []struct {
			Rule, File string
			Line       int
		}
	}
	var s struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI, URIBaseID string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := errors.Join(json.Unmarshal(asJSON.Bytes(), &j), json.Unmarshal(asSARIF.Bytes(), &s)); err != nil {
		t.Fatal(err)
	}
	if j.Schema != "rcctl.audit.v1" || s.Version != "2.1.0" || len(s.Runs) != 1 || len(j.Findings) < 7 || len(j.Findings) != len(s.Runs[0].Results) {
		t.Fatalf("schema %q with %d findings, SARIF %q with %d runs", j.Schema, len(j.Findings), s.Version, len(s.Runs))
	}
	for i, r := range s.Runs[0].Results {
		f, loc := j.Findings[i], r.Locations[0].PhysicalLocation
		if r.RuleID != f.Rule || loc.ArtifactLocation.URI != f.File || loc.ArtifactLocation.URIBaseID != "%SRCROOT%" ||
			loc.Region.StartLine != f.Line || s.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID != f.Rule {
			t.Errorf("result %d is %+v, in JSON %+v", i, r, f)
		}
	}
}

func TestCodeThatDoesNotCompileIsLookedAtAsFarAsItGoes(t *testing.T) {
	res, _ := runOn(t, "testdata/broken", audit.Options{Patterns: []string{"./broken", "./fine"}})
	if got, want := places(res), []string{"broken/broken.go allnodes", "fine/fine.go allnodes"}; !slices.Equal(got, want) {
		t.Errorf("findings %v, want %v", got, want)
	}
	if len(res.Skipped) != 1 || res.Skipped[0].Package != "broken" || !strings.Contains(res.Skipped[0].Reason, "example.org/missing") {
		t.Errorf("skipped %+v, want the broken package with its first error", res.Skipped)
	}
}

func TestAHelperIsOneFindingAndEveryCallerOneMore(t *testing.T) {
	res, _ := runOn(t, "unlockedfill/testdata", audit.Options{Patterns: []string{"./elsewhere", "./helper"}, Rules: []string{"unlockedfill"}})
	var helper, callers, abroad int
	for _, f := range res.Findings {
		switch {
		case strings.HasPrefix(f.Message, "helper Cached"):
			helper++
			if len(f.Related) != 2+14 {
				t.Errorf("the helper's finding lists %d places, want the read, the load and 14 callers", len(f.Related))
			}
		case f.Package == "elsewhere":
			abroad++
		case strings.Contains(f.Message, "by Cached"):
			callers++
		}
	}
	if helper != 1 || callers != 14 || abroad != 1 {
		t.Errorf("%d helpers, %d callers, %d in another package; want 1, 14, 1", helper, callers, abroad)
	}
}

func TestFixChangesTheFileSoThatTheFindingIsGone(t *testing.T) {
	dir, env := audittest.GOPATH(t, "noclose/testdata")
	o := audit.Options{Dir: filepath.Join(dir, "src"), Env: env, Patterns: []string{"./bad"}}
	res, err := audit.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	files, fixed, err := res.Fix()
	if err != nil || fixed != 1 || len(files) != 1 {
		t.Fatalf("fixed %d in %v: %v", fixed, files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil || !strings.Contains(string(text), "\tdefer sub.Close()") {
		t.Errorf("the file is now (%v):\n%s", err, text)
	}
	if res, err = audit.Run(t.Context(), o); err != nil || len(res.Findings) != 0 {
		t.Errorf("after the fix: %v, %v", places(res), err)
	}
}

func TestNothingToLookAtIsALoadErrorAndAnUnknownRuleIsNamed(t *testing.T) {
	dir, env := audittest.GOPATH(t)
	_, err := audit.Run(t.Context(), audit.Options{Dir: dir, Env: env, Patterns: []string{"./nothing/here"}})
	var load *audit.LoadError
	if !errors.As(err, &load) {
		t.Errorf("no such package: %v, want a LoadError", err)
	}
	_, err = audit.Run(t.Context(), audit.Options{Rules: []string{"nosuch"}})
	var unknown *audit.UnknownRuleError
	if !errors.As(err, &unknown) || !strings.Contains(err.Error(), `"nosuch"`) || !strings.Contains(err.Error(), "unlockedfill") {
		t.Errorf("unknown rule: %v", err)
	}
}

func TestGoVetRunsTheSameRules(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "rcctl-vet")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", tool, "./rcctl-vet").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	dir, env := audittest.GOPATH(t, "unlockedfill/testdata")
	cmd := exec.CommandContext(t.Context(), "go", "vet", "-vettool="+tool, "./elsewhere", "./good")
	cmd.Dir, cmd.Env = filepath.Join(dir, "src"), env
	out, err := cmd.CombinedOutput()
	if err == nil || strings.Count(string(out), "by Cached (helper.go:") != 1 {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}
