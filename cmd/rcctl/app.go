package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// app is what every command needs of the world outside, so that tests can run
// commands without a process.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

// Exit codes, the same for every command and every output format.
const (
	exitOK       = 0 // done; nothing that fails
	exitFindings = 1 // done; findings, errors or assertions that fail
	exitUsage    = 2 // the command line is wrong
	exitUnknown  = 3 // could not be done: no connection, wrong password ...
)

// exitError ends the program with a code. A nil err prints nothing: the
// command's own output has said it all.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError is an error of the command line: exit code 2.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// run executes one command line and returns the exit code. Errors that do not
// say otherwise mean that the command could not do its work.
func (a *app) run(ctx context.Context, args []string) int {
	root := newRootCmd(a)
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	var ee *exitError
	if !errors.As(err, &ee) {
		ee = &exitError{exitUnknown, err}
	}
	if ee.err != nil {
		fmt.Fprintf(a.stderr, "rcctl: %s\n", oneLine(ee.err.Error()))
		if ee.code == exitUsage {
			fmt.Fprintf(a.stderr, "Run '%s --help' for the usage.\n", cmd.CommandPath())
		}
	}
	return ee.code
}

// oneLine joins the lines of joined errors, so that an error stays one line.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// argsCheck makes the errors of a cobra argument check usage errors.
func argsCheck(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &exitError{exitUsage, err}
		}
		return nil
	}
}
