package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// What limited a run.
const (
	LimitServer    = "server"
	LimitNetwork   = "network"
	LimitPool      = "pool"
	LimitGenerator = "generator"
	LimitNothing   = "nothing (rate reached)"
)

// Thresholds of the verdict. Shares are 0 to 1.
const (
	reachedShare  = 0.99 // of the wanted rate
	busyShare     = 0.90 // of a processor: no more to get from it
	hostBusyShare = 0.95
	poolWaitShare = 0.25 // of the service time spent waiting for a connection
	errorShare    = 0.01 // of the operations
	lateUsec      = 1000 // schedule lag that distorts percentiles
	slowUsec      = 5000 // a round trip that is not the client's doing
	stallUsec     = 100_000
)

// judge says what limited the run, with evidence. It reads the result alone.
func judge(r *Result) (limit string, evidence []string) {
	j := &judgement{r: r, evidence: []string{}}
	reached := r.Rate.Wanted > 0 && r.Rate.Achieved >= reachedShare*r.Rate.Wanted && r.Dropped == 0
	switch {
	case reached:
		j.say("achieved %s/s of %s/s", rateText(r.Rate.Achieved), rateText(r.Rate.Wanted))
		j.stall()
		j.lag()
		return LimitNothing, j.evidence
	case j.pool():
		limit = LimitPool
	case j.failures(), j.serverCPU(), j.stall():
		limit = LimitServer
	case j.ownCPU():
		limit = LimitGenerator
	case r.Operations == 0:
		j.say("no operation ended")
		limit = LimitServer
	default:
		limit = j.roundTrips()
	}
	j.lag()
	return limit, j.evidence
}

type judgement struct {
	r        *Result
	evidence []string
}

func (j *judgement) say(format string, args ...any) {
	j.evidence = append(j.evidence, fmt.Sprintf(format, args...))
}

// pool: operations spend their time waiting for a connection.
func (j *judgement) pool() bool {
	p := j.r.Pool
	busy := j.r.Latency.Service.Mean * float64(j.r.Latency.Service.Count) / 1e6
	share := 0.0
	if busy > 0 {
		share = min(p.WaitSeconds/busy, 1)
	}
	timeouts := float64(p.Timeouts) >= errorShare*float64(max(j.r.Operations, 1))
	if share < poolWaitShare && !timeouts {
		return false
	}
	j.say("%s waits for a connection took %.1f s, %.0f %% of the service time; %s of them timed out",
		thousands(p.Waits), p.WaitSeconds, share*100, thousands(p.Timeouts))
	j.say("the pool holds at most %d connections per node (--pool-size)", j.r.Options.Client.PoolSize)
	return true
}

// failures: errors from the servers' side are more than noise.
func (j *judgement) failures() bool {
	if float64(j.r.Errors) < errorShare*float64(max(j.r.Operations, 1)) || j.r.Errors == 0 {
		return false
	}
	j.say("%s of %s operations failed: %s", thousands(j.r.Errors), thousands(j.r.Operations), kindsText(j.r.ErrorKinds))
	for _, n := range j.r.Nodes {
		if n.OwnedErrors > 0 {
			j.say("%s owned the slots of %s of them", n.Addr, thousands(n.OwnedErrors))
		}
	}
	return true
}

// serverCPU: the main thread of a node has no more to give.
func (j *judgement) serverCPU() bool {
	found := false
	for _, n := range j.r.Nodes {
		if n.CPUShare >= busyShare {
			j.say("%s used %.0f %% of a processor in its main thread", n.Addr, n.CPUShare*100)
			found = true
		}
	}
	return found
}

