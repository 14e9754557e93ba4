package doctor

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rcctl/rcctl/sysctl"
)

// uptimeSlack is how far a server's own uptime and that of its process may be
// apart: loading the data counts for the one only.
const uptimeSlack = 5

// serves reports whether a process of this host is a node: it listens on the
// node's port and has been running for as long as the node says. The process
// id alone would take a stranger for it, on another host too.
func serves(r *sysctl.Reader, pid int, n *Node) (bool, error) {
	port, ok := n.Info.Int("tcp_port")
	if !ok || port == 0 {
		_, p, _ := net.SplitHostPort(n.Dialed)
		port, _ = strconv.ParseInt(p, 10, 64)
	}
	if up, ok := n.Info.Int("uptime_in_seconds"); ok {
		have, err := r.Limits(pid).UptimeSeconds.Int()
		if err == nil && (have-up > uptimeSlack || up-have > uptimeSlack) {
			return false, nil
		}
	}
	return r.Listens(pid, int(port))
}

// addrOf is the announced address of a process: that of the cluster's node on
// one of the ports it listens on.
func addrOf(r *sysctl.Reader, s *Snapshot, p sysctl.Process) string {
	if s.Cluster != nil {
		for _, n := range s.Cluster.each() {
			if inner, ok := n.Info.Int("process_id"); ok && p.NSPID.Text == strconv.FormatInt(inner, 10) {
				if ok, _ := serves(r, p.PID, n); ok {
					return n.Addr
				}
			}
		}
	}
	ports, _ := r.Ports(p.PID)
	for _, l := range p.Net.Listeners {
		if slices.Contains(ports, int(l.Addr.Port())) {
			return l.Addr.String()
		}
	}
	return "listens nowhere"
}

func gatherServer(r *sysctl.Reader, n *Node, addr string, p sysctl.Process) *Server {
	v := &Server{Addr: addr, Process: p}
	v.Ports, _ = r.Ports(p.PID)
	v.Unit = r.Unit(p.PID)
	v.UnitNoFile = r.UnitSetting(v.Unit, "LimitNOFILE")
	file := ""
	if n != nil {
		file = n.Info.String("config_file")
	}
	if file == "" {
		v.ConfigReason = "the server runs without a configuration file"
		if n == nil {
			v.ConfigReason = "the server was not asked for its configuration file"
		}
		return v
	}
	v.ConfigFile = file
	// The path is the server's: its root is that of its mount namespace.
	v.Config, v.ConfigReason = readConfig(filepath.Join("/proc", strconv.Itoa(p.PID), "root", file))
	return v
}

// readConfig reads the directives of a redis.conf that stand once; included
// files and secrets are left out.
func readConfig(path string) (map[string]string, string) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err.Error()
	}
	defer f.Close()
	m := map[string]string{}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		name, value, ok := strings.Cut(strings.TrimSpace(sc.Text()), " ")
		if ok && name != "" && name[0] != '#' && !secret(name) {
			m[strings.ToLower(name)] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, err.Error()
	}
	return m, ""
}

// secret reports whether the value of a directive must not be kept.
func secret(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "pass") || strings.Contains(name, "masterauth") ||
		strings.Contains(name, "masteruser") || name == "user" || strings.Contains(name, "secret")
}
