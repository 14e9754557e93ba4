package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// WriteText writes the findings for people: place, message, the line itself,
// and the places that belong to it.
func (r *Result) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	src := sources{dir: r.dir, lines: map[string][]string{}}
	for i, f := range r.Findings {
		if i > 0 {
			fmt.Fprintln(b)
		}
		kind := ""
		if f.Information {
			kind = "information: "
		}
		fmt.Fprintf(b, "%s:%d:%d: %s%s [%s]\n", f.File, f.Line, f.Column, kind, f.Message, f.Rule)
		src.snippet(b, f.Place)
		for _, p := range f.Related {
			fmt.Fprintf(b, "    %s:%d:%d: %s\n", p.File, p.Line, p.Column, p.Message)
		}
		if f.Fixable {
			fmt.Fprintln(b, "    --fix can change this")
		}
	}
	if len(r.Findings) > 0 {
		fmt.Fprintln(b)
	}
	fmt.Fprintf(b, "%s and %d for information in %s (%s)\n", count(r.Failing(), "finding"), len(r.Findings)-r.Failing(), count(r.Packages, "package"), count(r.Lines, "line"))
	for _, s := range r.Skipped {
		fmt.Fprintf(b, "skipped: %s: %s\n", s.Package, s.Reason)
	}
	return b.Flush()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// sources reads files for snippets, each once.
type sources struct {
	dir   string
	lines map[string][]string
}

// snippet writes the line of a place with a marker below it. A file that
// cannot be read has none.
func (s sources) snippet(w io.Writer, p Place) {
	lines, ok := s.lines[p.File]
	if !ok {
		path := p.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.dir, path)
		}
		data, _ := os.ReadFile(path)
		lines = strings.Split(string(data), "\n")
		s.lines[p.File] = lines
	}
	if p.Line > len(lines) || p.Column < 1 || p.Column > len(lines[p.Line-1])+1 {
		return
	}
	line := strings.TrimRight(lines[p.Line-1], "\r")
	before := line[:min(p.Column-1, len(line))]
	width := len(line) - len(before)
	if p.EndLine == p.Line && p.EndColumn > p.Column {
		width = min(width, p.EndColumn-p.Column)
	}
	margin := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, before)
	fmt.Fprintf(w, "%6d | %s\n       | %s%s\n", p.Line, line, margin, strings.Repeat("^", max(width, 1)))
}

// WriteJSON writes the result as one JSON object, schema rcctl.audit.v1.
func (r *Result) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		Schema string `json:"schema"`
		*Result
	}{"rcctl.audit.v1", r})
}