// stall: one node kept callers waiting much longer than the others did.
func (j *judgement) stall() bool {
	var masters []Node
	for _, n := range j.r.Nodes {
		if n.Owned > 0 {
			masters = append(masters, n)
		}
	}
	if len(masters) < 2 {
		return false
	}
	slices.SortFunc(masters, func(a, b Node) int { return int(b.Slowest - a.Slowest) })
	worst, next := masters[0], masters[1]
	if worst.Slowest < stallUsec || worst.Slowest < 3*next.Slowest {
		return false
	}
	j.say("%s took up to %s for one request, the other nodes at most %s", worst.Addr, usecText(worst.Slowest), usecText(next.Slowest))
	if q := j.r.Schedule.QueuePeak; q > 0 {
		j.say("while all %d workers waited, up to %s requests were due and not sent; intended latency has that wait, service latency does not",
			j.r.Options.Workers, thousands(uint64(q)))
	}
	return true
}

// ownCPU: this process or its host had no processor time left.
func (j *judgement) ownCPU() bool {
	g := j.r.Generator
	found := false
	if g.CPUShare >= busyShare {
		j.say("this process used %.0f %% of its %d processors (GOMAXPROCS)", g.CPUShare*100, g.GOMAXPROCS)
		found = true
	}
	if g.HostCPUShare >= hostBusyShare {
		j.say("the processors of this host were %.0f %% busy, this process took %.1f of them; run the generator on another host",
			g.HostCPUShare*100, g.CPUShare*float64(g.GOMAXPROCS))
		found = true
	}
	if g.Throttled > 0 {
		j.say("the cgroup's CPU quota stopped this process in %s periods", thousands(g.Throttled))
		found = true
	}
	return found
}

// roundTrips: nobody is busy, so the number of requests in flight over their
// time is the limit.
func (j *judgement) roundTrips() string {
	p50 := j.r.Latency.Service.P50
	workers := j.r.Options.Workers
	j.say("no processor is the limit: this process used %s of its processors, the busiest node %s of one",
		shareText(j.r.Generator.CPUShare), shareText(j.busiest()))
	if p50 >= slowUsec {
		j.say("service p50 is %s though the servers are not busy: the time goes into the network", usecText(p50))
		return LimitNetwork
	}
	if workers > 0 && p50 > 0 {
		j.say("%d workers with a round trip of %s each make about %s/s; raise --workers for more",
			workers, usecText(p50), rateText(float64(workers*j.r.Options.Pipeline)/(float64(p50)/1e6)))
	}
	return LimitGenerator
}

func (j *judgement) busiest() float64 {
	most := 0.0
	for _, n := range j.r.Nodes {
		most = max(most, n.CPUShare)
	}
	return most
}

// lag warns where the generator itself was late.
func (j *judgement) lag() {
	if l := j.r.Schedule.Lag; l.P99 > lateUsec {
		j.say("the schedule was late by %s at p99 with workers free: latencies below that are not exact", usecText(l.P99))
	}
	if p := j.r.Generator.GCPauseMax; p > lateUsec {
		j.say("the longest garbage collection pause of this process was %s", usecText(p))
	}
}

func kindsText(kinds map[string]uint64) string {
	names := make([]string, 0, len(kinds))
	for k := range kinds {
		names = append(names, k)
	}
	slices.SortFunc(names, func(a, b string) int {
		if kinds[a] != kinds[b] {
			return int(min(max(int64(kinds[b])-int64(kinds[a]), -1), 1))
		}
		return strings.Compare(a, b)
	})
	for i, k := range names {
		names[i] = fmt.Sprintf("%s %s", thousands(kinds[k]), k)
	}
	return strings.Join(names, ", ")
}

func shareText(s float64) string {
	if s < 0 {
		return "an unknown share"
	}
	return fmt.Sprintf("%.0f %%", s*100)
}

func usecText(us int64) string {
	switch d := time.Duration(us) * time.Microsecond; {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case us >= 100_000:
		return fmt.Sprintf("%.0f ms", float64(us)/1000)
	case us >= 10_000:
		return fmt.Sprintf("%.1f ms", float64(us)/1000)
	default:
		return fmt.Sprintf("%.2f ms", float64(us)/1000)
	}
}
