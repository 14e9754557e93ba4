package clustertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rcctl/rcctl/clustertest/internal/proxy"
)

// Processes runs each node as a redis-server or valkey-server process of
// version 7 or newer.
//
// The nodes are children of this process and end with it, however it ends: on
// Linux the kernel sees to it, elsewhere on Unix a small shell process. A
// cluster takes a loopback address of its own on Linux; where only 127.0.0.1
// exists, or with Options.Port, it takes ports of 127.0.0.1. Every node proves
// by node id and process id that it is the one that was started before
// anything is changed on it.
//
// Nodes keep nothing on disk unless Options.Config asks for it, so a master
// that is killed and started again before a replica took over is empty.
type Processes struct {
	// Path is the server binary. Empty means redis-server, else
	// valkey-server, from PATH.
	Path string
	// Proxy puts a proxy in front of each node, whose port the node
	// announces: clients, replicas and MIGRATE go through it. Faults need it;
	// it costs throughput.
	Proxy bool
}

// Name implements [Backend].
func (Processes) Name() string { return "processes" }

// Caps implements [Backend].
func (p Processes) Caps() Caps {
	return Caps{Real: true, Faults: p.Proxy, ShardedPubSub: true, Tracking: true}
}

// Launch tries so often, each time at another place: a port that was free may
// be taken by the time the server binds it, and a machine may be too busy for
// the nodes to find each other in time.
const (
	launchAttempts = 3
	launchTimeout  = 20 * time.Second
)

// Launch implements [Backend]. The error matches [ErrNoServer] when there is
// no server binary; otherwise it quotes the log of the node that failed, and
// the logs are kept.
func (p Processes) Launch(ctx context.Context, o Options) (Instance, error) {
	path, err := p.find()
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		attemptCtx, cancel := context.WithTimeout(ctx, launchTimeout)
		inst, err := p.launch(attemptCtx, path, o)
		cancel()
		if err == nil {
			return inst, nil
		}
		again := attemptCtx.Err() == context.DeadlineExceeded || errors.Is(err, errPortTaken) && o.Port == 0
		if !again || attempt == launchAttempts || ctx.Err() != nil {
			return nil, err
		}
	}
}

// find returns the server binary.
func (p Processes) find() (string, error) {
	names := []string{"redis-server", "valkey-server"}
	if p.Path != "" {
		names = []string{p.Path}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	if p.Path != "" {
		return "", fmt.Errorf("Processes.Path is %q: %w there", p.Path, ErrNoServer)
	}
	return "", fmt.Errorf("%w on PATH: install one, set Processes.Path, or use Embedded", ErrNoServer)
}

// launch makes one attempt.
func (p Processes) launch(ctx context.Context, path string, o Options) (_ *processes, err error) {
	place, err := findPlace(ctx, o, p.Proxy)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "clustertest-")
	if err != nil {
		return nil, err
	}
	inst := &processes{dir: dir, host: place.host}
	defer func() {
		if err != nil {
			// The logs stay only if there is something to read in them.
			if inst.hasLogs() && !errors.Is(err, context.Canceled) && !errors.Is(err, errPortTaken) {
				err = fmt.Errorf("%w (logs: %s)", err, inst.keepLogs())
			}
			err = errors.Join(err, inst.Close())
		}
	}()
	if inst.guard, err = startGuard(dir); err != nil {
		return nil, err
	}
	inst.spawner = newSpawner()
	shardIDs, err := hasShardIDs(ctx, path)
	if err != nil {
		return nil, err
	}
	for i := range o.nodes() {
		s, err := newProcess(inst, path, place, i, o)
		if err != nil {
			return nil, err
		}
		s.shardIDs = shardIDs
		inst.servers = append(inst.servers, s)
	}
	return inst, inst.form(ctx, o)
}

// hasShardIDs asks the server for its version: shard ids came with 7.2.
func hasShardIDs(ctx context.Context, path string) (bool, error) {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return false, fmt.Errorf("%s --version: %w", path, err)
	}
	_, version, _ := strings.Cut(string(out), " v=")
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil || major < 7 {
		return false, fmt.Errorf("%s is no server of version 7 or newer: it says %q", path, strings.TrimSpace(string(out)))
	}
	return major > 7 || minor >= 2, nil
}

// processes is a running cluster of processes.
type processes struct {
	dir     string
	host    string
	servers []*process
	spawner *spawner
	guard   *guard
	// replicas whose replication stands still.
	replicas proxy.Replicas

	mu     sync.Mutex // guards what follows
	keep   bool
	closed bool
}

// Servers implements [Instance].
func (inst *processes) Servers() []Server {
	servers := make([]Server, len(inst.servers))
	for i, s := range inst.servers {
		servers[i] = s
	}
	return servers
}

// Dial implements [Instance].
func (inst *processes) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// hasLogs reports whether a server was started.
func (inst *processes) hasLogs() bool {
	logs, err := filepath.Glob(filepath.Join(inst.dir, "*.log"))
	return err == nil && len(logs) > 0
}

// keepLogs implements logKeeper.
func (inst *processes) keepLogs() string {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	inst.keep = true
	return inst.dir
}

// Close implements [Instance].
func (inst *processes) Close() error {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	if inst.closed {
		return nil
	}
	inst.closed = true
	var wg sync.WaitGroup
	errs := make([]error, len(inst.servers))
	for i, s := range inst.servers {
		wg.Go(func() { errs[i] = s.close() })
	}
	wg.Wait()
	if inst.spawner != nil {
		inst.spawner.close()
	}
	err := errors.Join(errs...)
	if inst.keep {
		err = errors.Join(err, removeAllBut(inst.dir, ".log"))
	} else {
		err = errors.Join(err, os.RemoveAll(inst.dir))
	}
	if inst.guard != nil {
		inst.guard.close()
	}
	return err
}

// removeAllBut empties a folder except for files of one extension, without
// going into subfolders for them.
func removeAllBut(dir, ext string) error {
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ext {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
