package redisinfo

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Info is one INFO reply. The zero value is an empty one; read its maps, do
// not write to those of a parsed reply that others use.
type Info struct {
	// Fields holds every name:value line of the sections that are flat. Of a
	// name that occurs more than once ("module") the last line is kept.
	Fields map[string]string
	// Sections are the section headers seen, in lower case ("stats"). A
	// section that the server announces but leaves empty is in here.
	Sections map[string]bool
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

// ReplicaLink is one replica as its master's INFO replication says it.
type ReplicaLink struct {
	Host   string
	Port   int
	State  string        // "online" once the replica follows the stream
	Offset int64         // what the replica acknowledged, in bytes of the stream
	Lag    time.Duration // since its last acknowledgement, whole seconds
}

// ParseInfo reads an INFO reply. Lines it cannot read are passed over. The
// maps of the result are never nil.
func ParseInfo(reply string) Info {
	i := Info{
		Fields:      map[string]string{},
		Sections:    map[string]bool{},
		Errors:      map[string]uint64{},
		Commands:    map[string]CommandStat{},
		LatencyUsec: map[string]map[string]float64{},
		Keyspace:    map[int]KeyspaceStat{},
	}
	for line := range strings.Lines(reply) {
		line = strings.TrimRight(line, "\r\n")
		if name, ok := strings.CutPrefix(line, "#"); ok {
			i.Sections[strings.ToLower(strings.TrimSpace(name))] = true
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" {
			continue
		}
		if !i.structured(name, value) {
			i.Fields[name] = value
		}
	}
	return i
}

// errorsDisabled is the one prefix a server shows when it was flooded with
// distinct ones: all counts were dropped and MOVED is no longer counted.
const errorsDisabled = "ERRORSTATS_DISABLED"

// structured takes the lines whose value is a list of k=v pairs. It reports
// false for a flat line.
func (i *Info) structured(name, value string) bool {
	if cmd, ok := strings.CutPrefix(name, "cmdstat_"); ok {
		kv := pairs(value)
		i.Commands[strings.ToLower(cmd)] = CommandStat{
			Calls:    uintOf(kv["calls"]),
			Usec:     uintOf(kv["usec"]),
			Rejected: uintOf(kv["rejected_calls"]),
			Failed:   uintOf(kv["failed_calls"]),
		}
		return true
	}
	if prefix, ok := strings.CutPrefix(name, "errorstat_"); ok {
		if prefix == errorsDisabled {
			i.ErrorsDisabled = true
			return true
		}
		i.Errors[prefix] = uintOf(pairs(value)["count"])
		return true
	}
	if cmd, ok := strings.CutPrefix(name, "latency_percentiles_usec_"); ok {
		m := map[string]float64{}
		for k, v := range pairs(value) {
			if f, err := strconv.ParseFloat(v, 64); err == nil {
				m[k] = f
			}
		}
		i.LatencyUsec[strings.ToLower(cmd)] = m
		return true
	}
	if num, ok := strings.CutPrefix(name, "db"); ok && strings.HasPrefix(value, "keys=") {
		n, err := strconv.Atoi(num)
		if err != nil || n < 0 {
			return false
		}
		kv := pairs(value)
		ttl, _ := strconv.ParseInt(kv["avg_ttl"], 10, 64)
		i.Keyspace[n] = KeyspaceStat{
			Keys:    uintOf(kv["keys"]),
			Expires: uintOf(kv["expires"]),
			AvgTTL:  millis(ttl),
		}
		return true
	}
	return false
}

// Int is a field as an integer; ok is false when it is missing or is none.
func (i Info) Int(field string) (v int64, ok bool) {
	v, err := strconv.ParseInt(i.Fields[field], 10, 64)
	return v, err == nil
}

// Float is a field as a number; ok is false when it is missing or is none. A
// trailing % is left out.
func (i Info) Float(field string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(i.Fields[field], "%"), 64)
	return v, err == nil
}

// String is a field, empty when it is missing.
func (i Info) String(field string) string { return i.Fields[field] }

// Role is "master" or "slave" as INFO replication says it, empty when the
// section was not asked for.
func (i Info) Role() string { return i.Fields["role"] }

// RunID identifies one run of the server process; empty when the server
// section was not asked for.
func (i Info) RunID() string { return i.Fields["run_id"] }

// Version is redis_version, or valkey_version where the server has one; name
// is "redis" or "valkey", empty when there is neither.
func (i Info) Version() (name, version string) {
	if v := i.Fields["valkey_version"]; v != "" {
		return "valkey", v
	}
	if v := i.Fields["redis_version"]; v != "" {
		return "redis", v
	}
	return "", ""
}

// Replicas are the replicas that a master lists in INFO replication, in the
// order of their numbers. It is empty on a replica without replicas.
func (i Info) Replicas() []ReplicaLink {
	byNumber := map[int]ReplicaLink{}
	for name, value := range i.Fields {
		num, ok := strings.CutPrefix(name, "slave")
		n, err := strconv.Atoi(num)
		if !ok || err != nil || !strings.Contains(value, "=") {
			continue
		}
		kv := pairs(value)
		port, _ := strconv.Atoi(kv["port"])
		offset, _ := strconv.ParseInt(kv["offset"], 10, 64)
		lag, _ := strconv.ParseInt(kv["lag"], 10, 64)
		byNumber[n] = ReplicaLink{
			Host: kv["ip"], Port: port, State: kv["state"],
			Offset: offset, Lag: seconds(lag),
		}
	}
	var out []ReplicaLink
	for _, n := range slices.Sorted(maps.Keys(byNumber)) {
		out = append(out, byNumber[n])
	}
	return out
}

// pairs reads "a=1,b=2". Parts without a '=' are passed over.
func pairs(s string) map[string]string {
	m := map[string]string{}
	for part := range strings.SplitSeq(s, ",") {
		if k, v, ok := strings.Cut(part, "="); ok {
			m[k] = v
		}
	}
	return m
}

func uintOf(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}

// seconds and millis do not overflow, whatever the server writes.
func seconds(n int64) time.Duration { return scaled(n, time.Second) }
func millis(n int64) time.Duration  { return scaled(n, time.Millisecond) }

func scaled(n int64, unit time.Duration) time.Duration {
	const most = int64(1<<63 - 1)
	switch limit := most / int64(unit); {
	case n > limit:
		return time.Duration(most)
	case n < -limit:
		return time.Duration(-most)
	}
	return time.Duration(n) * unit
}
