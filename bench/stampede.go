package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rcctl/rcctl/pool"
)

// StampedeSchema names the form of a Stampede in JSON.
const StampedeSchema = "rcctl.bench.stampede.v1"

// StampedeOptions describe a cache-aside workload: one hot key whose value
// takes long to load, read all the time by several worker processes. Zero
// values are the documented defaults.
type StampedeOptions struct {
	Cluster pool.Config
	// Workers are the numbers of worker processes to try. Empty means 1 and 8.
	// They run inside this process, each with a client and a cache of its own.
	Workers []int
	// Callers read in each worker, each every 20 ms. Zero means 1.
	Callers int
	// Load is how long the query takes. Zero means 450 ms.
	Load time.Duration
	// TTLs are how long the value lives, at least twice Load each. Empty means
	// 1 s and 3 s.
	TTLs []time.Duration
	// Expiries is how many expiries are watched. Zero means 3.
	Expiries int
	// Guards are the ways to guard the load. Empty means all, see Guards.
	Guards []string
	// Told is called with the name of each measurement as it begins.
	Told func(what string)
}

// A Stampede is what the ways to guard a load made of the same workload.
type Stampede struct {
	Schema string        `json:"schema"`
	LoadMS float64       `json:"load_ms"`
	Rows   []StampedeRow `json:"rows"`
}

// A StampedeRow is one way with one number of workers and one TTL.
type StampedeRow struct {
	Guard     string  `json:"guard"`
	Workers   int     `json:"workers"`
	TTLMS     float64 `json:"ttl_ms"`
	Expiries  int     `json:"expiries"`
	Loads     int     `json:"loads"`
	PerExpiry float64 `json:"loads_per_expiry"`
	Peak      int     `json:"peak_concurrent_loads"`
	// WastedPerHour are loads beyond the first of each expiry, at this TTL.
	WastedPerHour float64 `json:"wasted_loads_per_hour"`
	// Latency is of reads after the first load, from the time when they were
	// due.
	Latency Percentiles `json:"latency_us"`
	Errors  uint64      `json:"errors"`
}

func (o StampedeOptions) withDefaults() (StampedeOptions, error) {
	if len(o.Workers) == 0 {
		o.Workers = []int{1, 8}
	}
	if len(o.TTLs) == 0 {
		o.TTLs = []time.Duration{time.Second, 3 * time.Second}
	}
	if len(o.Guards) == 0 {
		o.Guards = Guards
	}
	if o.Callers == 0 {
		o.Callers = 1
	}
	if o.Load == 0 {
		o.Load = 450 * time.Millisecond
	}
	if o.Expiries == 0 {
		o.Expiries = 3
	}
	if o.Told == nil {
		o.Told = func(string) {}
	}
	return o, o.validate()
}

func (o StampedeOptions) validate() error {
	for _, n := range o.Workers {
		if n < 1 || n > 100 {
			return &OptionError{"Workers", strconv.Itoa(n), "want 1 to 100"}
		}
	}
	if o.Load < 10*time.Millisecond || o.Load > 2*time.Second {
		return &OptionError{"Load", o.Load.String(), "want 10ms to 2s, such as 450ms"}
	}
	for _, t := range o.TTLs {
		if t < 2*o.Load || t > time.Hour {
			return &OptionError{"TTLs", t.String(), "want at least twice the load time and at most 1h, such as " + (4 * o.Load).String()}
		}
	}
	if o.Callers < 1 || o.Callers > 1000 {
		return &OptionError{"Callers", strconv.Itoa(o.Callers), "want 1 to 1000"}
	}
	if o.Expiries < 1 || o.Expiries > 10_000 {
		return &OptionError{"Expiries", strconv.Itoa(o.Expiries), "want 1 to 10000"}
	}
	for _, g := range o.Guards {
		if !slices.Contains(Guards, g) {
			return &OptionError{"Guards", g, fmt.Sprintf("want some of %v", Guards)}
		}
	}
	return nil
}

// RunStampede measures each way in turn. It writes a few keys with a TTL of its
// own and deletes them.
func RunStampede(ctx context.Context, o StampedeOptions) (*Stampede, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Stampede{Schema: StampedeSchema, LoadMS: ms(o.Load)}
	for _, ttl := range o.TTLs {
		for _, workers := range o.Workers {
			for _, guard := range o.Guards {
				o.Told(fmt.Sprintf("%s, %d workers, TTL %s", guard, workers, ttl))
				row, err := runHerd(ctx, o, guard, workers, ttl)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", guard, err)
				}
				if ctx.Err() != nil {
					return s, nil
				}
				s.Rows = append(s.Rows, row)
			}
		}
	}
	return s, nil
}

// A query counts how often it runs.
type query struct {
	takes time.Duration
	ttl   time.Duration

	now, peak, loads atomic.Int64
	mu               sync.Mutex
	expiries         int
	expired          time.Time // when the last expiry was noticed
	filled           time.Time // when the first load had ended
}

