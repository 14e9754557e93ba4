package pool

import (
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Setting is one effective option, and why it is what it is.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Origin is "default", "config" (set in the Config), or "tune" (changed by
	// Tune).
	Origin string `json:"origin"`
	Why    string `json:"why"`
}

// An Explanation is a Config as it takes effect.
type Explanation struct {
	Settings []Setting `json:"settings"`
	Worst    WorstCase `json:"worst_case"`
	// GoRedis is the worst case of plain go-redis with the same PoolSize,
	// MaxRetries and timeouts, for comparison.
	GoRedis WorstCase `json:"worst_case_go_redis"`
	// Notes are what an operator should know about this Config.
	Notes []string `json:"notes"`
}

// Explain says which options go-redis gets from this Config, what else is at
// work, and what one command costs at worst. The error is that of a Config
// that cannot work.
func (c Config) Explain() (Explanation, error) {
	r, err := c.resolve()
	if err != nil {
		return Explanation{}, fmt.Errorf("pool: %w", err)
	}
	before := r.clusterOptions()
	after := r.clusterOptions()
	if r.Tune != nil {
		r.Tune(after)
	}
	plain := &redis.ClusterOptions{MaxRetries: r.MaxRetries, DialTimeout: r.DialTimeout,
		ReadTimeout: r.ReadTimeout, WriteTimeout: r.WriteTimeout, PoolTimeout: r.PoolTimeout}
	e := Explanation{Worst: worstCase(after), GoRedis: worstCase(plain), Notes: r.notes(after)}
	e.Settings = append(goRedisSettings(c, before, after), r.ownSettings(c)...)
	return e, nil
}

// goRedisSettings compares what Config asked for with what Tune left of it.
func goRedisSettings(c Config, before, after *redis.ClusterOptions) []Setting {
	b, a := normal(before), normal(after)
	var out []Setting
	add := func(name string, set bool, was, is any, why string) {
		s := Setting{Name: name, Value: fmt.Sprint(is), Origin: "default", Why: why}
		switch {
		case fmt.Sprint(was) != s.Value:
			s.Origin = "tune"
		case set:
			s.Origin = "config"
		}
		out = append(out, s)
	}
	add("PoolSize", c.PoolSize != 0, b.PoolSize, a.PoolSize, "most connections per node; a true cap, nothing of go-redis comes on top")
	add("PipelinePoolSize", false, pipelinePool(before), pipelinePool(after), "go-redis would open a second pool of 10 per node for pipelines")
	add("MaxRedirects", c.MaxRetries != 0, b.MaxRedirects, a.MaxRedirects, "further attempts per command over the cluster, redirects included (Config.MaxRetries)")
	add("MaxRetries", c.NodeRetries != 0, b.MaxRetries, a.MaxRetries, "further attempts at one node for each of these (Config.NodeRetries): the two multiply")
	add("DialerRetries", false, b.DialerRetries, a.DialerRetries, "attempts per dial: go-redis' 5 multiply with the two above")
	add("DialTimeout", c.DialTimeout != 0, b.DialTimeout, a.DialTimeout, "one dial, TLS included")
	add("ReadTimeout", c.ReadTimeout != 0, b.ReadTimeout, a.ReadTimeout, "Redis answers in microseconds; long waits pile up goroutines")
	add("WriteTimeout", c.WriteTimeout != 0, b.WriteTimeout, a.WriteTimeout, "as ReadTimeout")
	add("PoolTimeout", c.PoolTimeout != 0, b.PoolTimeout, a.PoolTimeout, "wait for a free connection")
	add("ContextTimeoutEnabled", false, b.ContextTimeoutEnabled, a.ContextTimeoutEnabled, "otherwise a context does not bound reads and writes")
	add("MaxConcurrentDials", false, b.MaxConcurrentDials, a.MaxConcurrentDials, "dials at once per node: no reconnect storm")
	add("ConnMaxLifetime", false, b.ConnMaxLifetime, a.ConnMaxLifetime, "so that connections spread over new addresses; "+a.ConnMaxLifetimeJitter.String()+" of jitter, never all at once")
	add("DisableRoutingPolicies", false, b.DisableRoutingPolicies, a.DisableRoutingPolicies, "with them each command asks COMMAND first where the ACL forbids it")
	add("MaintNotifications", false, mode(before), mode(after), "a failing command in every handshake of servers that do not know them")
	add("ClientName", c.Name != "", b.ClientName, a.ClientName, "so that CLIENT LIST tells whose connections these are")
	return out
}

func pipelinePool(o *redis.ClusterOptions) string {
	switch {
	case o.PipelinePoolSize < 0:
		return "off"
	case o.PipelinePoolSize == 0:
		return strconv.Itoa(redis.DefaultPipelinePoolSize)
	}
	return strconv.Itoa(o.PipelinePoolSize)
}

func mode(o *redis.ClusterOptions) string {
	if o.MaintNotificationsConfig == nil {
		return "auto"
	}
	return string(o.MaintNotificationsConfig.Mode)
}

// ownSettings are what this package does itself. r is c resolved.
func (r Config) ownSettings(c Config) []Setting {
	origin := func(set bool) string {
		if set {
			return "config"
		}
		return "default"
	}
	return []Setting{
		{"MinIdleConns", strconv.Itoa(r.MinIdleConns), origin(c.MinIdleConns != 0), "kept ready per master, HELLO and AUTH done; go-redis' own are neither, and go to replicas too"},
		{"ConnMaxIdleTime", r.ConnMaxIdleTime.String(), origin(c.ConnMaxIdleTime != 0), "closes what nobody needed for so long, down to MinIdleConns, a tenth of the pool at once"},
		{"reload", reloadEvery.String(), "default", "of the topology, with jitter, and at once when a node fails or redirects; never more than 5 rounds a second"},
		{"breaker", "5 failures", "default", "of a node in a row; then commands to it fail in microseconds, and a ping every " + probeEvery.String() + " finds out when it is back"},
		{"shed below", shedBelow.String(), "default", "a command with less time left is not sent: its reply could not be awaited, and the connection would be lost"},
		{"BootTimeout", r.BootTimeout.String(), origin(c.BootTimeout != 0), "bounds New"},
	}
}

// notes tells what is allowed and yet worth a thought.
func (r Config) notes(o *redis.ClusterOptions) []string {
	out := timeoutNotes(o)
	n := normal(o)
	if n.MaxRetries > 0 {
		w := worstCase(o)
		out = append(out, fmt.Sprintf("NodeRetries multiply with MaxRetries: one command can run %d times on the servers", w.Stalled.Executions))
	}
	if w := worstCase(o).Single(); r.OpBudget > 0 && w > r.OpBudget {
		out = append(out, fmt.Sprintf("New refuses these settings: one command can take %s, OpBudget is %s", w, r.OpBudget))
	}
	if len(r.Addrs) == 1 {
		out = append(out, "one seed address only: a process cannot start while that node is down")
	}
	if pipelinePool(o) != "off" {
		out = append(out, "a pool for pipelines comes on top of PoolSize")
	}
	return out
}

// timeoutNotes are those that New logs.
func timeoutNotes(o *redis.ClusterOptions) (out []string) {
	n := normal(o)
	for _, t := range []struct {
		name string
		d    time.Duration
	}{{"ReadTimeout", n.ReadTimeout}, {"WriteTimeout", n.WriteTimeout}} {
		switch {
		case t.d == 0:
			out = append(out, t.name+" is off: a stalled node holds its callers for ever")
		case t.d > 500*time.Millisecond:
			out = append(out, fmt.Sprintf("%s %s is above 500ms: goroutines pile up behind a stalled node until its breaker opens", t.name, t.d))
		case t.d < 200*time.Millisecond:
			out = append(out, fmt.Sprintf("%s %s is below 200ms: a short stall of the server or a retransmitted packet (200 ms at the least) becomes an error", t.name, t.d))
		}
	}
	return out
}
