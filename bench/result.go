package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/rcctl/rcctl/sysctl"
)

// Schema names the form of a Result in JSON.
const Schema = "rcctl.bench.v1"

// A Result is what a run measured. It is complete and valid JSON for every
// run that began, also one that was interrupted or had nothing but errors.
type Result struct {
	Schema  string    `json:"schema"`
	Version string    `json:"version,omitempty"` // of the program that made it
	Started time.Time `json:"started"`
	// Seconds is the measured time: from the end of the warm-up to the end of
	// the last request.
	Seconds     float64 `json:"seconds"`
	Interrupted bool    `json:"interrupted"`
	Options     Setup   `json:"options"`

	// Operations ended, with or without an error. Errors are those of them
	// that failed; Dropped were due and never sent.
	Operations uint64            `json:"operations"`
	Errors     uint64            `json:"errors"`
	ErrorKinds map[string]uint64 `json:"errors_by_kind"`
	Dropped    uint64            `json:"dropped"`
	Hits       uint64            `json:"hits"`
	Misses     uint64            `json:"misses"`

	Rate      Rate       `json:"rate"`
	Latency   Latencies  `json:"latency_us"`
	Redirects Redirects  `json:"redirects"`
	Books     Books      `json:"books"`
	LimitedBy string     `json:"limited_by"`
	Evidence  []string   `json:"evidence"`
	Schedule  Schedule   `json:"schedule"`
	Pool      PoolUse    `json:"pool"`
	Generator Generator  `json:"generator"`
	Nodes     []Node     `json:"nodes"`
	Series    []Second   `json:"series"`
	Events    []Event    `json:"events"`
	Fault     *FaultTold `json:"fault,omitempty"`
	KeysLeft  uint64     `json:"keys_left"` // not deleted at the end; they expire by themselves
	HDR       Encoded    `json:"hdr"`
	Host      HostReport `json:"host"`
}

// Setup is what the run used, defaults filled in.
type Setup struct {
	Engine          string   `json:"engine"`
	Addrs           []string `json:"addrs"`
	Rate            float64  `json:"rate"` // 0: closed loop
	DurationSeconds float64  `json:"duration_seconds"`
	WarmupSeconds   float64  `json:"warmup_seconds"`
	Workers         int      `json:"workers"` // -1: unlimited
	Pipeline        int      `json:"pipeline"`
	AutoPipeline    bool     `json:"auto_pipeline"`
	Mix             Mix      `json:"mix"`
	Keys            int      `json:"keys"`
	Dist            Dist     `json:"dist"`
	ValueSize       int      `json:"value_size"`
	Prefix          string   `json:"prefix"`
	Seed            uint64   `json:"seed"`
	Preload         bool     `json:"preload"`
	Client          Client   `json:"client"`
}

// Client is the effective configuration of the go-redis client.
type Client struct {
	PoolSize      int   `json:"pool_size"`
	MinIdleConns  int   `json:"min_idle_conns"`
	MaxRedirects  int   `json:"max_redirects"`
	DialTimeout   int64 `json:"dial_timeout_ms"`
	ReadTimeout   int64 `json:"read_timeout_ms"`
	WriteTimeout  int64 `json:"write_timeout_ms"`
	PoolTimeout   int64 `json:"pool_timeout_ms"`
	ContextBounds bool  `json:"context_timeout_enabled"`
	TLS           bool  `json:"tls"`
}

// Rate is in operations per second. Wanted is zero for a closed loop; Achieved
// counts operations that succeeded.
type Rate struct {
	Wanted   float64 `json:"wanted"`
	Achieved float64 `json:"achieved"`
}

// Latencies are percentiles in microseconds. Service is from send to reply,
// Intended from the due time to the reply, both of operations that succeeded.
// Wait is from the due time to the send. Failed is Intended of operations that
// failed.
type Latencies struct {
	Service  Percentiles `json:"service"`
	Intended Percentiles `json:"intended"`
	Wait     Percentiles `json:"wait"`
	Failed   Percentiles `json:"failed"`
}

// Percentiles are in microseconds, exact to 0.1 %; all are zero when Count is.
type Percentiles struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	P50   int64   `json:"p50"`
	P95   int64   `json:"p95"`
	P99   int64   `json:"p99"`
	P999  int64   `json:"p999"`
	Max   int64   `json:"max"`
}

func (h *histogram) percentiles() Percentiles {
	p := Percentiles{Count: h.h.TotalCount()}
	if p.Count > 0 {
		p.Mean = math.Round(h.h.Mean()*10) / 10
		p.P50, p.P95, p.P99, p.P999, p.Max = h.at(50), h.at(95), h.at(99), h.at(99.9), h.max
	}
	return p
}

// Redirects are counted from before the preload to after the clean-up: by the
// client reply by reply, by the servers in errorstats.
type Redirects struct {
	Client ClientRedirects `json:"client"`
	Server ServerRedirects `json:"server"`
}

// ClientRedirects are replies that the client saw.
type ClientRedirects struct {
	Moved       uint64 `json:"moved"`
	Ask         uint64 `json:"ask"`
	TryAgain    uint64 `json:"tryagain"`
	ClusterDown uint64 `json:"clusterdown"`
}

