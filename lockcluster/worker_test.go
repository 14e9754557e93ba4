package lockcluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/lockcluster"
	"github.com/redis/go-redis/v9"
)

// The processes of a herd are re-executions of the test binary.

const workerEnv = "LOCKCLUSTER_TEST_WORKER"

// job is what a worker process does.
type job struct {
	Addrs   []string
	Key     string
	Config  settings
	Callers int
	Load    time.Duration // how long its loader takes
	Value   string
	For     time.Duration // 0: each caller asks once; else all ask again and again
	Pause   time.Duration // between the calls of one caller
	Shift   time.Duration // how far its wall clock is off
}

// settings are the fields of a Config that jobs set.
type settings struct {
	Fresh, Stale, Jitter, Lease time.Duration
	Beta                        float64
	PlainValues                 bool
}

func (s settings) config() lockcluster.Config {
	return lockcluster.Config{Fresh: s.Fresh, Stale: s.Stale, Jitter: s.Jitter, Lease: s.Lease, Beta: s.Beta, PlainValues: s.PlainValues,
		StepBudget: time.Second} // machines that run tests are busy
}

// report is what came of it.
type report struct {
	Loads   int
	Gets    int // GET commands
	Others  int // other commands; handshakes, topology, SUBSCRIBE, PING and script loading apart
	Calls   int
	Waited  int // calls that waited for a load after the first answer of their caller
	Errors  []string
	Values  map[string]int
	Sources map[string]int
	Late    []time.Duration // answers since the epoch of the machine's monotonic clock
}

// commandCount is a node hook that counts what reaches the nodes.
type commandCount struct{ gets, others atomic.Int64 }

func (h *commandCount) count(cmd redis.Cmder) {
	switch cmd.Name() {
	case "get":
		h.gets.Add(1)
	case "hello", "client", "auth", "select", "readonly", "asking", "ping", "subscribe", "script", "cluster", "command", "info":
	case "evalsha":
		if !redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			h.others.Add(1)
		}
	default:
		h.others.Add(1)
	}
}

func (h *commandCount) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h *commandCount) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		h.count(cmd)
		return err
	}
}

func (h *commandCount) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			h.count(cmd)
		}
		return err
	}
}

// worker is main of a worker process: it says "ready", does its job after a
// line on standard input, says "loading" when its loader is called, and
// reports.
func worker() int {
	var j job
	if err := json.Unmarshal([]byte(os.Getenv(workerEnv)), &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if j.Shift != 0 {
		lockcluster.ShiftWallClock(j.Shift)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: j.Addrs, ContextTimeoutEnabled: true,
		ReadTimeout: time.Second, WriteTimeout: time.Second, DialTimeout: time.Second})
	counts := &commandCount{}
	client.OnNewNode(func(node *redis.Client) { node.AddHook(counts) })
	if err := client.ForEachMaster(context.Background(), func(ctx context.Context, c *redis.Client) error { return c.Ping(ctx).Err() }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cache, err := lockcluster.New(client, j.Config.config())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for !cache.Stats().Subscribed {
		<-time.After(time.Millisecond)
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return 0 // the parent is gone
	}
	r := j.run(cache)
	r.Gets, r.Others = int(counts.gets.Load()), int(counts.others.Load())
	_ = json.NewEncoder(os.Stdout).Encode(r)
	return 0
}

func (j job) run(cache *lockcluster.Cache) report {
	r := report{Values: map[string]int{}, Sources: map[string]int{}}
	var mu sync.Mutex
	var once sync.Once
	load := func(ctx context.Context, _ *lockcluster.Load) ([]byte, error) {
		mu.Lock()
		r.Loads++
		mu.Unlock()
		once.Do(func() { fmt.Println("loading") })
		select {
		case <-time.After(j.Load):
			return []byte(j.Value), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	end := time.Now().Add(j.For)
	var wg sync.WaitGroup
	for range j.Callers {
		wg.Go(func() {
			for first := true; first || time.Now().Before(end); first = false {
				res, err := cache.Get(context.Background(), j.Key, load)
				at := monotonic()
				mu.Lock()
				r.Calls++
				r.Sources[res.Source.String()]++
				if err != nil {
					r.Errors = append(r.Errors, err.Error())
				} else {
					r.Values[string(res.Value)]++
				}
				if !first && !res.Source.Hit() {
					r.Waited++
				}
				if j.For == 0 {
					r.Late = append(r.Late, at)
				}
				mu.Unlock()
				if j.For > 0 {
					<-time.After(j.Pause)
				}
			}
		})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	return r
}

// process is a running worker.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func startWorker(t *testing.T, cluster *clustertest.Cluster, j job) *process {
	t.Helper()
	j.Addrs = cluster.Addrs()
	spec, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), workerEnv+"="+string(spec))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p := &process{cmd, in, bufio.NewScanner(out)}
	p.lines.Buffer(nil, 1<<24)
	return p
}

// startHerd starts workers and waits until all are ready.
func startHerd(t *testing.T, cluster *clustertest.Cluster, n int, j job) []*process {
	t.Helper()
	ps := make([]*process, n)
	for i := range ps {
		ps[i] = startWorker(t, cluster, j)
	}
	for _, p := range ps {
		p.expect(t, "ready")
	}
	return ps
}

func (p *process) expect(t *testing.T, want string) {
	t.Helper()
	if !p.lines.Scan() || p.lines.Text() != want {
		t.Fatalf("the worker said %q, want %q", p.lines.Text(), want)
	}
}

func (p *process) start(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(p.in, "go\n"); err != nil {
		t.Fatal(err)
	}
}

func (p *process) report(t *testing.T) report {
	t.Helper()
	for p.lines.Scan() {
		if line := p.lines.Text(); strings.HasPrefix(line, "{") {
			var r report
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	t.Fatal("the worker ended without a report")
	return report{}
}

// runHerd lets all run at once and adds their reports up.
func runHerd(t *testing.T, ps []*process) report {
	t.Helper()
	for _, p := range ps {
		p.start(t)
	}
	sum := report{Values: map[string]int{}, Sources: map[string]int{}}
	for _, p := range ps {
		r := p.report(t)
		sum.Loads += r.Loads
		sum.Gets += r.Gets
		sum.Others += r.Others
		sum.Calls += r.Calls
		sum.Waited += r.Waited
		sum.Errors = append(sum.Errors, r.Errors...)
		sum.Late = append(sum.Late, r.Late...)
		for k, v := range r.Values {
			sum.Values[k] += v
		}
		for k, v := range r.Sources {
			sum.Sources[k] += v
		}
	}
	return sum
}
