package sysctl

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Net is one network namespace.
type Net struct {
	// ID is "net:[4026531833]".
	ID Value `json:"id"`
	// Own: it is the namespace of the program that reads it.
	Own bool `json:"own"`
	// Settings are the kernel settings of the namespace.
	Settings Settings `json:"settings"`
	// Listeners are the listening TCP sockets.
	Listeners       []Listener `json:"listeners,omitempty"`
	ListenersReason string     `json:"listeners_unreadable,omitempty"`
	// States counts TCP sockets by state: "ESTABLISHED", "TIME_WAIT" ...
	States       map[string]int `json:"states,omitempty"`
	StatesReason string         `json:"states_unreadable,omitempty"`
	// Destinations are the remote addresses that take most local ports, at
	// most 10, the largest first.
	Destinations []Destination `json:"destinations,omitempty"`
	// Counters are those of /proc/net/snmp and netstat: "Tcp.RetransSegs",
	// "TcpExt.ListenOverflows".
	Counters       map[string]int64 `json:"counters,omitempty"`
	CountersReason string           `json:"counters_unreadable,omitempty"`
	// Keepalives are the running keepalive timers of connections by the local
	// port, in seconds until the next probe (the largest seen: that is nearest
	// to the idle time set).
	Keepalives       []Keepalive `json:"keepalives,omitempty"`
	KeepalivesReason string      `json:"keepalives_unreadable,omitempty"`
}

// Listener is a listening TCP socket.
type Listener struct {
	Addr netip.AddrPort `json:"addr"`
	// Backlog is the length of the accept queue that the kernel uses, Queue
	// what waits in it now. Both need inet_diag.
	Backlog Value `json:"backlog"`
	Queue   Value `json:"queue"`

	inode string
}

// Destination is a remote address and the number of local ports in use
// towards it, TIME_WAIT included.
type Destination struct {
	Addr  netip.AddrPort `json:"addr"`
	Ports int            `json:"ports"`
}

// Keepalive sums up the connections of one port, local when it is a server's.
type Keepalive struct {
	Port        int `json:"port"`
	Connections int `json:"connections"`
	// WithTimer have a keepalive timer running, MaxSeconds is the largest.
	WithTimer  int   `json:"with_timer"`
	MaxSeconds int64 `json:"max_seconds"`
}

// ownNet reads the caller's namespace.
func (r *Reader) ownNet() Net {
	n := r.netFiles("self")
	n.Own = true
	n.Settings = r.settings(netSettings)
	if r.root != "" {
		socks, err := inetDiag()
		n.addSockets(socks, err)
	} else {
		n.addSockets(nil, errors.New("only a running system has inet_diag"))
	}
	return n
}

// netOf reads the namespace of a process. Its files in /proc/PID/net can be
// read from outside; settings and inet_diag need to enter it.
func (r *Reader) netOf(pid int) Net {
	n := r.netFiles(strconv.Itoa(pid))
	own, err := r.link("proc/self/ns/net")
	switch {
	case err == nil && n.ID.Known() && n.ID.Text == own:
		// The reader's own, looked at through the process.
		n.Own = true
		n.Settings = r.settings(netSettings)
		if r.root != "" {
			socks, err := inetDiag()
			n.addSockets(socks, err)
		}
	case !n.ID.Known():
		n.cannotEnter(n.ID.Reason)
	case r.root == "":
		n.cannotEnter("only a running system has namespaces to enter")
	default:
		err := inNetNS(r.root, pid, func() {
			n.Settings = r.settings(netSettings)
			socks, err := inetDiag()
			n.addSockets(socks, err)
		})
		if err != nil {
			n.cannotEnter(fmt.Sprintf("cannot enter the network namespace of process %d: %v", pid, err))
		}
	}
	return n
}

func (n *Net) cannotEnter(why string) {
	n.Settings = make(Settings, len(netSettings))
	for _, k := range netSettings {
		n.Settings[k] = Value{Reason: why}
	}
	n.addSockets(nil, errors.New(why))
}

// netFiles reads what /proc/PID/net shows of a namespace.
func (r *Reader) netFiles(pid string) Net {
	n := Net{ID: r.namespaces(pid)["net"]}
	dir := "proc/" + pid + "/net/"
	use := map[netip.AddrPort]map[uint16]bool{}
	n.States = map[string]int{}
	listening := map[uint16]bool{}
	var rows []tcpRow
	for _, f := range []string{"tcp", "tcp6"} {
		err := r.lines(dir+f, func(l string) bool {
			if row, ok := parseTCP(l); ok {
				n.States[row.state]++
				if row.state == "LISTEN" {
					listening[row.local.Port()] = true
					n.Listeners = append(n.Listeners, Listener{Addr: row.local, inode: row.inode,
						Backlog: Value{Reason: "needs inet_diag"}, Queue: number(int64(row.rxQueue))})
				} else {
					rows = append(rows, row)
				}
			}
			return true
		})
		if err != nil && !(f == "tcp6" && errors.Is(err, fs.ErrNotExist)) {
			n.StatesReason = r.unreadable(dir+f, err).Reason
			n.ListenersReason = n.StatesReason
		}
	}
	for _, row := range rows {
		// Connections that were accepted use the listener's port, not a new one.
		if listening[row.local.Port()] {
			continue
		}
		if use[row.remote] == nil {
			use[row.remote] = map[uint16]bool{}
		}
		use[row.remote][row.local.Port()] = true
	}
	for a, ports := range use {
		n.Destinations = append(n.Destinations, Destination{a, len(ports)})
	}
	slices.SortFunc(n.Destinations, func(a, b Destination) int {
		return cmp.Or(cmp.Compare(b.Ports, a.Ports), a.Addr.Compare(b.Addr))
	})
	n.Destinations = n.Destinations[:min(len(n.Destinations), 10)]
	slices.SortFunc(n.Listeners, func(a, b Listener) int { return a.Addr.Compare(b.Addr) })
	n.Counters, n.CountersReason = r.netCounters(dir)
	return n
}

