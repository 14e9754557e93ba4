//go:build unix

package clustertest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rcctl/rcctl/clustertest"
)

// TestChildOfTheTestsBelow is no test: it is the program that they start.
func TestChildOfTheTestsBelow(t *testing.T) {
	end := os.Getenv("CLUSTERTEST_CHILD")
	if end == "" {
		return
	}
	c, err := clustertest.Start(context.Background(), clustertest.Options{
		Backend: clustertest.Processes{Proxy: true}, Replicas: 1,
	})
	must(t, err)
	must(t, c.Nodes()[1].Pause()) // a stopped process must end too
	for _, n := range c.Nodes() {
		if !n.Alive() {
			t.Fatal("a node is dead")
		}
	}
	for _, n := range c.Nodes() {
		if n != c.Nodes()[1] {
			info, err := n.Client().Info(context.Background(), "server").Result()
			must(t, err)
			for line := range strings.Lines(info) {
				if pid, ok := strings.CutPrefix(line, "process_id:"); ok {
					fmt.Println("pid", strings.TrimSpace(pid))
				}
			}
		}
	}
	fmt.Println("ready")
	switch end {
	case "panic":
		panic("the end")
	case "exit":
		os.Exit(3)
	}
	select {} // until it is killed
}

func TestNothingIsLeftHoweverTheProcessEnds(t *testing.T) {
	must(t, realCluster(t, 0).Close()) // skips without a server
	for end, signal := range map[string]syscall.Signal{
		"kill -9": syscall.SIGKILL, "Ctrl-C": syscall.SIGINT, "terminate": syscall.SIGTERM, "panic": 0, "exit": 0,
	} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			child := exec.Command(os.Args[0], "-test.run=^TestChildOfTheTestsBelow$")
			child.Env = append(os.Environ(), "CLUSTERTEST_CHILD="+end, "TMPDIR="+tmp)
			child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := child.StdoutPipe()
			must(t, err)
			must(t, child.Start())
			var pids []int
			lines := bufio.NewScanner(out)
			for lines.Scan() && lines.Text() != "ready" {
				if pid, ok := strings.CutPrefix(lines.Text(), "pid "); ok {
					n, err := strconv.Atoi(pid)
					must(t, err)
					pids = append(pids, n)
				}
			}
			if len(pids) != 5 {
				t.Fatalf("the child has the nodes %v", pids)
			}
			if signal != 0 { // Ctrl-C goes to the whole process group
				must(t, syscall.Kill(-child.Process.Pid, signal))
			}
			_ = child.Wait() // it ends with an error, as it should
			eventually(t, func() error {
				for _, pid := range pids {
					if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
						return fmt.Errorf("node %d is still there: %v", pid, err)
					}
				}
				left, err := os.ReadDir(tmp)
				if err != nil || len(left) > 0 {
					return fmt.Errorf("left behind: %v, %v", left, err)
				}
				return nil
			})
		})
	}
}

func TestNoGoroutineIsLeftAfterClose(t *testing.T) {
	for _, b := range allBackends {
		before := goleak.IgnoreCurrent()
		c, err := clustertest.Start(t.Context(), clustertest.Options{Backend: b, Replicas: 1})
		if errors.Is(err, clustertest.ErrNoServer) {
			continue
		}
		must(t, err)
		must(t, c.Client().Set(t.Context(), "key", "value", 0).Err())
		must(t, c.Nodes()[0].Pause())
		must(t, c.Nodes()[1].Kill())
		must(t, c.Close())
		if err := goleak.Find(before); err != nil {
			t.Errorf("%+v: %v", b, err)
		}
	}
}

func TestTwoClustersNeverMeet(t *testing.T) {
	a := realCluster(t, 1)
	b := realCluster(t, 1)
	ctx := t.Context()
	must(t, a.Client().Set(ctx, "key", "a", 0).Err())
	must(t, b.Client().Set(ctx, "key", "b", 0).Err())
	must(t, a.Failover(ctx, a.Masters()[0].Replicas()[0]))
	must(t, b.Nodes()[1].Kill())
	must(t, b.Failover(ctx, b.Nodes()[4]))
	must(t, a.WaitReady(ctx))
	must(t, b.WaitReady(ctx))
	for _, c := range []*clustertest.Cluster{a, b} {
		ids := map[string]bool{}
		for _, n := range c.Nodes() {
			ids[n.ID()] = true
		}
		for _, n := range c.Nodes() {
			if !n.Alive() {
				continue
			}
			nodes, err := n.Client().ClusterNodes(ctx).Result()
			must(t, err)
			for line := range strings.Lines(nodes) {
				if id, _, _ := strings.Cut(line, " "); !ids[id] {
					t.Errorf("%v knows a stranger: %s", n, line)
				}
			}
		}
	}
	for want, c := range map[string]*clustertest.Cluster{"a": a, "b": b} {
		if got, err := c.Client().Get(ctx, "key").Result(); got != want || err != nil {
			t.Errorf("cluster %s has %q, %v", want, got, err)
		}
	}
}

func TestFixedPortsAreUsedOrNamed(t *testing.T) {
	const port = 17321
	for _, proxy := range []bool{false, true} {
		o := clustertest.Options{Backend: clustertest.Processes{Proxy: proxy}, Port: port}
		c := clustertest.Run(t, o)
		for i, addr := range c.Addrs() {
			if want := fmt.Sprintf("127.0.0.1:%d", port+i); addr != want {
				t.Errorf("node %d is at %s, not at %s", i, addr, want)
			}
		}
		_, err := clustertest.Start(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), strconv.Itoa(port)) {
			t.Errorf("with a port that is taken: %v", err)
		}
		must(t, c.Client().Set(t.Context(), "key", "value", 0).Err())
		must(t, c.Close())
	}
}

func TestLogsAreKeptWhenAStartFails(t *testing.T) {
	must(t, realCluster(t, 0).Close()) // skips without a server
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := clustertest.Start(ctx, clustertest.Options{
		Backend: clustertest.Processes{}, Config: map[string]string{"maxmemory": "a lot"},
	})
	if err == nil {
		t.Fatal("no error")
	}
	_, dir, found := strings.Cut(err.Error(), "(logs: ")
	dir, _, _ = strings.Cut(dir, ")")
	entries, readErr := os.ReadDir(dir)
	if !found || readErr != nil || len(entries) == 0 || !strings.Contains(err.Error(), "maxmemory") {
		t.Errorf("the error does not lead to the logs: %v, %v", err, readErr)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".log") {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}
