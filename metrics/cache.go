package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rcctl/rcctl/lockcluster"
)

var cacheGroup = &group{title: "Stampede locks and caches (`Cache`)", owner: "cache"}

var (
	cacheRequests = cacheGroup.counter("rcctl_lockcluster_requests_total",
		"Calls by result: fresh, early, stale (from Redis); miss (a load was waited for); negative (not found); fallback (loaded alone after waiting); copy (last good copy); error; canceled.",
		"pattern", "result")
	cacheShared = cacheGroup.counter("rcctl_lockcluster_shared_total",
		"Calls whose answer went to more than one caller of this process.", "pattern")
	cacheElsewhere = cacheGroup.counter("rcctl_lockcluster_elsewhere_total",
		"Misses answered by a load of another process.", "pattern")
	cacheLoads = cacheGroup.counter("rcctl_lockcluster_loads_total",
		"Calls of the loader, by reason and outcome.", "reason", "outcome")
	cacheLoadSeconds = cacheGroup.histogram("rcctl_lockcluster_load_seconds", "Time of loader calls.")
	cacheWaitSeconds = cacheGroup.histogram("rcctl_lockcluster_wait_seconds",
		"Time waited for somebody else's load, by what ended the wait: message, timer, none (it ran out).", "woken_by")
	cacheLeases = cacheGroup.counter("rcctl_lockcluster_leases_total",
		"Answers to the question for a lease: acquired, held (by another), fresh (loaded meanwhile), cooling, foreign; and lost, while a load ran.", "answer")
	cacheFills = cacheGroup.counter("rcctl_lockcluster_fills_total",
		"Values to store, by outcome: stored, lost (superseded), refused (by Redis), unanswered, too_large.", "outcome")
	cacheSkipped = cacheGroup.counter("rcctl_lockcluster_refreshes_skipped_total",
		"Background refreshes left to a later reader because all workers were busy.")
	cacheUndecodable = cacheGroup.counter("rcctl_lockcluster_undecodable_total",
		"Stored values that could not be decoded and were loaded anew.")
	cacheShardsOpened = cacheGroup.counter("rcctl_lockcluster_shards_opened_total",
		"How often a shard was found not to answer.")
	cacheShardsSick = cacheGroup.gauge("rcctl_lockcluster_shards_sick",
		"Shards that are left alone now because they do not answer.")
	cacheSubscribed = cacheGroup.gauge("rcctl_lockcluster_subscribed",
		"1 while the wake-up subscription is alive; without it timers wake waiters.")
	cacheCopies = cacheGroup.gauge("rcctl_lockcluster_copies", "Last good copies kept in this process.")
)

// Cache collects the counts of a cache; name becomes the label cache.
func Cache(name string, c *lockcluster.Cache) prometheus.Collector {
	return &cacheCollector{family: newFamily(name, cacheGroup), stats: c.Stats}
}

type cacheCollector struct {
	family
	stats func() lockcluster.Stats
}

func (c *cacheCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.stats()
	for _, pattern := range sorted(s.Patterns) {
		p := s.Patterns[pattern]
		for _, v := range []struct {
			result string
			n      uint64
		}{
			{"fresh", p.Fresh}, {"early", p.Early}, {"stale", p.Stale}, {"miss", p.Miss}, {"negative", p.Negative},
			{"fallback", p.Fallback}, {"copy", p.Copy}, {"error", p.Error}, {"canceled", p.Canceled},
		} {
			c.emit(ch, cacheRequests, float64(v.n), pattern, v.result)
		}
		c.emit(ch, cacheShared, float64(p.Shared), pattern)
		c.emit(ch, cacheElsewhere, float64(p.Elsewhere), pattern)
	}
	for _, reason := range sorted(s.Loads) {
		for _, outcome := range sorted(s.Loads[reason]) {
			c.emit(ch, cacheLoads, float64(s.Loads[reason][outcome]), reason, outcome)
		}
	}
	c.histogram(ch, cacheLoadSeconds, s.LoadSeconds)
	for _, by := range sorted(s.WaitSeconds) {
		c.histogram(ch, cacheWaitSeconds, s.WaitSeconds[by], by)
	}
	c.byName(ch, cacheLeases, s.Leases)
	c.byName(ch, cacheFills, s.Fills)
	c.emit(ch, cacheSkipped, float64(s.RefreshesSkipped))
	c.emit(ch, cacheUndecodable, float64(s.Undecodable))
	c.emit(ch, cacheShardsOpened, float64(s.ShardsOpened))
	c.emit(ch, cacheShardsSick, float64(s.ShardsSick))
	c.flag(ch, cacheSubscribed, s.Subscribed)
	c.emit(ch, cacheCopies, float64(s.Copies))
}

func (f family) byName(ch chan<- prometheus.Metric, s *spec, values map[string]uint64) {
	for _, name := range sorted(values) {
		f.emit(ch, s, float64(values[name]), name)
	}
}

// histogram sends a histogram, whose buckets become cumulative.
func (f family) histogram(ch chan<- prometheus.Metric, s *spec, h lockcluster.Histogram, labels ...string) {
	buckets := make(map[float64]uint64, len(h.Bounds))
	var n uint64
	for i, c := range h.Counts {
		n += c
		if i < len(h.Bounds) {
			buckets[h.Bounds[i]] = n
		}
	}
	ch <- prometheus.MustNewConstHistogram(f[s], n, h.Sum, buckets, valid(labels)...)
}
