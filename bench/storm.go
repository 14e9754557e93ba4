package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rcctl/rcctl/pool"
)

// StormSchema names the form of a Storm in JSON.
const StormSchema = "rcctl.bench.storm.v1"

// StormOptions describe a storm. Cluster, Engine, Workers, Keys and the other
// fields of Options that say what is sent are used; its rate and pipelines are
// not. Workers is the number of callers that arrive together, zero means 200.
type StormOptions struct {
	Options
	// PoolSizes are tried one after the other in a closed loop of Duration
	// each. Empty means 1, 2, 4 ... 128.
	PoolSizes []int
}

// A Storm is what a client does when many callers come at once: to a process
// that has just started, after all connections broke, and for growing pools.
type Storm struct {
	Schema    string `json:"schema"`
	Engine    string `json:"engine"`
	Callers   int    `json:"callers"`
	ColdStart Burst  `json:"cold_start"` // a new client, its first commands
	Warm      Burst  `json:"warm"`       // the same again, connections there
	Reconnect Burst  `json:"reconnect"`  // after all connections were cut
	Sweep     []Size `json:"pool_sizes"`
	// Knee is the smallest pool size with 95 % of the best throughput.
	Knee int `json:"knee"`
}

// A Burst is one command of every caller, all at the same time.
type Burst struct {
	MakeMS  float64           `json:"make_ms"` // to make the client, for a cold start
	TotalMS float64           `json:"total_ms"`
	Latency Percentiles       `json:"latency_us"`
	Errors  uint64            `json:"errors"`
	Kinds   map[string]uint64 `json:"errors_by_kind"`
	Dials   int64             `json:"dials"`
}

// A Size is one pool size of the sweep.
type Size struct {
	PoolSize   int         `json:"pool_size"`
	Throughput float64     `json:"throughput"`
	Service    Percentiles `json:"service_us"`
	WaitShare  float64     `json:"wait_share"` // of the service time, 0 to 1
	Errors     uint64      `json:"errors"`
}

// RunStorm measures pool sizes, then bursts. It ends about Duration for each
// pool size plus ten seconds after its start, or when ctx is done.
func RunStorm(ctx context.Context, o StormOptions) (*Storm, error) {
	o.Rate, o.Pipeline, o.AutoPipeline, o.Fault = 0, 0, false, nil
	if o.Workers == 0 {
		o.Workers = 200
	}
	if len(o.PoolSizes) == 0 {
		o.PoolSizes = []int{1, 2, 4, 8, 16, 32, 64, 128}
	}
	for _, n := range o.PoolSizes {
		if n < 1 || n > 10_000 {
			return nil, &OptionError{"PoolSizes", strconv.Itoa(n), "want 1 to 10000 connections per node"}
		}
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Options = o.withDefaults()
	s := &Storm{Schema: StormSchema, Engine: o.Engine, Callers: o.Workers}
	for _, n := range o.PoolSizes {
		run := o.Options
		run.Cluster.PoolSize, run.Cluster.MinIdleConns = n, min(n, 20)
		run.Progress = nil
		res, err := Run(ctx, run)
		if err != nil {
			return nil, fmt.Errorf("pool size %d: %w", n, err)
		}
		if res.Interrupted {
			break
		}
		s.Sweep = append(s.Sweep, sizeOf(n, res))
	}
	s.Knee = knee(s.Sweep)
	return s, s.bursts(ctx, o.Options)
}

func sizeOf(n int, res *Result) Size {
	z := Size{PoolSize: n, Throughput: res.Rate.Achieved, Service: res.Latency.Service, Errors: res.Errors}
	if busy := z.Service.Mean * float64(z.Service.Count) / 1e6; busy > 0 {
		z.WaitShare = min(res.Pool.WaitSeconds/busy, 1)
	}
	return z
}

// knee is the smallest size with 95 % of the best throughput, 0 without sizes.
func knee(sizes []Size) int {
	best, at := 0.0, 0
	for _, s := range sizes {
		best = max(best, s.Throughput)
	}
	for _, s := range sizes {
		if s.Throughput >= 0.95*best && (at == 0 || s.PoolSize < at) {
			at = s.PoolSize
		}
	}
	return at
}

func (s *Storm) bursts(ctx context.Context, o Options) error {
	conns := &openConns{}
	o.Cluster = conns.watch(o.Cluster)
	w := newWorkload(o)
	begin := time.Now()
	e, err := newEngine(ctx, o, "bench-"+o.runID())
	if err != nil {
		return err
	}
	defer e.shut()
	made := time.Since(begin)
	s.ColdStart = burst(ctx, e, w, o.Workers, conns)
	s.ColdStart.MakeMS = ms(made)
	s.ColdStart.Dials = conns.dialed() // those of the pre-warming too
	s.Warm = burst(ctx, e, w, o.Workers, conns)
	conns.cut()
	s.Reconnect = burst(ctx, e, w, o.Workers, conns)
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// burst lets every caller read one key at the same time.
func burst(ctx context.Context, e *engine, w *workload, callers int, conns *openConns) Burst {
	before := conns.dialed()
	h, b := makeHistogram(), Burst{Kinds: map[string]uint64{}}
	var mu sync.Mutex
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range callers {
		ready.Add(1)
		done.Go(func() {
			key, _ := w.key(i % w.keys)
			ready.Done()
			<-start
			begin := time.Now()
			err := e.commands.Get(ctx, key).Err()
			took := time.Since(begin)
			mu.Lock()
			defer mu.Unlock()
			if kind := errorKind(err); kind != "" {
				b.Errors++
				b.Kinds[kind]++
				return
			}
			h.record(took, 1)
		})
	}
	ready.Wait()
	begin := time.Now()
	close(start)
	done.Wait()
	b.TotalMS, b.Latency, b.Dials = ms(time.Since(begin)), h.percentiles(), conns.dialed()-before
	return b
}

// openConns knows the connections of one client, so that they can be cut from
// this side: no command on the server is needed, nobody else is touched.
type openConns struct {
	mu    sync.Mutex
	open  map[net.Conn]struct{}
	dials int64
}

// watch wraps the dialer of a configuration; TLS is done by whoever did it
// before.
func (o *openConns) watch(c pool.Config) pool.Config {
	dial := c.Dialer
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	o.open = map[net.Conn]struct{}{}
	c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.dials++
		o.open[conn] = struct{}{}
		return &watchedConn{conn, o}, nil
	}
	return c
}

type watchedConn struct {
	net.Conn
	of *openConns
}

func (c *watchedConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c.Conn)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// SyscallConn lets go-redis look at the socket before it reuses a connection,
// as it does without this wrapper.
func (c *watchedConn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

func (o *openConns) dialed() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dials
}

// cut closes every connection under the client's feet.
func (o *openConns) cut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.open {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // a reset, as when a host dies
		}
		_ = c.Close()
	}
	clear(o.open)
}

