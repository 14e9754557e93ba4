package clustertest

import "context"

// Embedded runs the nodes inside this process. Nothing needs to be installed.
type Embedded struct {
	// InMemory makes connections net.Pipe pairs instead of loopback TCP, so
	// that whole scenarios run in testing/synctest virtual time. Clients need
	// the Dialer of [Cluster.ClientOptions].
	InMemory bool
}

// Name implements [Backend].
func (Embedded) Name() string { return "embedded" }

// Caps implements [Backend].
func (e Embedded) Caps() Caps {
	return Caps{InMemory: e.InMemory, Faults: true, Persists: true}
}

// Launch implements [Backend].
func (e Embedded) Launch(ctx context.Context, o Options) (Instance, error) { panic("to be written") }
