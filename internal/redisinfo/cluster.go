package redisinfo

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
)

// Endpoint is where CLUSTER SLOTS or SHARDS says that a node listens. Host is
// empty for a NULL or "?" or empty endpoint (the client must use the host it
// asked), Unknown tells that it was one of these.
type Endpoint struct {
	Host     string
	Port     int
	TLSPort  int
	ID       string
	Unknown  bool
	IP       string // where it differs from Host
	Hostname string
}

// Addr is host:port; IPv6 hosts are bracketed. asked is the host that was
// asked, used when the endpoint is unknown.
func (e Endpoint) Addr(asked string) string {
	host := e.Host
	if host == "" {
		host = asked
	}
	port := e.Port
	if port == 0 {
		port = e.TLSPort
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// SlotOwner is one entry of CLUSTER SLOTS: who serves a range.
type SlotOwner struct {
	Range    SlotRange
	Master   Endpoint
	Replicas []Endpoint
}

// ParseSlots reads the reply of CLUSTER SLOTS as go-redis' Do returns it
// (nested []any, RESP2 or RESP3). An entry that is no range with a master is
// an error.
func ParseSlots(reply any) ([]SlotOwner, error) {
	list, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("CLUSTER SLOTS: reply is %T, want a list", reply)
	}
	out := make([]SlotOwner, 0, len(list))
	for i, e := range list {
		entry, ok := e.([]any)
		if !ok || len(entry) < 3 {
			return nil, fmt.Errorf("CLUSTER SLOTS entry %d: want first, last and a master", i)
		}
		first, okF := asInt(entry[0])
		last, okL := asInt(entry[1])
		if !okF || !okL {
			return nil, fmt.Errorf("CLUSTER SLOTS entry %d: slots are not numbers", i)
		}
		r, err := checkRange(first, last)
		if err != nil {
			return nil, fmt.Errorf("CLUSTER SLOTS entry %d: %w", i, err)
		}
		o := SlotOwner{Range: r}
		for j, n := range entry[2:] {
			ep, err := slotsEndpoint(n)
			if err != nil {
				return nil, fmt.Errorf("CLUSTER SLOTS entry %d node %d: %w", i, j, err)
			}
			if j == 0 {
				o.Master = ep
			} else {
				o.Replicas = append(o.Replicas, ep)
			}
		}
		out = append(out, o)
	}
	return out, nil
}

// slotsEndpoint reads [endpoint, port, id, metadata]; id and metadata came
// later than the first two and may be missing.
func slotsEndpoint(v any) (Endpoint, error) {
	f, ok := v.([]any)
	if !ok || len(f) < 2 {
		return Endpoint{}, fmt.Errorf("want endpoint and port")
	}
	port, ok := asInt(f[1])
	if !ok || port < 0 || port > 65535 {
		return Endpoint{}, fmt.Errorf("port %v is not 0 to 65535", f[1])
	}
	ep := Endpoint{Port: int(port)}
	if len(f) > 2 {
		ep.ID = asString(f[2])
	}
	if len(f) > 3 {
		m := asMap(f[3])
		ep.IP, ep.Hostname = asString(m["ip"]), asString(m["hostname"])
	}
	ep.setHost(f[0])
	return ep, nil
}

// setHost sets Host from what the server calls the preferred endpoint, and
// clears IP where it says the same.
func (e *Endpoint) setHost(v any) {
	e.Host = asString(v)
	if e.Host == "" || e.Host == "?" {
		e.Host, e.Unknown = "", true
	}
	if e.IP == e.Host {
		e.IP = ""
	}
}

// Shard is one entry of CLUSTER SHARDS.
type Shard struct {
	Slots []SlotRange
	Nodes []ShardNode
}

// ShardNode is a node of a shard.
type ShardNode struct {
	Endpoint          Endpoint
	Role              string // "master" or "replica"
	ReplicationOffset int64
	Health            string // "online", "failed", "loading"
}

// ParseShards reads the reply of CLUSTER SHARDS as go-redis' Do returns it
// (RESP2 or RESP3). Unknown fields are passed over.
func ParseShards(reply any) ([]Shard, error) {
	list, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("CLUSTER SHARDS: reply is %T, want a list", reply)
	}
	out := make([]Shard, 0, len(list))
	for i, e := range list {
		m := asMap(e)
		if m == nil {
			return nil, fmt.Errorf("CLUSTER SHARDS entry %d: %T, want a map", i, e)
		}
		var s Shard
		var err error
		if s.Slots, err = shardSlots(m["slots"]); err != nil {
			return nil, fmt.Errorf("CLUSTER SHARDS entry %d: %w", i, err)
		}
		nodes, ok := m["nodes"].([]any)
		if !ok && m["nodes"] != nil {
			return nil, fmt.Errorf("CLUSTER SHARDS entry %d: nodes are %T, want a list", i, m["nodes"])
		}
		for j, n := range nodes {
			sn, err := shardNode(n)
			if err != nil {
				return nil, fmt.Errorf("CLUSTER SHARDS entry %d node %d: %w", i, j, err)
			}
			s.Nodes = append(s.Nodes, sn)
		}
		out = append(out, s)
	}
	return out, nil
}