func (q *query) run(ctx context.Context) ([]byte, error) {
	n := q.now.Add(1)
	defer q.now.Add(-1)
	q.loads.Add(1)
	for p := q.peak.Load(); n > p && !q.peak.CompareAndSwap(p, n); p = q.peak.Load() {
	}
	q.note(time.Now())
	t := time.NewTimer(q.takes)
	defer t.Stop()
	select {
	case <-t.C:
		q.fill(time.Now())
		return []byte("1400000"), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// note counts an expiry: the first load after the value has lived. Loads that
// begin sooner belong to the last one. Half a TTL of slack covers jitter.
func (q *query) note(at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.expired.IsZero() || at.Sub(q.expired) > q.ttl/2+q.takes {
		q.expiries++
		q.expired = at
	}
}

func (q *query) fill(at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.filled.IsZero() {
		q.filled = at
	}
}

// warm reports whether a read due at that time could find a value.
func (q *query) warm(due time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.filled.IsZero() && due.After(q.filled)
}

func (q *query) seen() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.expiries
}

// runHerd lets the callers of all workers read until enough expiries were seen.
func runHerd(ctx context.Context, o StampedeOptions, guard string, workers int, ttl time.Duration) (StampedeRow, error) {
	q := &query{takes: o.Load, ttl: ttl}
	run := Options{}.withDefaults()
	key := fmt.Sprintf("%s:%s:stampede:%s", run.Prefix, run.runID(), guard)
	var herd []guardian
	defer func() {
		for _, g := range herd {
			g.close()
		}
	}()
	for range workers {
		g, err := newGuardian(ctx, o.Cluster, guard, key, ttl, q)
		if err != nil {
			return StampedeRow{}, err
		}
		herd = append(herd, g)
	}
	defer herd[0].forget(key)
	limit := time.Duration(o.Expiries+1)*(ttl+time.Duration(workers+1)*o.Load) + 5*time.Second
	watch, stop := context.WithTimeout(ctx, limit)
	defer stop()
	h, errs, begin := makeHistogram(), uint64(0), time.Now()
	var mu sync.Mutex
	var callers sync.WaitGroup
	for i := range workers * o.Callers {
		callers.Go(func() {
			read(watch, herd[i%workers], func(due time.Time, err error) {
				took := time.Since(due)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					errs++
				case q.warm(due):
					h.record(took, 1)
				}
			}, func() bool { return q.seen() > o.Expiries })
		})
	}
	callers.Wait()
	return rowOf(q, guard, workers, ttl, h.percentiles(), errs, time.Since(begin)), nil
}

// read is one caller: a read every 20 ms until enough is seen. Its latency
// counts from the time at which the read was due.
func read(ctx context.Context, g guardian, tell func(due time.Time, err error), enough func() bool) {
	const every = 20 * time.Millisecond
	for due := time.Now(); ctx.Err() == nil && !enough(); due = due.Add(every) {
		pause(ctx, time.Until(due))
		err := g.get(ctx)
		if ctx.Err() != nil {
			return
		}
		tell(due, err)
	}
}

// rowOf leaves out the last expiry, in the middle of which the herd stopped.
func rowOf(q *query, guard string, workers int, ttl time.Duration, l Percentiles, errs uint64, took time.Duration) StampedeRow {
	r := StampedeRow{Guard: guard, Workers: workers, TTLMS: ms(ttl), Expiries: q.seen(), Loads: int(q.loads.Load()),
		Peak: int(q.peak.Load()), Latency: l, Errors: errs}
	if r.Expiries > 0 {
		r.PerExpiry = float64(r.Loads) / float64(r.Expiries)
	}
	if took > 0 {
		r.WastedPerHour = float64(int(float64(max(r.Loads-r.Expiries, 0))/took.Hours()*10)) / 10
	}
	return r
}

// WriteJSON writes the result, indented.
func (s *Stampede) WriteJSON(w io.Writer) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("bench stampede: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// WriteText writes the result as a table.
func (s *Stampede) WriteText(w io.Writer) error {
	t := &textReport{}
	t.line("Stampede", "one hot key, a load of %.0f ms", s.LoadMS)
	rows := [][]string{{"TTL", "workers", "guard", "loads per expiry", "at once", "wasted per hour", "p50", "p99", "max", "errors"}}
	for _, r := range s.Rows {
		rows = append(rows, []string{fmt.Sprintf("%.1f s", r.TTLMS/1000), strconv.Itoa(r.Workers), r.Guard,
			strconv.FormatFloat(r.PerExpiry, 'f', 1, 64), strconv.Itoa(r.Peak), rateText(r.WastedPerHour),
			usecText(r.Latency.P50), usecText(r.Latency.P99), usecText(r.Latency.Max), thousands(r.Errors)})
	}
	t.table(rows)
	t.b.WriteString("  at once: most loads at the same time. wasted: loads beyond the first of an expiry, at this TTL.\n")
	_, err := io.WriteString(w, t.b.String())
	return err
}
