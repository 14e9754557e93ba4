package doctor

import "fmt"

// parityKeys are settings that should not differ between nodes. Those with
// checks of their own (maxmemory-policy, cluster-node-timeout) are left out.
var parityKeys = []string{
	"activedefrag", "activerehashing", "appendfsync", "appendonly", "client-output-buffer-limit", "client-query-buffer-limit",
	"cluster-allow-reads-when-down", "cluster-migration-barrier", "cluster-replica-no-failover", "cluster-replica-validity-factor",
	"cluster-require-full-coverage", "databases", "hz", "io-threads", "lazyfree-lazy-eviction", "lazyfree-lazy-expire",
	"maxclients", "maxmemory", "maxmemory-clients", "maxmemory-samples", "min-replicas-to-write", "notify-keyspace-events",
	"protected-mode", "proto-max-bulk-len", "repl-backlog-size", "repl-diskless-sync", "repl-timeout", "save",
	"stop-writes-on-bgsave-error", "tcp-backlog", "tcp-keepalive", "timeout",
}

var _ = register(Check{
	ID: "S15", Title: "all nodes are configured alike", Severity: Warn,
	Why:    "a failover to a node that is configured differently changes how the cluster behaves",
	Fix:    "set them alike (CONFIG SET and CONFIG REWRITE, or the configuration management)",
	Verify: "redis-cli --cluster call HOST:PORT config get KEY",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		var out []Finding
		asked := 0
		for _, key := range parityKeys {
			values, _ := s.Cluster.configValues(key)
			if len(values) > 0 {
				asked++
			}
			if len(values) > 1 {
				out = append(out, Finding{Outcome: Warn, Scope: "cluster", Subject: key, Current: valuesText(values), Required: "the same on all nodes"})
			}
		}
		if asked == 0 {
			_, why := s.Cluster.configValues("maxmemory")
			return []Finding{skip("cluster", "configuration", why)}
		}
		if len(out) == 0 {
			return []Finding{{Outcome: OK, Scope: "cluster", Subject: "configuration", Current: fmt.Sprintf("%d settings are alike", asked), Required: "the same on all nodes"}}
		}
		return out
	},
})
