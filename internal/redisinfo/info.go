package redisinfo

import "time"

// Info is one INFO reply.
type Info struct {
	// Fields holds every name:value line of the sections that are flat.
	Fields map[string]string
	// Errors counts error replies by their prefix ("MOVED"), from errorstats.
	Errors map[string]uint64
	// ErrorsDisabled: the server stopped counting (too many distinct
	// prefixes), so Errors is meaningless.
	ErrorsDisabled bool
	// Commands are the commandstats by lower-case name ("get",
	// "config|get").
	Commands map[string]CommandStat
	// LatencyUsec are the latencystats percentiles by command and percentile:
	// LatencyUsec["get"]["p99"].
	LatencyUsec map[string]map[string]float64
	// Keyspace are the databases by number.
	Keyspace map[int]KeyspaceStat
}

// CommandStat is one line of commandstats.
type CommandStat struct {
	Calls, Usec, Rejected, Failed uint64
}

// KeyspaceStat is one line of the keyspace section.
type KeyspaceStat struct {
	Keys, Expires uint64
	AvgTTL        time.Duration
}

// ParseInfo reads an INFO reply. Lines it cannot read are passed over.
func ParseInfo(reply string) Info { panic("to be written") }

// Int is a field as an integer; ok is false when it is missing or is none.
func (i Info) Int(field string) (v int64, ok bool) { panic("to be written") }

// Float is a field as a number; ok is false when it is missing or is none.
func (i Info) Float(field string) (v float64, ok bool) { panic("to be written") }

// String is a field, empty when it is missing.
func (i Info) String(field string) string { panic("to be written") }

// Role is "master" or "slave" as INFO replication says it.
func (i Info) Role() string { panic("to be written") }

// RunID identifies one run of the server process.
func (i Info) RunID() string { panic("to be written") }

// Version is redis_version, or valkey_version where the server has one; name
// is "redis" or "valkey".
func (i Info) Version() (name, version string) { panic("to be written") }
