package doctor

import (
	"fmt"
	"io"
	"strings"
)

// families name the letters of check ids.
var families = []struct{ letter, title string }{
	{"H", "Memory, CPU, time"},
	{"L", "Limits and processes"},
	{"T", "TCP and sockets"},
	{"K", "Containers and orchestration"},
	{"S", "Server configuration"},
	{"C", "Cluster health"},
	{"X", "From the client's point of view"},
}

// WriteCatalogue writes all checks as the page docs/checks.md.
func WriteCatalogue(w io.Writer) error {
	t := &textWriter{w: w}
	t.line("# The checks of rcctl doctor")
	t.line("")
	t.line("Generated from the checks themselves; `go test ./internal/doctor -update` writes it anew.")
	t.line("")
	t.line("A check whose value cannot be read is skipped with the reason, never ok. The severity is the worst that a check can say.")
	t.line("`rcctl doctor explain RC-T08` shows one check, `rcctl doctor --only T08,C02` runs some.")
	for _, fam := range families {
		var in []*Check
		for _, c := range Checks() {
			if strings.HasPrefix(c.ID, fam.letter) {
				in = append(in, c)
			}
		}
		if len(in) == 0 {
			continue
		}
		t.line("")
		t.line("## %s", fam.title)
		for _, c := range in {
			t.line("")
			t.line("### RC-%s: %s", c.ID, c.Title)
			t.line("")
			t.line("* Severity: %s. Needs: %s.", c.Severity, c.Needs)
			t.line("* Why: %s.", strings.TrimSuffix(c.Why, "."))
			t.line("* Fix: %s.", strings.TrimSuffix(c.Fix, "."))
			if c.Verify != "" {
				t.line("* Verify: `%s`", c.Verify)
			}
		}
	}
	return t.err
}

// Explain writes one check for people.
func (c *Check) Explain(w io.Writer, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	t := &textWriter{w: w, o: o}
	t.line("RC-%s  %s", c.ID, c.Title)
	t.para("", "severity", string(c.Severity))
	t.para("", "needs", c.Needs.String())
	t.para("", "why", c.Why)
	t.para("", "fix", c.Fix)
	t.para("", "verify", c.Verify)
	return t.err
}

// CheckInfo is a check as machines see it.
type CheckInfo struct {
	ID       string  `json:"id"`
	Title    string  `json:"title"`
	Severity Outcome `json:"severity"`
	Needs    string  `json:"needs"`
	Why      string  `json:"why"`
	Fix      string  `json:"fix"`
	Verify   string  `json:"verify"`
}

// Info describes a check.
func (c *Check) Info() CheckInfo {
	return CheckInfo{c.ID, c.Title, c.Severity, c.Needs.String(), c.Why, c.Fix, c.Verify}
}

// WriteList writes a line for each check.
func WriteList(w io.Writer) error {
	for _, c := range Checks() {
		if _, err := fmt.Fprintf(w, "RC-%s  %-4s  %s\n", c.ID, c.Severity, c.Title); err != nil {
			return err
		}
	}
	return nil
}
