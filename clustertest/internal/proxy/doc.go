// Package proxy stands in front of one node of a real cluster and makes go
// wrong what tests ask for: delays, errors, lost and cut replies, resets, an
// old view of the topology, replication that stands still.
//
// It reads the protocol in both directions, so that it knows which reply
// belongs to which command: in pipelines, in RESP2 and RESP3, with pushes and
// pub/sub in between, and while a command blocks. What no fault asks for
// passes byte for byte. After PSYNC or SYNC a connection carries no commands
// any more and is copied.
//
// Left out: replies are not matched to commands after MONITOR and CLIENT REPLY
// OFF or SKIP, where the server sends more or fewer replies than commands.
// Faults that need a reply (lost, cut) have no effect there.
package proxy
