package doctor

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

var _ = register(Check{
	ID:       "T08",
	Title:    "no service port lies where outgoing connections take theirs",
	Severity: Fail,
	Why:      "an outgoing connection can take the port first; then the server, or its bus, cannot listen after a restart",
	Fix:      "reserve the ports: net.ipv4.ip_local_reserved_ports",
	Verify:   "sysctl net.ipv4.ip_local_port_range net.ipv4.ip_local_reserved_ports",
	Run: func(s *Snapshot) []Finding {
		var out []Finding
		app := s.appNet()
		judgedApp := false
		if len(s.Servers) > 0 {
			for _, t := range s.serverNets() {
				var ports []int
				for _, v := range t.servers {
					ports = append(ports, s.fixedPorts(v)...)
				}
				judgedApp = judgedApp || t.net.Own
				out = append(out, portsInRange(s, t, ports, Fail))
			}
		}
		if !judgedApp {
			var ports []int
			for _, l := range app.net.Listeners {
				ports = append(ports, int(l.Addr.Port()))
			}
			if why := app.net.ListenersReason; why != "" {
				return append(out, skip("netns", app.subject, why))
			}
			out = append(out, portsInRange(s, app, ports, Warn))
		}
		return out
	},
})

// fixedPorts are the ports that a server must be able to take again: what it
// listens on, its data port and its bus port.
func (s *Snapshot) fixedPorts(v *Server) []int {
	ports := slices.Clone(v.Ports)
	n := s.node(v)
	if n == nil {
		return ports
	}
	for _, key := range []string{"port", "tls-port", "cluster-port"} {
		if p := int(number(n.Config[key])); p > 0 {
			ports = append(ports, p)
		}
	}
	if me := n.View[n.ID]; me.BusPort > 0 {
		ports = append(ports, me.BusPort)
	} else if _, p, err := net.SplitHostPort(v.Addr); err == nil && number(p) > 0 {
		ports = append(ports, int(number(p))+10000)
	}
	return ports
}

// portsInRange judges fixed ports against the range of outgoing connections.
func portsInRange(s *Snapshot, t netTarget, ports []int, bad Outcome) Finding {
	r, err := t.net.Settings.Get("net.ipv4.ip_local_port_range").Ints()
	if err != nil || len(r) != 2 {
		return skip("netns", t.subject, "ip_local_port_range: "+t.net.Settings.Get("net.ipv4.ip_local_port_range").String())
	}
	rv := t.net.Settings.Get("net.ipv4.ip_local_reserved_ports")
	if !rv.Known() {
		return skip("netns", t.subject, rv.Reason)
	}
	reserved, err := parsePorts(rv.Text)
	if err != nil {
		return skip("netns", t.subject, "ip_local_reserved_ports: "+err.Error())
	}
	slices.Sort(ports)
	ports = slices.Compact(ports)
	var inside []int
	for _, p := range ports {
		if int64(p) >= r[0] && int64(p) <= r[1] && !reserved.has(p) {
			inside = append(inside, p)
		}
	}
	f := Finding{Outcome: OK, Scope: "netns", Subject: t.subject, Required: "none of them, or all of them reserved",
		Current: fmt.Sprintf("none of %d listening ports is in %d-%d unreserved", len(ports), r[0], r[1])}
	if len(inside) == 0 {
		return f
	}
	f.Outcome = bad
	f.Current = fmt.Sprintf("%s in %d-%d, not reserved", portText(inside), r[0], r[1])
	f.Fix = "keep the range and " + t.setFix(s, "net.ipv4.ip_local_reserved_ports", reserved.with(inside).String())
	return f
}

// portSet are ranges of ports, both ends included.
type portSet [][2]int

func parsePorts(s string) (portSet, error) {
	var out portSet
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		if part == "" {
			continue
		}
		a, b, ok := strings.Cut(part, "-")
		if !ok {
			b = a
		}
		from, err1 := strconv.Atoi(strings.TrimSpace(a))
		to, err2 := strconv.Atoi(strings.TrimSpace(b))
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("%q is no port or range", part)
		}
		out = append(out, [2]int{from, to})
	}
	return out, nil
}

func (p portSet) has(port int) bool {
	return slices.ContainsFunc(p, func(r [2]int) bool { return port >= r[0] && port <= r[1] })
}

// with is the set with more ports, in order and with neighbours joined.
func (p portSet) with(ports []int) portSet {
	all := slices.Clone(p)
	for _, n := range ports {
		all = append(all, [2]int{n, n})
	}
	slices.SortFunc(all, func(a, b [2]int) int { return a[0] - b[0] })
	var out portSet
	for _, r := range all {
		if n := len(out); n > 0 && r[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], r[1])
			continue
		}
		out = append(out, r)
	}
	return out
}

// String is the form of ip_local_reserved_ports.
func (p portSet) String() string {
	var parts []string
	for _, r := range p {
		if r[0] == r[1] {
			parts = append(parts, strconv.Itoa(r[0]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", r[0], r[1]))
		}
	}
	return strings.Join(parts, ",")
}

func portText(ports []int) string {
	word := "ports "
	if len(ports) == 1 {
		word = "port "
	}
	text := portSet(nil).with(ports).String()
	if len(text) > 80 {
		text = text[:strings.LastIndexByte(text[:80], ',')] + ",..."
	}
	return word + text
}