// ServerRedirects are replies that the servers sent.
type ServerRedirects struct {
	Moved uint64 `json:"moved"`
	Ask   uint64 `json:"ask"`
}

// Schedule says how well an open loop kept its times. Lag is how late requests
// were sent for which a worker was free: the generator's own lateness.
// Interarrival is the error of the time between two hand-overs to workers.
// BusyHits are requests that found all workers busy.
type Schedule struct {
	Lag          Percentiles `json:"lag_us"`
	Interarrival Percentiles `json:"interarrival_error_us"`
	QueuePeak    int64       `json:"queue_peak"`
	BusyHits     int64       `json:"found_workers_busy"`
}

// PoolUse sums the connection pools of all nodes over the run.
type PoolUse struct {
	Waits       uint64  `json:"waits"`
	WaitSeconds float64 `json:"wait_seconds"`
	Timeouts    uint64  `json:"timeouts"`
	Stale       uint64  `json:"stale"`
	Dials       uint64  `json:"dials"`
}

// Generator is what the run cost this process and what its host had left.
// Shares are 0 to 1; -1 where the system does not tell.
type Generator struct {
	GOMAXPROCS     int     `json:"gomaxprocs"`
	CPUSeconds     float64 `json:"cpu_seconds"`
	CPUShare       float64 `json:"cpu_share"`      // of GOMAXPROCS processors
	HostCPUShare   float64 `json:"host_cpu_share"` // of all processors, all programs
	GCPauseSeconds float64 `json:"gc_pause_seconds"`
	GCPauseMax     int64   `json:"gc_pause_max_us"`
	Throttled      uint64  `json:"throttled_periods"` // by a cgroup quota
}

// Node is one node over the run.
type Node struct {
	Addr  string `json:"addr"`
	ID    string `json:"id,omitempty"`
	Role  string `json:"role,omitempty"`
	State string `json:"state"` // "ok", "joined", "restarted", "reset", "no answer" or "seed" (an address that is none of a node)

	Client ClientRedirects `json:"client"`
	Server ServerRedirects `json:"server"`

	// Owned are operations on slots that this node owned, as far as known.
	Owned       uint64 `json:"owned_operations"`
	OwnedErrors uint64 `json:"owned_errors"`
	Slowest     int64  `json:"slowest_us"`

	Attempts     uint64 `json:"attempts"`
	Timeouts     uint64 `json:"timeouts"`
	NetErrors    uint64 `json:"net_errors"`
	PoolTimeouts uint64 `json:"pool_timeouts"`
	Dials        uint64 `json:"dials"`

	// From INFO: differences over the run, and settings.
	Rejected   uint64  `json:"rejected_connections"`
	MaxClients int64   `json:"maxclients"`
	Evicted    uint64  `json:"evicted_keys"`
	Expired    uint64  `json:"expired_keys"`
	Commands   uint64  `json:"commands"`
	CPUShare   float64 `json:"cpu_share"` // of the main thread, 0 to 1
}

// Second is one second of the run. T is its end, in seconds since the end of
// the warm-up (negative in the warm-up, past the duration while it drains).
type Second struct {
	T        float64 `json:"t"`
	Ops      uint64  `json:"operations"`
	Errors   uint64  `json:"errors"`
	Service  Brief   `json:"service_us"`
	Intended Brief   `json:"intended_us"`
	Moved    uint64  `json:"moved"`
	Ask      uint64  `json:"ask"`
	Queue    int64   `json:"queue"`
	InFlight int64   `json:"in_flight"`
}

// Brief are percentiles of one second in microseconds.
type Brief struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

func (h *histogram) brief() Brief { return Brief{h.at(50), h.at(99), h.max} }

// Encoded are the whole histograms, in microseconds, in the compressed V2 form
// that all HdrHistogram libraries read, base64.
type Encoded struct {
	Service  string `json:"service"`
	Intended string `json:"intended"`
}

// HostReport is the host that the run was made on and the limits of the
// process that made it.
type HostReport struct {
	sysctl.Host
	OpenFiles string `json:"limit_open_files"`
}

// WriteJSON writes the result, indented.
func (r *Result) WriteJSON(w io.Writer) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("bench result: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// ReadResult reads what WriteJSON wrote. Another schema is an error.
func ReadResult(rd io.Reader) (*Result, error) {
	var r Result
	if err := json.NewDecoder(rd).Decode(&r); err != nil {
		return nil, fmt.Errorf("bench result: %w", err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("bench result: schema %q, want %q", r.Schema, Schema)
	}
	return &r, nil
}

func setup(o Options) Setup {
	return Setup{
		Engine: o.Engine, Addrs: o.Cluster.Addrs, Rate: o.Rate,
		DurationSeconds: o.Duration.Seconds(), WarmupSeconds: o.Warmup.Seconds(),
		Workers: o.Workers, Pipeline: o.Pipeline, AutoPipeline: o.AutoPipeline,
		Mix: o.Mix, Keys: o.Keys, Dist: o.Dist, ValueSize: o.ValueSize,
		Prefix: o.Prefix, Seed: o.Seed, Preload: !o.NoPreload,
	}
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
