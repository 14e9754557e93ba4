package clustertest

import (
	"context"
	"fmt"
)

// An Endpoint is the form in which nodes tell clients where the nodes are, in
// CLUSTER SLOTS and SHARDS, MOVED and ASK.
type Endpoint string

const (
	// EndpointIP names IP addresses, the default of Redis.
	EndpointIP Endpoint = "ip"
	// EndpointHostname names what [Node.AnnounceHost] set, "?" for a node
	// without.
	EndpointHostname Endpoint = "hostname"
	// EndpointUnknown names nothing (NULL in CLUSTER SLOTS): the client has to
	// use the host that it asked.
	EndpointUnknown Endpoint = "unknown-endpoint"
)

// PreferEndpoint sets in which form this node names nodes
// (cluster-preferred-endpoint-type).
func (n *Node) PreferEndpoint(ctx context.Context, e Endpoint) error {
	switch e {
	case EndpointIP, EndpointHostname, EndpointUnknown:
	default:
		return fmt.Errorf("clustertest: endpoint type of %s is %q: use %q, %q or %q", n, e, EndpointIP, EndpointHostname, EndpointUnknown)
	}
	if err := n.do(ctx, "config", "set", "cluster-preferred-endpoint-type", string(e)).Err(); err != nil {
		return fmt.Errorf("clustertest: endpoint type: %w", err)
	}
	return nil
}

// PreferEndpoint sets on all live nodes in which form they name nodes.
func (c *Cluster) PreferEndpoint(ctx context.Context, e Endpoint) error {
	return each(c.liveNodes(), func(n *Node) error { return n.PreferEndpoint(ctx, e) })
}

// AnnounceHost sets the host name of the node (cluster-announce-hostname) and
// returns when all live nodes know it. Clients see it from nodes that prefer
// [EndpointHostname]; the nodes among themselves keep using IP addresses, so
// the cluster stays in order. "192.0.2.1" (an address for documentation) makes
// the node unreachable for clients, "" takes the name away.
func (n *Node) AnnounceHost(ctx context.Context, host string) error {
	err := n.do(ctx, "config", "set", "cluster-announce-hostname", host).Err()
	if err == nil {
		err = poll(ctx, func(ctx context.Context) error {
			for _, v := range n.cluster.views(ctx, (*Node).view) {
				if v.err != nil {
					return v.err
				}
				if line, _ := v.find(n.id); line.Hostname != host {
					return fmt.Errorf("%s knows it as %q", v.node, line.Hostname)
				}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("clustertest: announce %s as %q: %w", n, host, err)
	}
	return nil
}
