package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
)

// Run makes the load that o describes and returns what it measured. It blocks
// until the measured time is over and at most five seconds more, whatever the
// cluster does.
//
// When ctx is done in the course of the run, Run ends it, cleans up, and
// returns a result with Interrupted set and no error. An error means that
// there is nothing to report: an option is wrong (*OptionError), the cluster
// could not be reached, others use it (ErrOtherTraffic), or the keys could not
// be written.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	r := &runner{opts: o.withDefaults(), started: time.Now()}
	r.name = "bench-" + r.opts.runID()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	defer r.release()
	if err := r.preload(ctx); err != nil {
		r.cleanup(time.Now().Add(time.Second))
		return nil, err
	}
	r.load(ctx)
	return r.finish(ctx), nil
}

// A runner is one run.
type runner struct {
	opts    Options
	name    string
	started time.Time

	house   *pool.Cluster // for the preload and the clean-up
	servers *servers
	engine  *engine
	rec     *recorder
	gen     *generator
	usage   *usage

	total    *tally
	series   []Second
	seen     ClientRedirects // at the last tick
	lastDone time.Time
	asked    time.Time // when the last samples were asked for

	interrupted bool
	unfinished  int
	wroteKeys   bool
	keysLeft    uint64
	events      timeline
	told        *FaultTold // written by the fault's goroutine, read after its end
	faultEnded  bool
}

// open makes the clients and takes the first samples.
func (r *runner) open(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			r.release()
		}
	}()
	c := r.opts.Cluster
	c.Name, c.PoolSize, c.MinIdleConns = r.name, 16, -1
	c.ReadTimeout, c.WriteTimeout, c.MaxRetries = time.Second, time.Second, 8
	c.Tune, c.Logger = nil, slog.New(slog.DiscardHandler)
	if r.house, err = pool.New(ctx, c); err != nil {
		return err
	}
	boot := withPoolDefaults(r.opts.Cluster).BootTimeout
	bootCtx, cancel := context.WithTimeout(ctx, boot)
	defer cancel()
	r.servers = newServers(r.opts.Cluster, "rcctl:"+r.name, &r.events)
	if err = r.servers.boot(bootCtx); err != nil {
		return err
	}
	if !r.opts.Staging {
		if err = r.servers.guard(bootCtx); err != nil {
			return err
		}
	}
	r.engine, err = newEngine(ctx, r.opts, r.name)
	return err
}

func (r *runner) release() {
	if r.engine != nil {
		r.engine.shut()
	}
	if r.servers != nil {
		r.servers.close()
	}
	if r.house != nil {
		_ = r.house.Close()
	}
}

// load runs the generator and samples once a second beside it.
func (r *runner) load(ctx context.Context) {
	r.rec, r.total, r.usage = newRecorder(16), newTally(), startUsage()
	r.gen = newGenerator(r.opts, r.engine.sender(r.opts.ttl()), r.servers.owner, r.rec, time.Now().Add(5*time.Millisecond))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		r.watch(stop)
	}()
	inflicted := r.inflict(ctx)
	r.unfinished = r.gen.run(ctx)
	close(stop)
	<-stopped
	inflicted()
	r.interrupted = ctx.Err() != nil
	r.lastDone = r.rec.close()
	r.tick(time.Now())
	r.usage.stop()
}

// watch calls tick at whole seconds of the measured time and asks the servers
// beside it, so that a node that does not answer holds up no tick.
func (r *runner) watch(stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		every := time.Second
		if r.opts.Fault != nil {
			every = 100 * time.Millisecond // to tell when a node was promoted
		}
		sampleAt := r.gen.measure
		for next := sampleAt; sleepOr(stop, next); next = next.Add(every) {
			r.servers.discover(ctx, r.opts.Fault != nil)
			if !next.Before(sampleAt) {
				r.servers.sample(ctx)
				sampleAt = sampleAt.Add(time.Second)
			}
		}
	}()
	first := r.gen.measure.Add(-r.opts.Warmup.Truncate(time.Second))
	for next := first.Add(time.Second); sleepOr(stop, next); next = next.Add(time.Second) {
		r.tick(next)
	}
	cancel()
	<-sampled
}

// sleepOr sleeps until t, or returns false when stop is closed.
func sleepOr(stop <-chan struct{}, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-timer.C:
		return true
	}
}

