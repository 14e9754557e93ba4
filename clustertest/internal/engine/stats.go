package engine

import (
	"bytes"
	"math/bits"
	"strings"
	"sync/atomic"
	"time"
)

// stats are the counters of one run of a node. All but written are guarded by
// Cluster.mu.
type stats struct {
	scratch       call     // reused by process
	keys          []string // reused by invoke
	connections   int64
	rejectedConns int64
	processed     int64
	input         int64
	written       atomic.Int64
	errorReplies  int64
	errors        map[string]int64
	commands      []commandStats
}

type commandStats struct {
	calls, usec, rejected, failed int64
	latency                       histogram
}

func newStats() *stats { return &stats{errors: map[string]int64{}} }

func (s *stats) command(c *command) *commandStats {
	if s.commands == nil {
		s.commands = make([]commandStats, table().count)
	}
	return &s.commands[c.id]
}

// countError counts an error reply by its code.
func (s *stats) countError(reply []byte) {
	s.errorReplies++
	msg := bytes.TrimSuffix(reply[1:], []byte("\r\n"))
	code, _, found := strings.Cut(string(msg), " ")
	if !found || code == "" {
		code = "ERR"
	}
	s.errors[code]++
}

// reset is CONFIG RESETSTAT.
func (s *stats) reset() {
	s.connections, s.rejectedConns, s.processed, s.input, s.errorReplies = 0, 0, 0, 0, 0
	s.written.Store(0)
	s.errors = map[string]int64{}
	s.commands = nil
}

// A histogram counts durations in buckets that are 1/16 wide.
type histogram struct {
	buckets []int32
	n       int64
}

func (h *histogram) record(d time.Duration) {
	if h.buckets == nil {
		h.buckets = make([]int32, 40*16)
	}
	h.buckets[bucket(max(d.Nanoseconds(), 1000))]++
	h.n++
}

// bucket is the index for a value of nanoseconds.
func bucket(ns int64) int {
	exp := bits.Len64(uint64(ns)) - 5 // keep 5 significant bits
	return min(exp*16+int(ns>>exp)-16, 40*16-1)
}

// upper is the largest value of a bucket, in nanoseconds.
func upper(i int) int64 {
	exp := i / 16
	return (int64(i%16)+17)<<exp - 1
}

// percentile is in microseconds.
func (h *histogram) percentile(p float64) float64 {
	want := int64(p/100*float64(h.n) + 0.5)
	seen := int64(0)
	for i, c := range h.buckets {
		if seen += int64(c); c > 0 && seen >= want {
			return float64(upper(i)) / 1000
		}
	}
	return 0
}
