package sysctl

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// A Value is something read from the system, or the reason why it could not
// be read. The zero Value is a known, empty value.
type Value struct {
	Text   string `json:"value,omitempty"`
	Reason string `json:"unreadable,omitempty"`
}

// Known reports whether there is a value.
func (v Value) Known() bool { return v.Reason == "" }

// String is the value, or "unreadable: reason".
func (v Value) String() string {
	if !v.Known() {
		return "unreadable: " + v.Reason
	}
	return v.Text
}

// Int is the value as an integer. The error is the reason why there is none.
func (v Value) Int() (int64, error) {
	if !v.Known() {
		return 0, errors.New(v.Reason)
	}
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", v.Text)
	}
	return n, nil
}

// Ints are the numbers of a value that holds several, such as a port range.
func (v Value) Ints() ([]int64, error) {
	if !v.Known() {
		return nil, errors.New(v.Reason)
	}
	var out []int64
	for f := range strings.FieldsSeq(v.Text) {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q are not numbers", v.Text)
		}
		out = append(out, n)
	}
	return out, nil
}

// Settings are kernel settings by name ("net.core.somaxconn").
type Settings map[string]Value

// Get is a setting; one that was not read is unreadable.
func (s Settings) Get(name string) Value {
	v, ok := s[name]
	if !ok {
		return Value{Reason: name + " was not read"}
	}
	return v
}

// number is a known value.
func number[T ~int | ~int64 | ~uint64](n T) Value { return Value{Text: fmt.Sprint(n)} }

// unreadable explains why path could not be read, in words for a report.
func unreadable(path string, err error) Value { return Value{Reason: reason(path, err)} }

func reason(path string, err error) string {
	path = "/" + strings.TrimPrefix(path, "/")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path + " is absent"
	case errors.Is(err, fs.ErrPermission):
		return path + ": permission denied"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return path + ": " + err.Error()
}
