package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rcctl/rcctl/bench"
	"golang.org/x/term"
)

// A progressLine is one line on a terminal, rewritten every second; nothing
// where standard error is not a terminal.
type progressLine struct {
	w     io.Writer // nil: not a terminal
	shown bool
}

func newProgressLine(w io.Writer) *progressLine {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &progressLine{w: w}
	}
	return &progressLine{}
}

func (l *progressLine) show(p bench.Progress) { l.say(progressText(p)) }

func (l *progressLine) say(text string) {
	if l.w == nil {
		return
	}
	l.shown = true
	fmt.Fprintf(l.w, "\r\x1b[K%s", text)
}

func (l *progressLine) clear() {
	if l.shown {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}

func progressText(p bench.Progress) string {
	s := fmt.Sprintf("%s %.0f", p.Phase, p.Elapsed.Seconds())
	if p.Total > 0 {
		s += fmt.Sprintf("/%.0f", p.Total.Seconds())
	}
	s += fmt.Sprintf(" s  %.0f/s", p.Rate)
	if p.Phase == "preload" {
		return s
	}
	s += fmt.Sprintf("  p99 %s  errors %d", p.P99.Round(10*time.Microsecond), p.Errors)
	if p.Moved+p.Ask > 0 {
		s += fmt.Sprintf("  MOVED %d  ASK %d", p.Moved, p.Ask)
	}
	if p.Queue > 0 {
		s += fmt.Sprintf("  queue %d", p.Queue)
	}
	return s
}
