package redisinfo

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// slotCount is the number of slots of a cluster.
const slotCount = 16384

// Node is one line of CLUSTER NODES.
type Node struct {
	ID string
	// Host and Port are the announced address; Host may be empty (the node
	// does not know its own yet). BusPort is the cluster bus port; Hostname
	// is the announced hostname, if any. ShardID is set where the line has
	// one (nodes.conf from Redis 7.2 on).
	Host          string
	Port, BusPort int
	Hostname      string
	ShardID       string
	Flags         []string // "myself", "master", "slave", "fail?", "fail", "handshake", "noaddr", "nofailover"
	MasterID      string   // empty for masters
	PingSent      int64    // ms since the epoch, 0 if none is pending
	PongRecv      int64
	ConfigEpoch   uint64
	LinkConnected bool
	Slots         []SlotRange
	// Migrating and Importing are open slots: slot to the other node's id.
	// Only the line of the node asked has them.
	Migrating, Importing map[int]string
}

// Addr is host:port; IPv6 hosts are bracketed.
func (n Node) Addr() string { return net.JoinHostPort(n.Host, strconv.Itoa(n.Port)) }

// Has reports whether the node carries a flag.
func (n Node) Has(flag string) bool { return slices.Contains(n.Flags, flag) }

// ParseNodes reads CLUSTER NODES, and a nodes.conf file too. A line without
// the eight fixed fields, or with an address, an epoch or a slot that is none,
// is an error that quotes it: half a topology looks like a cluster with holes.
// Open slots in a form it does not know are passed over.
func ParseNodes(reply string) ([]Node, error) {
	var out []Node
	for line := range strings.Lines(reply) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "vars" {
			continue
		}
		n, err := parseNode(fields)
		if err != nil {
			return nil, fmt.Errorf("CLUSTER NODES line %s: %w", quote(line), err)
		}
		out = append(out, n)
	}
	return out, nil
}

func parseNode(f []string) (Node, error) {
	if len(f) < 8 {
		return Node{}, fmt.Errorf("%d fields, want at least 8", len(f))
	}
	n := Node{ID: f[0], MasterID: f[3], LinkConnected: f[7] == "connected"}
	if n.MasterID == "-" {
		n.MasterID = ""
	}
	if f[2] != "noflags" {
		n.Flags = strings.Split(f[2], ",")
	}
	if err := n.parseAddr(f[1]); err != nil {
		return Node{}, err
	}
	var errs [3]error
	n.PingSent, errs[0] = strconv.ParseInt(f[4], 10, 64)
	n.PongRecv, errs[1] = strconv.ParseInt(f[5], 10, 64)
	n.ConfigEpoch, errs[2] = strconv.ParseUint(f[6], 10, 64)
	for i, err := range errs {
		if err != nil {
			return Node{}, fmt.Errorf("%s %q is not a number", [...]string{"ping-sent", "pong-recv", "config-epoch"}[i], f[4+i])
		}
	}
	for _, s := range f[8:] {
		if err := n.parseSlots(s); err != nil {
			return Node{}, err
		}
	}
	return n, nil
}

// parseAddr reads ip:port@cport[,hostname[,name=value ...]]. The host may be
// an IPv6 address without brackets, or empty.
func (n *Node) parseAddr(s string) error {
	parts := strings.Split(s, ",")
	if len(parts) > 1 {
		n.Hostname = parts[1]
	}
	for _, aux := range parts[min(2, len(parts)):] {
		if id, ok := strings.CutPrefix(aux, "shard-id="); ok {
			n.ShardID = id
		}
	}
	addr, bus, hasBus := strings.Cut(parts[0], "@")
	colon := strings.LastIndexByte(addr, ':')
	if colon < 0 {
		return fmt.Errorf("address %q has no port", s)
	}
	n.Host = strings.Trim(addr[:colon], "[]")
	if n.Host == "?" {
		n.Host = ""
	}
	var err error
	if n.Port, err = parsePort(addr[colon+1:]); err != nil {
		return err
	}
	if hasBus {
		n.BusPort, err = parsePort(bus)
	}
	return err
}

// parseSlots reads "5", "0-5460", "[93->-id]" (leaving) or "[93-<-id]"
// (coming).
func (n *Node) parseSlots(s string) error {
	if !strings.HasPrefix(s, "[") {
		r, err := parseRange(s)
		if err == nil {
			n.Slots = append(n.Slots, r)
		}
		return err
	}
	s = strings.Trim(s, "[]")
	m, sep := &n.Migrating, "->-"
	if strings.Contains(s, "-<-") {
		m, sep = &n.Importing, "-<-"
	}
	num, id, ok := strings.Cut(s, sep)
	slot, err := strconv.Atoi(num)
	if !ok || err != nil || slot < 0 || slot >= slotCount {
		return nil
	}
	if *m == nil {
		*m = map[int]string{}
	}
	(*m)[slot] = id
	return nil
}

func parseRange(s string) (SlotRange, error) {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(last)
	if errA != nil || errB != nil {
		return SlotRange{}, fmt.Errorf("slots %q: not a slot or a range", s)
	}
	return checkRange(int64(a), int64(b))
}

func checkRange(first, last int64) (SlotRange, error) {
	if first < 0 || last >= slotCount || first > last {
		return SlotRange{}, fmt.Errorf("slots %d-%d: not within 0-%d", first, last, slotCount-1)
	}
	return SlotRange{int(first), int(last)}, nil
}

func parsePort(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 65535 {
		return 0, fmt.Errorf("port %q is not 0 to 65535", s)
	}
	return n, nil
}

const longestQuote = 120

// quote is a line for an error: on one line, not endless.
func quote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > longestQuote {
		return strconv.Quote(s[:longestQuote]) + "..."
	}
	return strconv.Quote(s)
}
