// Package clustertest starts throwaway Redis Clusters for tests, demos and
// experiments.
//
// Code that talks to a cluster is hard to test: a fake that knows one node
// never answers MOVED, and a real cluster takes seconds to create and minutes
// to break in the right way. This package starts a cluster in a millisecond
// inside the test process ([Embedded]) or in about 0.3 s as real redis-server
// or valkey-server processes ([Processes]), behind one interface: move a slot
// under the client, leave it half moved, fail over, kill, pause, cut
// connections, lose a reply.
//
// The smallest program:
//
//	func TestCounter(t *testing.T) {
//		c := clustertest.Run(t, clustertest.Options{Replicas: 1})
//		rdb := c.Client()
//		rdb.Incr(t.Context(), "hits")
//		c.NodeForKey("hits").Kill()
//		...
//	}
//
// A cluster never touches anything it did not start: nodes of processes prove
// by node id and process id that they are ours before any command that
// changes something is sent, and each cluster takes a loopback address of its
// own where the system allows it, so that two clusters on one machine never
// meet.
//
// What a backend cannot do it says: see [Caps] and [ErrNotSupported]. It never
// does something else silently.
//
// Left out: Redis modules, Sentinel, TLS on the embedded backend, gossip and
// votes on the embedded backend (failover there is a timer).
package clustertest
