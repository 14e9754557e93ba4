package bench

import (
	"cmp"
	"encoding/base64"
	"math"
	"os"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/rcctl/rcctl/sysctl"
)

// result puts together what was measured, all but books and verdict.
func (r *runner) result(ended time.Time) *Result {
	t := r.total
	s := setup(r.opts)
	s.Client = r.engine.settings()
	res := &Result{
		Schema: Schema, Started: r.started, Interrupted: r.interrupted, Options: s,
		Operations: t.operations, Errors: t.errors, ErrorKinds: t.kinds,
		Dropped: uint64(r.gen.dropped.Load()), Hits: t.hits, Misses: t.misses,
		Latency: Latencies{
			Service: t.service.percentiles(), Intended: t.intended.percentiles(),
			Wait: t.wait.percentiles(), Failed: t.failed.percentiles(),
		},
		Redirects: Redirects{Client: r.clientRedirects(), Server: r.servers.redirects()},
		Schedule: Schedule{
			Lag: t.lag.percentiles(), Interarrival: r.gen.gaps.percentiles(),
			QueuePeak: r.gen.peak.Load() * int64(r.opts.Pipeline), BusyHits: r.gen.busyHits.Load(),
		},
		Pool: r.engine.pools.use(), Generator: r.usage.result,
		Nodes: r.nodes(), Series: r.series, Events: r.events.all(r.gen.measure), Fault: r.faultTold(), KeysLeft: r.keysLeft,
		HDR:  Encoded{encode(t.service), encode(t.intended)},
		Host: hostReport(),
	}
	for _, n := range res.Nodes {
		res.Pool.Dials += n.Dials
	}
	res.Seconds = r.measured(ended)
	res.Rate = Rate{Wanted: r.opts.Rate, Achieved: perSecond(t.operations-t.errors, res.Seconds)}
	return res
}

// measured is the time that the operations took: the duration, or more when
// the last of them ended later, or less when the run was interrupted.
func (r *runner) measured(ended time.Time) float64 {
	from, to := r.gen.measure, r.gen.end
	if r.interrupted && ended.Before(to) {
		to = ended
	}
	return max(later(to, r.lastDone).Sub(from).Seconds(), 0)
}

func perSecond(n uint64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return math.Round(float64(n)/seconds*100) / 100
}

func encode(h histogram) string {
	b, err := h.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(b)
}

func hostReport() HostReport {
	rd := sysctl.Live()
	h := HostReport{Host: rd.Host()}
	if l, err := rd.Limits(os.Getpid()).Limit("Max open files"); err == nil {
		h.OpenFiles = l.String()
	}
	return h
}

// nodes joins what the client and the servers counted, by announced address.
func (r *runner) nodes() []Node {
	out := r.servers.report(r.asked)
	index := map[string]int{}
	for i, n := range out {
		index[n.Addr] = i
		if o := r.total.owners[i]; o != nil {
			out[i].Owned, out[i].OwnedErrors, out[i].Slowest = o.operations, o.errors, o.slowest.Microseconds()
		}
	}
	for _, o := range r.observers() {
		for _, s := range o.Nodes() {
			i, ok := index[s.Addr]
			if !ok {
				i = len(out)
				index[s.Addr] = i
				out = append(out, Node{Addr: s.Addr, State: "seed"})
			}
			n := &out[i]
			n.Client = n.Client.plus(redirectsOf(s))
			n.Attempts += s.Attempts
			n.Timeouts += s.Timeouts
			n.NetErrors += s.NetErrors
			n.PoolTimeouts += s.PoolTimeouts
			n.Dials += s.Dials
		}
	}
	slices.SortStableFunc(out, func(a, b Node) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Addr, b.Addr))
	})
	return out
}

// rank orders masters before replicas before addresses that are only seeds.
func rank(n Node) int {
	switch n.Role {
	case "master":
		return 0
	case "replica":
		return 1
	}
	return 2
}

// noAnswer is the state of a node without a sample at the end of the run.
const noAnswer = "no answer"

// report is what the servers say, in the order in which they were found.
// Nodes without a sample since t do not answer.
func (s *servers) report(t time.Time) []Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Node, len(s.nodes))
	for i, n := range s.nodes {
		o := &out[i]
		*o = Node{Addr: n.addr, ID: n.id, Role: n.role, State: "ok",
			Server: ServerRedirects{n.moved, n.ask}, MaxClients: n.maxClients,
			Rejected: n.counters["rejected_connections"], Evicted: n.counters["evicted_keys"],
			Expired: n.counters["expired_keys"], Commands: n.counters["total_commands_processed"],
		}
		if n.cpuSpan > 0 {
			o.CPUShare = n.cpuSeconds / n.cpuSpan
		}
		switch {
		case n.lastAt.Before(t):
			o.State = noAnswer
		case n.restarted:
			o.State = "restarted"
		case n.reset != "":
			o.State = "reset"
		case n.late:
			o.State = "joined"
		}
	}
	return out
}
