package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// auditModule writes a module without requirements: the rules need no go-redis
// to say that there is nothing to find.
func auditModule(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.org/app\n\ngo 1.24\n", "app.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func runAuditCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	code = (&app{stdin: strings.NewReader(""), stdout: &out, stderr: &talk, getenv: func(string) string { return "" }}).
		run(t.Context(), append([]string{"audit"}, args...))
	return code, out.String(), talk.String()
}

func TestAuditExitCodesTellFindingsFromUsageFromNothingLoaded(t *testing.T) {
	clean := auditModule(t, "package app\n")
	for _, c := range []struct {
		name string
		args []string
		code int
		out  string
		talk string
	}{
		{"no findings", []string{"-C", clean}, exitOK, "0 findings and 0 for information in 1 package", ""},
		{"findings", []string{"-C", "../..", "./bench", "--rule", "nakedlock"}, exitFindings, "[nakedlock]", ""},
		{"unknown rule", []string{"-C", clean, "--rule", "nosuch"}, exitUsage, "", `--rule: no rule "nosuch"`},
		{"unknown format", []string{"-C", clean, "-o", "xml"}, exitUsage, "", "xml"},
		{"no such package", []string{"-C", clean, "./nothing"}, exitUnknown, "", "load packages"},
		{"no such folder", []string{"-C", filepath.Join(clean, "nothing")}, exitUnknown, "", "load packages"},
		{"the list", []string{"--list"}, exitOK, "unlockedfill", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, talk := runAuditCommand(t, c.args...)
			if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(talk, c.talk) {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, c.code, out, talk)
			}
		})
	}
}

func TestAuditJSONIsOneObjectOnStdout(t *testing.T) {
	code, out, talk := runAuditCommand(t, "-C", auditModule(t, "package app\n"), "-o", "json")
	var got struct {
		Schema   string
		Findings []any
		Packages int
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || got.Schema != "rcctl.audit.v1" || got.Findings == nil || got.Packages != 1 {
		t.Errorf("exit code %d, %v, %+v, stderr %s", code, err, got, talk)
	}
}