// WriteJSON writes the storm, indented.
func (s *Storm) WriteJSON(w io.Writer) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("bench storm: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// WriteText writes the storm as a page for people.
func (s *Storm) WriteText(w io.Writer) error {
	t := &textReport{}
	t.line("Storm", "engine %s, %d callers at once", s.Engine, s.Callers)
	t.b.WriteByte('\n')
	rows := [][]string{{"", "all done after", "p50", "p99", "max", "errors", "dials"}}
	for _, b := range []struct {
		name string
		b    Burst
	}{{"cold start", s.ColdStart}, {"warm", s.Warm}, {"all connections cut", s.Reconnect}} {
		l := b.b.Latency
		rows = append(rows, []string{b.name, fmt.Sprintf("%.1f ms", b.b.TotalMS), usecText(l.P50), usecText(l.P99), usecText(l.Max),
			thousands(b.b.Errors), strconv.FormatInt(b.b.Dials, 10)})
	}
	t.table(rows)
	fmt.Fprintf(&t.b, "  cold start: the client took %.1f ms to make before its first command.\n\n", s.ColdStart.MakeMS)
	rows = [][]string{{"pool size", "operations/s", "p50", "p99", "max", "waiting for a connection", "errors"}}
	for _, z := range s.Sweep {
		rows = append(rows, []string{strconv.Itoa(z.PoolSize), rateText(z.Throughput), usecText(z.Service.P50), usecText(z.Service.P99),
			usecText(z.Service.Max), shareText(z.WaitShare), thousands(z.Errors)})
	}
	t.table(rows)
	if s.Knee > 0 {
		t.b.WriteByte('\n')
		t.line("Knee", "%d connections per node: the smallest pool with 95 %% of the best throughput", s.Knee)
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// errNoStorm is for a cluster that answered none of the callers.
var errNoStorm = errors.New("no caller got an answer")

// Err is an error when no caller of the cold start got an answer.
func (s *Storm) Err() error {
	if s.ColdStart.Errors == uint64(s.Callers) {
		return errNoStorm
	}
	return nil
}
