package sysctl

import (
	"cmp"
	"net/netip"
	"slices"
)

// socket is what inet_diag says about one TCP socket.
type socket struct {
	local, remote  netip.AddrPort
	listening      bool
	rqueue, wqueue uint32 // of a listener: waiting now, and the backlog
	keepalive      bool   // the timer that runs is the keepalive timer
	expiresMS      uint32
}

// addSockets adds to a namespace what only inet_diag tells. With an error,
// backlogs and keepalive timers are unreadable for that reason.
func (n *Net) addSockets(socks []socket, err error) {
	if err != nil {
		n.KeepalivesReason = err.Error()
		for i := range n.Listeners {
			n.Listeners[i].Backlog = Value{Reason: err.Error()}
		}
		return
	}
	backlog := map[netip.AddrPort]socket{}
	ports := map[int]bool{}
	for _, s := range socks {
		if s.listening {
			backlog[s.local] = s
			ports[int(s.local.Port())] = true
		}
	}
	for i := range n.Listeners {
		l := &n.Listeners[i]
		if s, ok := backlog[l.Addr]; ok {
			l.Backlog, l.Queue = number(int64(s.wqueue)), number(int64(s.rqueue))
		}
	}
	sum := map[int]*Keepalive{}
	for _, s := range socks {
		if s.listening {
			continue
		}
		port := int(s.local.Port())
		if !ports[port] {
			continue
		}
		k := sum[port]
		if k == nil {
			k = &Keepalive{Port: port}
			sum[port] = k
		}
		k.Connections++
		if s.keepalive {
			k.WithTimer++
			k.MaxSeconds = max(k.MaxSeconds, int64(s.expiresMS+999)/1000)
		}
	}
	for _, k := range sum {
		n.Keepalives = append(n.Keepalives, *k)
	}
	slices.SortFunc(n.Keepalives, func(a, b Keepalive) int { return cmp.Compare(a.Port, b.Port) })
}
