package bench

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rcctl/rcctl/pool"
)

// The engines: which client carries the load.
const (
	// EnginePool is this library's client as pool.New configures it.
	EnginePool = "pool"
	// EngineGoRedis is a plain redis.NewClusterClient with the same pool size
	// and timeouts and go-redis' defaults otherwise.
	EngineGoRedis = "go-redis"
)

// Unlimited, as Options.Workers, starts every request at its due time however
// many are in flight, up to 100,000.
const Unlimited = -1

// maxInFlight bounds Unlimited; requests above it are dropped and counted.
const maxInFlight = 100_000

// Options describe a run. Only Cluster.Addrs and Duration are required; zero
// values are the documented defaults.
type Options struct {
	// Cluster says how to reach the cluster and configures the client of
	// either engine.
	Cluster pool.Config
	// Engine is EnginePool or EngineGoRedis. Empty means EnginePool.
	Engine string

	// Rate is the number of operations per second of an open loop. Zero means
	// a closed loop: each worker sends its next request after its last reply.
	Rate float64
	// Duration is the measured time, at least 100 ms.
	Duration time.Duration
	// Warmup is load before it that is not measured. Zero means none.
	Warmup time.Duration
	// Workers bounds the requests in flight. In an open loop a request waits
	// in a queue while all workers are busy, which counts into its intended
	// latency. Zero means 50; Unlimited is for open loops only.
	Workers int
	// Pipeline is the number of commands sent together, each counted as an
	// operation. Zero and 1 mean no pipelines.
	Pipeline int
	// AutoPipeline lets go-redis gather the commands of concurrent workers
	// into pipelines.
	AutoPipeline bool

	// Mix is what is sent. Empty means 90 % get, 10 % set.
	Mix Mix
	// Keys is the number of keys. Zero means 10,000.
	Keys int
	// Dist chooses the keys. The zero value is uniform.
	Dist Dist
	// ValueSize is the size of a value in bytes, 1 to 16 MiB. Zero means 64.
	ValueSize int
	// Prefix starts the name of every key; the seed follows. Empty means
	// "rcctl-bench". Braces are refused: they would pin all keys to one slot.
	Prefix string
	// Seed makes operations, keys and values reproducible. Zero means a
	// random one, which the result records.
	Seed uint64
	// NoPreload starts without writing every key once, so that gets miss
	// until a set has come by.
	NoPreload bool
	// Staging says that other clients and keys on the cluster are no reason
	// to refuse the run.
	Staging bool

	// Fault, when set, is inflicted on the cluster FaultAt after the warm-up.
	// Zero means a third of the duration.
	Fault   Fault
	FaultAt time.Duration

	// Progress, when set, is called about once a second from one goroutine.
	Progress func(Progress)
}

// Progress is how far a run has come.
type Progress struct {
	Phase      string        // "preload", "warmup", "run", "drain" or "cleanup"
	Elapsed    time.Duration // of the phase
	Total      time.Duration // of the phase; zero if not known
	Rate       float64       // operations in the last second
	Errors     uint64        // so far
	Moved, Ask uint64        // replies seen by the client so far
	P99        time.Duration // intended, of the last second
	Queue      int64         // requests that are due and not sent
}

// An OptionError says which option is wrong and how to mend it.
type OptionError struct {
	Option string // name of the field of Options, such as "Rate"
	Value  string
	Fix    string
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("%s %s: %s", e.Option, e.Value, e.Fix)
}

// Validate reports every wrong option, each as an *OptionError, joined.
func (o Options) Validate() error {
	var errs []error
	bad := func(wrong bool, option string, value any, fix string) {
		if wrong {
			errs = append(errs, &OptionError{option, fmt.Sprint(value), fix})
		}
	}
	bad(o.Engine != "" && o.Engine != EnginePool && o.Engine != EngineGoRedis, "Engine", o.Engine, "want pool or go-redis")
	bad(o.Rate < 0 || math.IsNaN(o.Rate) || o.Rate > 10e6, "Rate", o.Rate,
		"want operations per second above 0 and up to 10,000,000, or 0 for a closed loop")
	bad(o.Duration < 100*time.Millisecond, "Duration", o.Duration, "want at least 100ms, such as 10s")
	bad(o.Duration > 24*time.Hour, "Duration", o.Duration, "want at most 24h")
	bad(o.Warmup < 0, "Warmup", o.Warmup, "want 0 or more")
	bad(o.Workers < Unlimited || o.Workers > maxInFlight, "Workers", o.Workers, "want 1 to 100000, or unlimited")
	bad(o.Workers == Unlimited && o.Rate == 0, "Workers", "unlimited", "a closed loop needs a number of workers; or give a rate")
	bad(o.Pipeline < 0 || o.Pipeline > 10_000, "Pipeline", o.Pipeline, "want 1 to 10000")
	bad(o.Pipeline > 1 && o.AutoPipeline, "AutoPipeline", o.AutoPipeline, "choose one of pipeline and auto-pipeline")
	bad(o.Keys < 0 || o.Keys > 1_000_000_000, "Keys", o.Keys, "want 1 to 1,000,000,000")
	bad(o.ValueSize < 0 || o.ValueSize > 16<<20, "ValueSize", o.ValueSize, "want 1 to 16777216 bytes")
	bad(strings.ContainsAny(o.Prefix, "{}"), "Prefix", o.Prefix, "leave out braces: they would pin every key to one slot")
	bad(strings.ContainsAny(o.Prefix, " \r\n\t"), "Prefix", o.Prefix, "leave out white space")
	bad(o.Workers > 0 && o.Pipeline > 1 && o.Rate > 0 && o.Rate < float64(o.Pipeline)/o.Duration.Seconds(), "Pipeline", o.Pipeline,
		"not one whole pipeline falls into the run: shorten the pipeline or raise the rate")
	bad(o.FaultAt < 0 || o.FaultAt > o.Duration, "FaultAt", o.FaultAt, "want a time within the duration")
	errs = append(errs, o.Mix.validate(), o.Dist.validate())
	return errors.Join(errs...)
}

// withDefaults fills in what was left out. The options are valid.
func (o Options) withDefaults() Options {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&o.Workers, 50)
	def(&o.Pipeline, 1)
	def(&o.Keys, 10_000)
	def(&o.ValueSize, 64)
	if o.Engine == "" {
		o.Engine = EnginePool
	}
	if o.Mix == nil {
		o.Mix = Mix{{OpGet, 90}, {OpSet, 10}}
	}
	if o.Prefix == "" {
		o.Prefix = "rcctl-bench"
	}
	for o.Seed == 0 {
		o.Seed = rand.Uint64() >> 16
	}
	if o.FaultAt == 0 {
		o.FaultAt = o.Duration / 3
	}
	o.Dist = o.Dist.withDefaults()
	return o
}

// runID tells the keys and connections of this run from all others.
func (o Options) runID() string { return fmt.Sprintf("%012x", o.Seed) }

// ttl outlives the run, so that keys never expire in it, and not by much, so
// that keys left behind do.
func (o Options) ttl() time.Duration { return o.Warmup + o.Duration + 10*time.Minute }
