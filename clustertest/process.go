package clustertest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest/internal/engine"
	"github.com/rcctl/rcctl/clustertest/internal/proxy"
)

// A process is one node of [Processes]. It implements [Server].
type process struct {
	inst     *processes
	index    int
	id       string // as written into nodes.conf
	path     string
	dir      string
	log      string
	addr     string // where the server listens
	announce string // what it announces
	password string
	control  *redis.Client
	proxy    *proxy.Proxy // nil without Processes.Proxy
	shardIDs bool         // nodes.conf has them

	mu  sync.Mutex // held while the state of the process changes
	cmd *exec.Cmd
	// done is closed when the process ended. It is never nil once started.
	done   chan struct{}
	closed bool // nothing is started any more
}

func newProcess(inst *processes, path string, p place, i int, o Options) (*process, error) {
	name := strconv.Itoa(p.announced(i))
	s := &process{
		inst:     inst,
		index:    i,
		id:       newNodeID(),
		path:     path,
		dir:      filepath.Join(inst.dir, name),
		log:      filepath.Join(inst.dir, name+".log"),
		addr:     net.JoinHostPort(p.host, strconv.Itoa(p.data+i)),
		announce: net.JoinHostPort(p.host, strconv.Itoa(p.announced(i))),
		password: o.Config["requirepass"],
	}
	s.control = newNodeClient(s, s.password)
	if p.proxy != 0 {
		nodeHost := p.host
		if nodeHost == "127.0.0.1" {
			nodeHost = "" // clients come from there too
		}
		s.proxy = proxy.New(s.announce, s.addr, nodeHost, engine.KeysOf, &inst.replicas)
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, err
	}
	return s, os.WriteFile(s.confFile(), serverConf(o, p, i, s), 0o600)
}

// newNodeID makes a node id, which nobody else has.
func newNodeID() string {
	b := make([]byte, 20)
	rand.Read(b) // never fails, by its documentation
	return hex.EncodeToString(b)
}

func (s *process) confFile() string { return filepath.Join(s.dir, "redis.conf") }

// bus is the announced address with the bus port, as nodes.conf has it.
func (s *process) bus() string {
	_, port, _ := net.SplitHostPort(s.addr) // made by JoinHostPort
	data, _ := strconv.Atoi(port)
	return fmt.Sprintf("%s@%d", s.announce, data+busOffset)
}

// Addr implements [Server].
func (s *process) Addr() string { return s.announce }

// DialDirect implements [Server].
func (s *process) DialDirect(ctx context.Context) (net.Conn, error) {
	if !s.running() {
		return nil, fmt.Errorf("dial %s: the node is not running", s.addr)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", s.addr)
}

// running reports whether the process was started and has not ended.
func (s *process) running() bool {
	s.mu.Lock()
	done := s.done
	s.mu.Unlock()
	if done == nil {
		return false
	}
	select {
	case <-done:
		return false
	default:
		return true
	}
}

// launch starts the process with further arguments and returns when it
// answers and has proved to be ours.
func (s *process) launch(ctx context.Context, args ...string) error {
	if err := s.spawn(args); err != nil {
		return err
	}
	err := s.prove(ctx)
	if err == nil && s.proxy != nil {
		err = s.openProxy()
	}
	if err != nil {
		return errors.Join(err, s.Kill())
	}
	return nil
}

// openProxy lets clients in, unless the process has ended meanwhile.
func (s *process) openProxy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return s.died()
	default:
	}
	if err := s.proxy.Listen(); err != nil {
		return fmt.Errorf("proxy on %s: %w: %w", s.announce, errPortTaken, err)
	}
	return nil
}

func (s *process) spawn(args []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("the cluster is closed")
	}
	out, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	// The server writes its log itself; what it says before it has read its
	// configuration goes to the same file.
	cmd := exec.Command(s.path, append([]string{s.confFile()}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, out, out
	if err := s.inst.spawner.start(cmd); err != nil {
		return err
	}
	s.inst.guard.add(cmd.Process.Pid)
	done := make(chan struct{})
	s.cmd, s.done = cmd, done
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		s.inst.guard.remove(cmd.Process.Pid)
		close(done)
	}()
	return nil
}

