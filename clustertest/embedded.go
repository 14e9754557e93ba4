package clustertest

import (
	"context"
	"net"

	"github.com/rcctl/rcctl/clustertest/internal/engine"
	"github.com/rcctl/rcctl/clustertest/internal/fault"
)

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

// Launch implements [Backend]. Without Options.Port the nodes listen on a
// loopback address of their own where the system has one.
func (e Embedded) Launch(ctx context.Context, o Options) (Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := engine.Start(engine.Config{
		Masters: o.Masters, Replicas: o.Replicas, NodeTimeout: o.NodeTimeout,
		Directives: o.Config, Port: o.Port, InMemory: e.InMemory,
	})
	if err != nil {
		return nil, err
	}
	i := &embeddedInstance{c: c}
	for _, n := range c.Nodes() {
		i.servers = append(i.servers, embeddedServer{n})
	}
	return i, nil
}

type embeddedInstance struct {
	c       *engine.Cluster
	servers []Server
}

func (i *embeddedInstance) Servers() []Server { return i.servers }
func (i *embeddedInstance) Close() error      { return i.c.Close() }

func (i *embeddedInstance) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return i.c.Dial(ctx, network, addr)
}

// embeddedServer makes a node of the engine a Server.
type embeddedServer struct{ *engine.Node }

func (s embeddedServer) running() bool { return s.Running() }

func (s embeddedServer) Kill() error {
	s.Node.Kill()
	return nil
}

func (s embeddedServer) Stop(context.Context) error {
	s.Node.Stop()
	return nil
}

func (s embeddedServer) Inject(f Fault) (Injection, error) {
	return s.Node.Inject(fault.Fault(f)), nil
}
