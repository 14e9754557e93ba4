package clustertest

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// A Node is one node of a [Cluster]. Its methods may be called concurrently.
type Node struct{}

// ID is the node id, 40 hexadecimal digits.
func (n *Node) ID() string { panic("to be written") }

// Addr is the announced host:port.
func (n *Node) Addr() string { panic("to be written") }

// IsMaster reports whether the node calls itself a master now.
func (n *Node) IsMaster() bool { panic("to be written") }

// Replicas are the replicas of this master now, by the view of a live node.
func (n *Node) Replicas() []*Node { panic("to be written") }

// Client is a client of this node alone, on connections that no fault applies
// to. It follows no redirect. It is closed with the cluster.
func (n *Node) Client() *redis.Client { panic("to be written") }

// Alive reports whether the node was started and neither killed nor stopped.
func (n *Node) Alive() bool { panic("to be written") }

// Kill, Stop, Start, Pause, Resume and ResetConns do what [Server] says.
func (n *Node) Kill() error                     { panic("to be written") }
func (n *Node) Stop(ctx context.Context) error  { panic("to be written") }
func (n *Node) Start(ctx context.Context) error { panic("to be written") }
func (n *Node) Pause() error                    { panic("to be written") }
func (n *Node) Resume() error                   { panic("to be written") }
func (n *Node) ResetConns() error               { panic("to be written") }

// Inject adds a fault to this node.
func (n *Node) Inject(f Fault) (Injection, error) { panic("to be written") }

// FreezeView makes the node answer with today's topology until it is thawed.
func (n *Node) FreezeView(frozen bool) error { panic("to be written") }

// PauseReplication stops or lets go on what this replica receives.
func (n *Node) PauseReplication(paused bool) error { panic("to be written") }