// Counters reads the counters of a process's network namespace again, for a
// difference of two samples. pid 0 is the caller.
func (r *Reader) Counters(pid int) (map[string]int64, string) {
	if pid == 0 {
		return r.netCounters("proc/self/net/")
	}
	return r.netCounters(proc(pid, "net") + "/")
}

func (r *Reader) netCounters(dir string) (map[string]int64, string) {
	m := map[string]int64{}
	for _, f := range []string{"snmp", "netstat"} {
		var prefix string
		var names []string
		err := r.lines(dir+f, func(l string) bool {
			p, rest, ok := strings.Cut(l, ":")
			if !ok {
				return true
			}
			fields := strings.Fields(rest)
			if p != prefix {
				prefix, names = p, fields
				return true
			}
			for i := range min(len(names), len(fields)) {
				if v, err := strconv.ParseInt(fields[i], 10, 64); err == nil && (p == "Tcp" || p == "TcpExt") {
					m[p+"."+names[i]] = v
				}
			}
			prefix = ""
			return true
		})
		if err != nil {
			return nil, r.unreadable(dir+f, err).Reason
		}
	}
	return m, ""
}

type tcpRow struct {
	local, remote netip.AddrPort
	state         string
	rxQueue       uint64
	inode         string
}

var tcpStates = []string{"", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2",
	"TIME_WAIT", "CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING", "NEW_SYN_RECV"}

// parseTCP reads a line of /proc/net/tcp or tcp6.
func parseTCP(line string) (tcpRow, bool) {
	f := strings.Fields(line)
	if len(f) < 10 {
		return tcpRow{}, false
	}
	local, ok1 := parseHexAddr(f[1])
	remote, ok2 := parseHexAddr(f[2])
	st, err := strconv.ParseUint(f[3], 16, 8)
	if !ok1 || !ok2 || err != nil || int(st) >= len(tcpStates) {
		return tcpRow{}, false
	}
	_, rx, _ := strings.Cut(f[4], ":")
	queue, _ := strconv.ParseUint(rx, 16, 64)
	return tcpRow{local, remote, tcpStates[st], queue, f[9]}, true
}

// parseHexAddr reads "0100007F:1F90": words in the order of the machine
// (little-endian on all that matter), the port as it is.
func parseHexAddr(s string) (netip.AddrPort, bool) {
	h, p, ok := strings.Cut(s, ":")
	b, err := hex.DecodeString(h)
	port, err2 := strconv.ParseUint(p, 16, 16)
	if !ok || err != nil || err2 != nil || (len(b) != 4 && len(b) != 16) {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 {
		slices.Reverse(b[i : i+4])
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(port)), true
}

// NSPIDs are the processes that can be seen, by the process id that each has
// in its innermost pid namespace (what INFO process_id says of a server).
func (r *Reader) NSPIDs() (map[int][]int, error) {
	pids, err := r.pids()
	if err != nil {
		return nil, fmt.Errorf("%s", r.unreadable("proc", err).Reason)
	}
	m := make(map[int][]int, len(pids))
	for _, pid := range pids {
		f := strings.Fields(r.status(pid)("NSpid").Text)
		inner := pid
		if len(f) > 0 {
			if inner, err = strconv.Atoi(f[len(f)-1]); err != nil {
				continue
			}
		}
		m[inner] = append(m[inner], pid)
	}
	return m, nil
}

// Listens reports whether a process holds a socket that listens on a TCP port.
// Other users' processes need privileges: the error says so.
func (r *Reader) Listens(pid, port int) (bool, error) {
	ports, err := r.Ports(pid)
	return slices.Contains(ports, port), err
}

// Ports are the TCP ports that a process listens on, in order.
func (r *Reader) Ports(pid int) ([]int, error) {
	inodes := map[string]int{}
	for _, f := range []string{"net/tcp", "net/tcp6"} {
		r.lines(proc(pid, f), func(l string) bool {
			// Listening sockets come first in these files.
			row, ok := parseTCP(l)
			if ok && row.state == "LISTEN" {
				inodes["socket:["+row.inode+"]"] = int(row.local.Port())
			}
			return !ok || row.state == "LISTEN"
		})
	}
	fds, err := r.dir(proc(pid, "fd"))
	if err != nil {
		return nil, fmt.Errorf("%s", r.unreadable(proc(pid, "fd"), err).Reason)
	}
	var out []int
	for _, fd := range fds {
		l, err := r.link(proc(pid, "fd/"+fd.Name()))
		if port, ok := inodes[l]; ok && err == nil && !slices.Contains(out, port) {
			out = append(out, port)
		}
	}
	slices.Sort(out)
	return out, nil
}
