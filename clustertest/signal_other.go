//go:build !unix

package clustertest

import (
	"fmt"
	"os"
	"runtime"
)

func pauseProcess(*os.Process) error {
	return fmt.Errorf("pause a process on %s: %w", runtime.GOOS, ErrNotSupported)
}

func resumeProcess(*os.Process) error { return nil }

func terminateProcess(p *os.Process) error { return p.Kill() }
