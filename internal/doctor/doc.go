// Package doctor finds out what will hurt a client of a Redis or Valkey
// cluster, in whose scope, with the fix.
//
// It works in three steps in three places. [Gather] reads this host, its
// server processes and the cluster into a [Snapshot], a plain struct that can
// be saved as JSON. [Judge] runs the checks over a snapshot; it does no I/O
// and reads no clock, so a snapshot from another host or of last year gives
// the same report. The Write functions render a [Report].
//
// A check is one file with one literal that registers itself; its passing and
// failing snapshots are in testdata under its id. What a check cannot read is
// skipped with the reason, never ok.
package doctor