// tick books one second.
func (r *runner) tick(now time.Time) {
	sec := newTally()
	r.rec.drain(sec)
	red := r.clientRedirects()
	s := Second{
		T: now.Sub(r.gen.measure).Seconds(), Ops: sec.operations, Errors: sec.errors,
		Service: sec.service.brief(), Intended: sec.intended.brief(),
		Moved: red.Moved - min(r.seen.Moved, red.Moved), Ask: red.Ask - min(r.seen.Ask, red.Ask),
		Queue: r.gen.queue(now), InFlight: r.gen.started.Load() - r.gen.finished.Load(),
	}
	r.seen = red
	r.series = append(r.series, s)
	sec.moveTo(r.total)
	r.report(s, now)
}

func (r *runner) report(s Second, now time.Time) {
	if r.opts.Progress == nil {
		return
	}
	p := Progress{
		Phase: "run", Elapsed: now.Sub(r.gen.measure), Total: r.opts.Duration,
		Rate: float64(s.Ops), Errors: r.total.errors, Moved: r.seen.Moved, Ask: r.seen.Ask,
		P99: time.Duration(s.Intended.P99) * time.Microsecond, Queue: s.Queue,
	}
	switch {
	case now.Before(r.gen.measure):
		p.Phase, p.Elapsed, p.Total = "warmup", p.Elapsed+r.opts.Warmup, r.opts.Warmup
	case !now.Before(r.gen.end):
		p.Phase = "drain"
	}
	r.opts.Progress(p)
}

// clientRedirects are the sums of both clients.
func (r *runner) clientRedirects() (sum ClientRedirects) {
	for _, o := range r.observers() {
		for _, n := range o.Nodes() {
			sum = sum.plus(redirectsOf(n))
		}
	}
	return sum
}

func (r *runner) observers() []*pool.Observer {
	return []*pool.Observer{r.engine.observer, r.house.Observer()}
}

func redirectsOf(n pool.NodeStats) ClientRedirects {
	return ClientRedirects{Moved: n.Moved, Ask: n.Ask, TryAgain: n.TryAgain, ClusterDown: n.ClusterDown}
}

func (c ClientRedirects) plus(d ClientRedirects) ClientRedirects {
	return ClientRedirects{c.Moved + d.Moved, c.Ask + d.Ask, c.TryAgain + d.TryAgain, c.ClusterDown + d.ClusterDown}
}

// finish cleans up, closes the books and makes the result. All of it is done
// five seconds after the end of the measured time.
func (r *runner) finish(ctx context.Context) *Result {
	ended := time.Now()
	if r.unfinished > 0 {
		r.engine.shut() // ends what is still in flight
	}
	limit := ended.Add(3500 * time.Millisecond)
	if over := r.gen.end.Add(3500 * time.Millisecond); over.Before(limit) {
		limit = over
	}
	limit = later(limit, ended.Add(500*time.Millisecond))
	r.cleanup(limit)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	r.asked = time.Now()
	r.servers.finish(last)
	books := r.books(r.asked)
	res := r.result(ended)
	res.Books = books
	res.LimitedBy, res.Evidence = judge(res)
	return res
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// books compares the redirects. Connections of others are looked for only
// when they could explain something.
func (r *runner) books(asked time.Time) Books {
	l := ledger{client: r.clientRedirects(), server: r.servers.redirects(), blind: r.servers.blind(asked)}
	l.lost = uint64(r.unfinished)
	for _, o := range r.observers() {
		for _, n := range o.Nodes() {
			l.lost += n.Timeouts + n.NetErrors
		}
	}
	if l.server.Moved > l.client.Moved || l.server.Ask > l.client.Ask {
		ctx, cancel := context.WithTimeout(context.Background(), sampleTimeout)
		defer cancel()
		l.others = r.servers.others(ctx)
	}
	return l.close()
}

// preloadError says what a failed preload means.
func preloadError(left int, total int, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("preload interrupted: %w", err)
	}
	if redis.IsPermissionError(err) {
		return fmt.Errorf("preload: %w: the user needs +set, +get and +unlink on the keys of --prefix (~rcctl-bench:*)", err)
	}
	return fmt.Errorf("preload: %s of %s keys could not be written: %w", thousands(uint64(left)), thousands(uint64(total)), err)
}
