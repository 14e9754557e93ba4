package clustertest

import "context"

// Processes runs each node as a redis-server or valkey-server process.
type Processes struct {
	// Path is the server binary. Empty means redis-server, else
	// valkey-server, from PATH.
	Path string
	// Proxy puts a proxy in front of each node, whose port the node
	// announces: clients, replicas and MIGRATE go through it. Faults need it;
	// it costs throughput.
	Proxy bool
}

// Name implements [Backend].
func (Processes) Name() string { return "processes" }

// Caps implements [Backend].
func (p Processes) Caps() Caps {
	return Caps{Real: true, Faults: p.Proxy, ShardedPubSub: true, Tracking: true}
}

// Launch implements [Backend].
func (p Processes) Launch(ctx context.Context, o Options) (Instance, error) { panic("to be written") }
