package bench

import (
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// usage measures what a run costs this process and its host.
type usage struct {
	begin             time.Time
	cpu               time.Duration
	hostBusy, hostAll float64
	gcTotal           float64
	gcCounts          []uint64
	throttled         uint64
	result            Generator
	haveCPU, haveHost bool
}

func startUsage() *usage {
	u := &usage{begin: time.Now()}
	u.cpu, u.haveCPU = processCPU()
	u.hostBusy, u.hostAll, u.haveHost = hostCPU()
	u.gcCounts, u.gcTotal = gcPauses()
	u.throttled = throttledPeriods()
	return u
}

func (u *usage) stop() {
	g := Generator{GOMAXPROCS: runtime.GOMAXPROCS(0), CPUShare: -1, HostCPUShare: -1}
	wall := time.Since(u.begin).Seconds()
	if cpu, ok := processCPU(); ok && u.haveCPU && wall > 0 {
		g.CPUSeconds = (cpu - u.cpu).Seconds()
		g.CPUShare = g.CPUSeconds / wall / float64(g.GOMAXPROCS)
	}
	if busy, all, ok := hostCPU(); ok && u.haveHost && all > u.hostAll {
		g.HostCPUShare = (busy - u.hostBusy) / (all - u.hostAll)
	}
	counts, total := gcPauses()
	g.GCPauseSeconds = max(total-u.gcTotal, 0)
	g.GCPauseMax = maxPause(u.gcCounts, counts)
	if t := throttledPeriods(); t > u.throttled {
		g.Throttled = t - u.throttled
	}
	u.result = g
}

const pauseMetric = "/sched/pauses/total/gc:seconds"

// gcPauses are the counts of the runtime's pause histogram and the sum of all
// pauses, taken from the upper ends of its buckets.
func gcPauses() (counts []uint64, sum float64) {
	s := []metrics.Sample{{Name: pauseMetric}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil, 0
	}
	h := s[0].Value.Float64Histogram()
	for i, n := range h.Counts {
		if n > 0 {
			sum += float64(n) * upperEnd(h.Buckets, i)
		}
	}
	return append([]uint64(nil), h.Counts...), sum
}

func upperEnd(buckets []float64, i int) float64 {
	if end := buckets[i+1]; !math.IsInf(end, 0) {
		return end
	}
	return buckets[i]
}

// maxPause is the longest pause between two readings in µs.
func maxPause(before, after []uint64) int64 {
	s := []metrics.Sample{{Name: pauseMetric}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64Histogram || len(before) != len(after) {
		return 0
	}
	buckets := s[0].Value.Float64Histogram().Buckets
	for i := len(after) - 1; i >= 0; i-- {
		if after[i] > before[i] {
			return int64(upperEnd(buckets, i) * 1e6)
		}
	}
	return 0
}

// hostCPU reads /proc/stat: busy and all ticks of all processors.
func hostCPU() (busy, all float64, ok bool) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, false
	}
	line, _, _ := strings.Cut(string(b), "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, 0, false
	}
	for i, s := range f[1:9] { // user nice system idle iowait irq softirq steal; guest is in user
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return 0, 0, false
		}
		all += v
		if i != 3 && i != 4 {
			busy += v
		}
	}
	return busy, all, true
}

// throttledPeriods reads how often the cgroup quota stopped this process.
func throttledPeriods() uint64 {
	for _, name := range []string{"/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"} {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			if k, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok && k == "nr_throttled" {
				n, _ := strconv.ParseUint(v, 10, 64)
				return n
			}
		}
	}
	return 0
}
