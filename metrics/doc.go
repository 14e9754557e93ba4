// Package metrics exports what the other packages know to Prometheus: one
// collector per thing observed, to be registered on any registry.
//
// The smallest program:
//
//	reg := prometheus.NewRegistry()
//	reg.MustRegister(
//		metrics.Pool(c),              // *pool.Cluster: connections, attempts, redirects, breaker
//		metrics.Cache("products", k), // *lockcluster.Cache: hits, loads, waits
//		metrics.Health("shop", h),    // *health.Checker: verdict, reasons, slots
//	)
//	http.Handle("/metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
//
// [Client] is for go-redis clients that package pool did not make. [Servers]
// asks the nodes themselves for memory, clients, hits, processor time and
// errors; one process a cluster is enough for that, such as rcctl exporter,
// which needs no change in any application.
//
// # Names and labels
//
// docs/metrics.md lists every metric. Several things of one kind tell
// themselves apart by a label: pool, cache or cluster. Registering two of the
// same kind and name is an error of the registry.
//
// Nodes are named by their announced address, the same in every collector.
// There is no label for keys. The pattern label comes from
// lockcluster.Config.Pattern, which keeps at most 100 apart. After [MaxNodes]
// addresses further ones share the label value "other".
//
// # Counters
//
// Counters of this process never go backwards: not when a node is replaced,
// fails over, restarts or loses slots, since they are kept by address for as
// long as the process lives. Counters of servers (rcctl_server_…_total) are
// what the server says. They begin at zero when it restarts or somebody runs
// CONFIG RESETSTAT; rate() and increase() take the drop for the reset that it
// is. A server that does not answer has no values in that scrape, not zeros.
//
// # What a scrape costs
//
// Pool, Client and Cache read counters and ask nobody. Health asks for a
// report, which is up to half a second old. Servers sends each node INFO and
// CLUSTER SHARDS in one round trip, on a connection of its own; never CLIENT
// LIST. Scrapes at the same time share one round.
//
// Left out: pushing, and metrics of the Go runtime (client_golang has them).
package metrics
