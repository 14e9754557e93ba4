//go:build !linux

package sysctl

import (
	"errors"
	"runtime"
)

var errNotHere = errors.New("cannot be read on " + runtime.GOOS)

func inNetNS(string, int, func()) error { return errNotHere }

func inetDiag() ([]socket, error) { return nil, errNotHere }
