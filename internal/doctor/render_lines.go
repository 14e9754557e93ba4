package doctor

import (
	"fmt"
	"io"
	"strings"
)

// WriteShort writes one line per finding that is not ok or skipped, and one
// with the numbers.
func WriteShort(w io.Writer, r Report) error {
	t := &textWriter{w: w}
	for _, f := range r.Findings {
		if f.Outcome == OK || f.Outcome == Skipped {
			continue
		}
		t.line("%-4s RC-%s [%s] %s: %s", word(f.Outcome), f.ID, f.Scope, f.Subject, required(f))
	}
	s := r.Summary
	t.line("%d fail, %d warn, %d info, %d ok, %d skipped, %d broken", s.Fail, s.Warn, s.Info, s.OK, s.Skipped, s.Broken)
	if r.Error != "" {
		t.line("not checked: %s", r.Error)
	}
	return t.err
}

// required is "current -> required", or the reason.
func required(f Finding) string {
	switch {
	case f.Reason != "":
		return f.Reason
	case f.Required != "" && f.Current != "":
		return f.Current + " -> " + f.Required
	}
	return f.Current
}

// WriteProm writes metrics for the textfile collector of node_exporter. There
// is no label with a subject: those come and go.
func WriteProm(w io.Writer, r Report) error {
	t := &textWriter{w: w}
	t.line("# HELP rcctl_doctor_check_worst The worst outcome of a check: 0 ok, 1 info, 2 warn, 3 fail, -1 skipped, -2 broken.")
	t.line("# TYPE rcctl_doctor_check_worst gauge")
	value := map[Outcome]int{OK: 0, Info: 1, Warn: 2, Fail: 3, Skipped: -1, Broken: -2}
	done := map[string]bool{}
	for _, f := range r.Findings { // the worst of a check comes first
		if !done[f.ID] {
			done[f.ID] = true
			t.line(`rcctl_doctor_check_worst{id="%s",severity="%s"} %d`, f.ID, f.Severity, value[f.Outcome])
		}
	}
	t.line("# HELP rcctl_doctor_findings Findings by outcome.")
	t.line("# TYPE rcctl_doctor_findings gauge")
	s := r.Summary
	for _, c := range []struct {
		o Outcome
		n int
	}{{Fail, s.Fail}, {Warn, s.Warn}, {Info, s.Info}, {OK, s.OK}, {Skipped, s.Skipped}, {Broken, s.Broken}} {
		t.line(`rcctl_doctor_findings{outcome="%s"} %d`, c.o, c.n)
	}
	checked := 1
	if r.Error != "" {
		checked = 0
	}
	t.line("# HELP rcctl_doctor_checked Whether everything asked for could be checked.")
	t.line("# TYPE rcctl_doctor_checked gauge")
	t.line("rcctl_doctor_checked %d", checked)
	t.line("# HELP rcctl_doctor_timestamp_seconds When the snapshot was taken.")
	t.line("# TYPE rcctl_doctor_timestamp_seconds gauge")
	t.line("rcctl_doctor_timestamp_seconds %d", r.Time.Unix())
	return t.err
}

// WriteNagios writes the one line of a Nagios plugin with its performance
// data, then a line per finding.
func WriteNagios(w io.Writer, r Report, strict bool) error {
	t := &textWriter{w: w}
	s := r.Summary
	state := [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[r.NagiosCode(strict)]
	text := fmt.Sprintf("%d fail, %d warn, %d skipped", s.Fail, s.Warn, s.Skipped)
	if r.Error != "" {
		text = r.Error
	} else if len(r.Findings) > 0 && (r.Findings[0].Outcome == Fail || r.Findings[0].Outcome == Warn) {
		f := r.Findings[0]
		text += fmt.Sprintf(": RC-%s %s: %s", f.ID, f.Subject, f.Current)
	}
	t.line("RCCTL %s - %s | fail=%d warn=%d info=%d ok=%d skipped=%d broken=%d", state, strings.ReplaceAll(text, "|", "/"),
		s.Fail, s.Warn, s.Info, s.OK, s.Skipped, s.Broken)
	for _, f := range r.Findings {
		if f.Outcome == Fail || f.Outcome == Warn || f.Outcome == Broken {
			t.line("%s", strings.ReplaceAll(fmt.Sprintf("%s RC-%s %s: %s", word(f.Outcome), f.ID, f.Subject, required(f)), "|", "/"))
		}
	}
	return t.err
}

// NagiosCode is the exit code of a Nagios plugin: 0 ok, 1 warning, 2
// critical, 3 unknown.
func (r Report) NagiosCode(strict bool) int {
	switch code := r.ExitCode(strict); {
	case code == 3:
		return 3
	case code == 1:
		return 2
	case r.Summary.Warn > 0:
		return 1
	}
	return 0
}
