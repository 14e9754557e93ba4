package pool_test

import (
	"os/exec"
	"syscall"
)

// dieWithParent ends the process also when the tests end without cleaning up.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
