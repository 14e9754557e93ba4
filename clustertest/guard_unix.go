//go:build unix

package clustertest

import (
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// A guard is a small shell process that outlives this one when it ends without
// closing the cluster (a panic, Ctrl-C, kill -9): it then ends the nodes that
// are left and removes their folder.
type guard struct {
	cmd *exec.Cmd

	mu sync.Mutex // guards in
	in io.WriteCloser
}

// guardScript reads "+pid" and "-pid" until the pipe from this process closes.
// A last line "bye" means that the cluster was closed in order. $0 is the
// folder, $1 says whether to kill: where the kernel does that, a process id
// that was used again is safe.
const guardScript = `PATH=$PATH:/usr/bin:/bin
alive=
while read -r line; do
	case $line in
	bye) exit 0 ;;
	+*) alive="$alive ${line#+} " ;;
	-*) alive=$(echo "$alive" | sed "s/ ${line#-} / /") ;;
	esac
done
if [ "$1" = kill ]; then
	for pid in $alive; do kill -9 "$pid"; done
fi
for i in 1 2 3 4 5 6 7 8 9 10; do
	rm -rf "$0" && exit
	sleep 0.1 || sleep 1
done
`

func startGuard(dir string) (*guard, error) {
	how := "kill"
	if runtime.GOOS == "linux" {
		how = "leave"
	}
	cmd := exec.Command("/bin/sh", "-c", guardScript, dir, how)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	return &guard{cmd: cmd, in: in}, nil
}

func (g *guard) add(pid int)    { g.tell(fmt.Sprintf("+%d", pid)) }
func (g *guard) remove(pid int) { g.tell(fmt.Sprintf("-%d", pid)) }

func (g *guard) tell(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = fmt.Fprintln(g.in, line) // without a guard the cluster still works
}

// close ends the guard. The nodes must have ended.
func (g *guard) close() {
	g.tell("bye")
	_ = g.in.Close()
	_ = g.cmd.Wait()
}
