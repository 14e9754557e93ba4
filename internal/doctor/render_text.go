package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// TextOptions say how a report is written for people.
type TextOptions struct {
	// Color uses ANSI colours; the words say the same without them.
	Color bool
	// Width is the number of columns, 0 means 80.
	Width int
	// ASCII keeps to ASCII.
	ASCII bool
}

var ansi = map[Outcome]string{Fail: "\x1b[31;1m", Broken: "\x1b[35;1m", Warn: "\x1b[33;1m", Info: "\x1b[36m", OK: "\x1b[32m", Skipped: "\x1b[2m"}

// textWriter writes lines and keeps the first error.
type textWriter struct {
	w   io.Writer
	o   TextOptions
	err error
}

func (t *textWriter) line(format string, args ...any) {
	if t.err != nil {
		return
	}
	s := fmt.Sprintf(format, args...)
	if t.o.ASCII {
		s = strings.Map(func(r rune) rune {
			if r > 126 {
				return '?'
			}
			return r
		}, s)
	}
	_, t.err = fmt.Fprintln(t.w, strings.TrimRight(s, " "))
}

func (t *textWriter) paint(o Outcome, s string) string {
	if !t.o.Color {
		return s
	}
	return ansi[o] + s + "\x1b[0m"
}

// para writes text behind a label, wrapped and indented below itself.
func (t *textWriter) para(indent, label, text string) {
	if text == "" {
		return
	}
	first := fmt.Sprintf("%s%-9s ", indent, label)
	rest := strings.Repeat(" ", len(first))
	for i, l := range wrap(text, t.o.Width-len(first)) {
		if i == 0 {
			t.line("%s%s", first, l)
		} else {
			t.line("%s%s", rest, l)
		}
	}
}

// wrap breaks text at blanks; a longer word stays whole, so that commands and
// addresses can be copied.
func wrap(text string, width int) []string {
	var out []string
	line := ""
	for w := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = w
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > width:
			out = append(out, line)
			line = w
		default:
			line += " " + w
		}
	}
	return append(out, line)
}

// WriteText writes a report for people: what fails first, then warnings, then
// the settings that are always shown, then what was skipped and why.
func WriteText(w io.Writer, r Report, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	t := &textWriter{w: w, o: o}
	t.header(r)
	for _, f := range r.Findings {
		switch f.Outcome {
		case Fail, Warn, Broken, Info:
			t.finding(f)
		}
	}
	t.baseline(r)
	t.skipped(r)
	t.fine(r)
	s := r.Summary
	if s.Info > 0 {
		t.line("Why and what to do about INFO lines: rcctl doctor explain ID, or -o json")
	}
	t.line("%s, %s, %d info, %d ok, %d skipped, %d broken", t.paint(Fail, fmt.Sprintf("%d fail", s.Fail)),
		t.paint(Warn, fmt.Sprintf("%d warn", s.Warn)), s.Info, s.OK, s.Skipped, s.Broken)
	return t.err
}

func (t *textWriter) header(r Report) {
	what := "host " + firstOf(r.Host, "unknown")
	if len(r.Cluster) > 0 {
		what = fmt.Sprintf("cluster %s (%s), from %s", strings.Join(r.Cluster, ","), nodesText(r.Nodes), what)
	}
	for _, l := range wrap("rcctl doctor: "+what+", "+r.Time.UTC().Format("2006-01-02 15:04:05")+" UTC", t.o.Width) {
		t.line("%s", l)
	}
	t.line("")
}

func (t *textWriter) finding(f Finding) {
	const in = "      "
	for i, l := range wrap("expected: "+f.Title, t.o.Width-len("WARN  RC-T08  ")) {
		if i == 0 {
			t.line("%s  RC-%s  %s", t.paint(f.Outcome, fmt.Sprintf("%-4s", word(f.Outcome))), f.ID, l)
		} else {
			t.line("%s        %s", in, l)
		}
	}
	if f.Outcome == Info {
		t.note(in, f)
		return
	}
	t.para(in, "subject", f.Subject)
	current := f.Current
	if f.Required != "" && current != "" {
		current += " -> " + f.Required
	}
	t.para(in, "current", current)
	t.para(in, "scope", f.Scope)
	if f.Host != "" {
		t.para(in, "host", f.Host)
	}
	t.para(in, "reason", f.Reason)
	t.para(in, "why", f.Why)
	t.para(in, "fix", f.Fix)
	if f.Outcome == Fail || f.Outcome == Warn {
		t.para(in, "verify", f.Verify)
	}
	t.line("")
}

// note is a finding that nobody has to act on, in short.
func (t *textWriter) note(in string, f Finding) {
	subject := f.Subject
	if i := strings.IndexByte(subject, ','); i > 0 && len(subject) > 60 {
		subject = fmt.Sprintf("%s and %d more", subject[:i], strings.Count(subject, ","))
	}
	t.para(in, f.Scope, subject)
	t.para(in, "current", required(f))
	t.line("")
}

func word(o Outcome) string {
	switch o {
	case Skipped:
		return "SKIP"
	case Broken:
		return "BRKN"
	}
	return strings.ToUpper(string(o))
}

func (t *textWriter) baseline(r Report) {
	if len(r.Baseline) == 0 {
		return
	}
	t.line("Always shown (this host)       current        recommended  verdict")
	for _, b := range r.Baseline {
		current := b.Current
		if b.Verdict == "unreadable" {
			current = "unreadable"
		}
		current = strings.NewReplacer("soft ", "", "hard ", "", ", ", " / ").Replace(current)
		t.line("  %-28s %-14s %-12s %s (RC-%s)", b.Setting, current, b.Recommended, b.Verdict, b.Check)
		t.line("      %s", b.Note)
	}
	t.line("")
}

// skipped groups what could not be seen by the reason.
func (t *textWriter) skipped(r Report) {
	var reasons []string
	ids := map[string][]string{}
	for _, f := range r.Findings {
		if f.Outcome != Skipped {
			continue
		}
		if ids[f.Reason] == nil {
			reasons = append(reasons, f.Reason)
		}
		if !slices.Contains(ids[f.Reason], f.ID) {
			ids[f.Reason] = append(ids[f.Reason], f.ID)
		}
	}
	for _, reason := range reasons {
		t.para("", t.paint(Skipped, "skipped"), strings.Join(ids[reason], " ")+": "+reason)
	}
	if len(reasons) > 0 {
		t.line("")
	}
}

func (t *textWriter) fine(r Report) {
	var ids []string
	for _, f := range r.Findings {
		if f.Outcome == OK && !slices.Contains(ids, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	if len(ids) > 0 {
		t.para("", t.paint(OK, "ok"), strings.Join(ids, " "))
		t.line("")
	}
}