// prove waits until the process answers and checks by process id and node id
// that what answers is the process that was started.
func (s *process) prove(ctx context.Context) error {
	s.mu.Lock()
	pid, done := s.cmd.Process.Pid, s.done
	s.mu.Unlock()
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		conn, err := s.DialDirect(ctx)
		if err == nil {
			_ = conn.Close()
			break
		}
		select {
		case <-done:
			return s.died()
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", s.addr, ctx.Err())
		case <-time.After(pause):
		}
	}
	var info, id *redis.Cmd
	for {
		_, err := s.control.Pipelined(ctx, func(p redis.Pipeliner) error {
			info, id = p.Do(ctx, "info", "server"), p.Do(ctx, "cluster", "myid")
			return nil
		})
		if err == nil {
			break
		}
		if !s.running() {
			return s.died()
		}
		if !redis.HasErrorPrefix(err, "LOADING") {
			return fmt.Errorf("%s: %w", s.addr, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is still loading: %w", s.addr, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
	text, _ := info.Text()
	if got := field(text, "process_id"); got != strconv.Itoa(pid) {
		return fmt.Errorf("%s is process %s, not the one started (%d): %w", s.addr, got, pid, errPortTaken)
	}
	if got, _ := id.Text(); got != s.id {
		return fmt.Errorf("%s has node id %s, not %s", s.addr, got, s.id)
	}
	return nil
}

// died says why the process ended by quoting the end of its log.
func (s *process) died() error {
	b, _ := os.ReadFile(s.log)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	lines = lines[max(0, len(lines)-8):]
	err := fmt.Errorf("%s ended at its start:\n%s", s.addr, strings.Join(lines, "\n"))
	if bytes.Contains(b, []byte("Address already in use")) || bytes.Contains(b, []byte("Failed listening")) {
		return fmt.Errorf("%w: %w", errPortTaken, err)
	}
	return err
}

// Kill implements [Server].
func (s *process) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kill()
}

// kill ends the process; mu is held.
func (s *process) kill() error {
	if s.cmd == nil {
		return nil
	}
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.done
	if s.proxy != nil {
		s.proxy.Stop()
	}
	return nil
}

// Stop implements [Server].
func (s *process) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return nil
	}
	err := errors.Join(resumeProcess(s.cmd.Process), terminateProcess(s.cmd.Process))
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.done:
		return s.kill() // ends what else belongs to it
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("killed, it did not stop: %w", ctx.Err()), s.kill())
	}
}

// Start implements [Server].
func (s *process) Start(ctx context.Context) error {
	if s.running() {
		return nil
	}
	return s.launch(ctx)
}

// Pause implements [Server].
func (s *process) Pause() error { return s.signal(pauseProcess) }

// Resume implements [Server].
func (s *process) Resume() error { return s.signal(resumeProcess) }

func (s *process) signal(send func(*os.Process) error) error {
	if !s.running() {
		return errors.New("the node is not running")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return send(s.cmd.Process)
}

// ResetConns implements [Server].
func (s *process) ResetConns() error {
	if s.proxy != nil {
		s.proxy.ResetClients()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	list, err := s.control.ClientList(ctx).Result()
	if err != nil {
		return err
	}
	_, err = s.control.Pipelined(ctx, func(p redis.Pipeliner) error {
		for line := range strings.Lines(list) {
			fields := strings.Fields(line)
			flags, name := clientField(fields, "flags="), clientField(fields, "name=")
			if name != controlName && !strings.ContainsAny(flags, "MS") { // nor masters and replicas
				p.ClientKillByFilter(ctx, "ID", clientField(fields, "id="))
			}
		}
		return nil
	})
	return err
}

func clientField(fields []string, prefix string) string {
	for _, f := range fields {
		if v, ok := strings.CutPrefix(f, prefix); ok {
			return v
		}
	}
	return ""
}

// close ends the process and what belongs to it.
func (s *process) close() error {
	s.mu.Lock()
	s.closed = true
	err := s.kill()
	s.mu.Unlock()
	return errors.Join(err, s.control.Close())
}
