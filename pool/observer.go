package pool

import "github.com/redis/go-redis/v9"

// An Observer counts what each node of a cluster client answers, attempt by
// attempt: go-redis' own cluster hooks see only the final result, redirects
// followed and retries made are hidden from them. Single commands and
// pipelines are covered; redirects of transactions are not visible to hooks.
//
// The same observer feeds the library's metrics, rcctl doctor and rcctl bench.
// Its methods may be called concurrently.
type Observer struct{}

// Observe attaches a new observer to a client. Call it before the client's
// first command: nodes known earlier are not seen.
func Observe(c *redis.ClusterClient) *Observer { panic("to be written") }

// Nodes are the counters of every node ever seen, by address. They never go
// backwards, also when a node is replaced.
func (o *Observer) Nodes() []NodeStats { panic("to be written") }

// NodeStats counts attempts at one node since the client was made.
type NodeStats struct {
	Addr string // announced host:port
	// Attempts are commands sent or tried, one per command of a pipeline;
	// handshakes are not counted.
	Attempts uint64
	// Replies that send the client elsewhere or refuse.
	Moved, Ask, TryAgain, ClusterDown, ReadOnly, Loading uint64
	// OtherErrors are further error replies of the server (WRONGTYPE, OOM ...).
	// A nil reply is not an error.
	OtherErrors uint64
	// Timeouts are reads, writes and dials that ran into a deadline;
	// NetErrors are other network errors; PoolTimeouts are waits for a free
	// connection that ended without one.
	Timeouts, NetErrors, PoolTimeouts uint64
	// Dials is the number of connections opened.
	Dials uint64
}
