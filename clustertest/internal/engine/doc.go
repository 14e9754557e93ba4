// Package engine is a Redis Cluster inside this process: nodes that speak RESP
// on TCP or net.Pipe connections, route commands as redis-server 7.0 does, and
// keep the data in one miniredis that is used as a command engine only.
//
// The parts, a file each: the command table as a real server reports it
// (commands), the shared topology and what each node sees of it (topology,
// route), data with an index by slot and by deadline (store, expire),
// connections (conn), the order of checks before a command runs (dispatch),
// and the commands by family.
//
// One lock, Cluster.mu, guards the topology, the data and the counters, and
// each command runs under it. Nothing that waits (sockets, timers, blocking
// commands, pauses) happens under it. Lock order: Cluster.mu, then conn.mu.
//
// Left out: gossip, votes and split brain (one truth, and a timer per silent
// node), eviction, persistence, the DUMP format of real servers. A script that
// never ends keeps the whole cluster waiting.
package engine
