package clustertest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// A spawner starts processes that the kernel kills when this process ends. The
// kernel ties that to the thread that started them, so one thread starts them
// all and lives until close.
type spawner struct {
	jobs chan func()
	done chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

// start starts cmd in a process group of its own, so that Ctrl-C reaches this
// process alone, which then stops the nodes in its own order.
func (s *spawner) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	err := make(chan error)
	s.jobs <- func() { err <- cmd.Start() }
	return <-err
}

// close ends the thread. The processes must have ended.
func (s *spawner) close() {
	close(s.jobs)
	<-s.done
}
