package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rcctl/rcctl/sysctl"
)

// servers are the servers in the order of their addresses.
func (s *Snapshot) servers() []*Server {
	out := make([]*Server, 0, len(s.Servers))
	for _, a := range slices.Sorted(maps.Keys(s.Servers)) {
		out = append(out, s.Servers[a])
	}
	return out
}

// name is "redis-server pid 812 (127.0.0.1:7000)".
func (v *Server) name() string {
	n := v.Process.Name
	if n == "" {
		n = "process"
	}
	return fmt.Sprintf("%s pid %d (%s)", n, v.Process.PID, v.Addr)
}

// node is the server's node in the cluster, or nil.
func (s *Snapshot) node(v *Server) *Node {
	if s.Cluster == nil {
		return nil
	}
	return s.Cluster.Nodes[v.Addr]
}

// netTarget is a network namespace to judge, and whose it is.
type netTarget struct {
	subject string
	net     *sysctl.Net
	servers []*Server
	later   map[string]int64
	why     string // why there is no later
}

// appNet is the namespace of this host, where the application runs (role A).
func (s *Snapshot) appNet() netTarget {
	return netTarget{subject: "this host's network namespace " + s.Host.Net.ID.Text, net: &s.Host.Net,
		later: s.HostLater, why: s.HostLaterReason}
}

// serverNets are the namespaces of the servers on this host, each once (role
// R). Without a cluster and a target it is this host's.
func (s *Snapshot) serverNets() []netTarget {
	var out []netTarget
	for _, v := range s.servers() {
		i := slices.IndexFunc(out, func(t netTarget) bool {
			return t.net.ID.Known() && t.net.ID == v.Process.Net.ID
		})
		if i < 0 {
			out = append(out, netTarget{net: &v.Process.Net, later: v.LaterCounters, why: v.LaterReason})
			i = len(out) - 1
		}
		out[i].servers = append(out[i].servers, v)
	}
	for i := range out {
		t := &out[i]
		var names []string
		for _, v := range t.servers {
			names = append(names, fmt.Sprintf("%d (%s)", v.Process.PID, v.Addr))
		}
		kind := "their own"
		if len(names) == 1 {
			kind = "its own"
		}
		if t.net.Own {
			kind = "this host's"
		}
		if len(names) > 3 {
			names = append(names[:3], "...")
		}
		t.subject = fmt.Sprintf("%s pid %s in %s network namespace %s",
			t.servers[0].Process.Name, strings.Join(names, ", "), kind, t.net.ID.Text)
	}
	if len(out) == 0 && s.hostOnly() {
		return []netTarget{s.appNet()}
	}
	return out
}

// setFix is how to set a setting of a network namespace lastingly.
func (t netTarget) setFix(s *Snapshot, key, value string) string {
	if !t.net.Own {
		return fmt.Sprintf("set it where the process's network namespace is made: docker run --sysctl %s=%s, "+
			"a pod's securityContext.sysctls, or NetworkNamespacePath's unit; the host's own value is not inherited. "+
			"Now: nsenter -t %d -n sysctl -w %s=%q", key, value, t.servers[0].Process.PID, key, value)
	}
	if s.Host.Container != "" {
		return fmt.Sprintf("set it where this container's network namespace is made: docker run --sysctl %s=%s, or the pod's securityContext.sysctls", key, value)
	}
	return fmt.Sprintf("echo '%s = %s' >> /etc/sysctl.d/60-rcctl.conf && sysctl --system", key, value)
}

// hostFix is how to set a setting of the whole host lastingly.
func hostFix(s *Snapshot, key, value string) string {
	where := ""
	if s.Host.Container != "" {
		where = "on the host, not in this container: "
	}
	return fmt.Sprintf("%secho '%s = %s' >> /etc/sysctl.d/60-rcctl.conf && sysctl --system", where, key, value)
}

func skip(scope, subject, reason string) Finding {
	return Finding{Outcome: Skipped, Scope: scope, Subject: subject, Reason: reason}
}