// shardSlots reads first, last, first, last ... (flat, as servers send it, or
// as a list of pairs).
func shardSlots(v any) ([]SlotRange, error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("slots are %T, want a list", v)
	}
	var flat []any
	for _, e := range list {
		if pair, ok := e.([]any); ok {
			flat = append(flat, pair...)
		} else {
			flat = append(flat, e)
		}
	}
	if len(flat)%2 != 0 {
		return nil, fmt.Errorf("%d slot bounds, want pairs", len(flat))
	}
	var out []SlotRange
	for i := 0; i < len(flat); i += 2 {
		first, okF := asInt(flat[i])
		last, okL := asInt(flat[i+1])
		if !okF || !okL {
			return nil, fmt.Errorf("slots %v-%v are not numbers", flat[i], flat[i+1])
		}
		r, err := checkRange(first, last)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func shardNode(v any) (ShardNode, error) {
	m := asMap(v)
	if m == nil {
		return ShardNode{}, fmt.Errorf("%T, want a map", v)
	}
	n := ShardNode{Role: asString(m["role"]), Health: asString(m["health"])}
	if n.Role == "slave" {
		n.Role = "replica"
	}
	if n.Health == "fail" { // Redis 7.0 says so; its documentation says failed
		n.Health = "failed"
	}
	n.ReplicationOffset, _ = asInt(m["replication-offset"])
	port, okP := asInt(m["port"])
	tls, okT := asInt(m["tls-port"])
	if !okP && !okT || port < 0 || port > 65535 || tls < 0 || tls > 65535 {
		return ShardNode{}, fmt.Errorf("port %v, tls-port %v: want one, 0 to 65535", m["port"], m["tls-port"])
	}
	n.Endpoint = Endpoint{
		Port: int(port), TLSPort: int(tls),
		ID: asString(m["id"]), IP: asString(m["ip"]), Hostname: asString(m["hostname"]),
	}
	n.Endpoint.setHost(m["endpoint"])
	return n, nil
}

// ParseClusterInfo reads CLUSTER INFO: name to value. Lines it cannot read are
// passed over; the map is never nil.
func ParseClusterInfo(reply string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(reply) {
		if k, v, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok && k != "" {
			m[k] = v
		}
	}
	return m
}

// asInt reads a number that a server may send as an integer, a string or a
// RESP3 double.
func asInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return 0, false
		}
		return int64(v), true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

func asString(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// asMap reads a RESP3 map or a RESP2 list of names and values. It is nil when
// v is neither. A last name without a value is passed over.
func asMap(v any) map[string]any {
	m := map[string]any{}
	switch v := v.(type) {
	case map[any]any:
		for k, e := range v {
			m[asString(k)] = e
		}
	case map[string]any:
		return v
	case []any:
		for i := 0; i+1 < len(v); i += 2 {
			m[asString(v[i])] = v[i+1]
		}
	default:
		return nil
	}
	return m
}
