package clustertest

import "time"

// Options describe a cluster. The zero value is three masters without
// replicas on the embedded backend.
type Options struct {
	// Backend runs the nodes. nil means Embedded{}.
	Backend Backend

	// Masters is the number of masters, 1 to 100. Zero means 3. The 16384
	// slots are spread evenly, in order.
	Masters int

	// Replicas is the number of replicas of each master, 0 to 5.
	Replicas int

	// NodeTimeout is cluster-node-timeout: how long a node may be silent
	// before the others call it failed, at least 100 ms. Zero means 1 s.
	NodeTimeout time.Duration

	// Config holds further directives of redis.conf for every node, such as
	// "cluster-require-full-coverage": "no". A directive that the backend
	// does not know is an error.
	Config map[string]string

	// Port is the data port of the first node; the others take the ports
	// behind it. 1024 to 32767 minus the nodes. Zero means free ports.
	Port int
}
