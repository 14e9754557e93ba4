package doctor

import (
	"fmt"
	"strings"
)

// tunedKeys are settings of a network namespace that people tune.
var tunedKeys = []string{
	"net.core.somaxconn", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_tw_reuse",
	"net.ipv4.tcp_max_syn_backlog", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_retries2",
}

var _ = register(Check{
	ID: "K02", Title: "the host's tuning is in the server's network namespace too", Severity: Warn,
	Why:    "a new network namespace starts with the kernel's defaults, whatever the host was given: \"we set somaxconn on the node\" does not count in the container",
	Fix:    "docker run --sysctl, a pod's securityContext.sysctls, or the CNI tuning plugin",
	Verify: "nsenter -t PID -n sysctl -a",
	Needs:  NeedsServer,
	Run: func(s *Snapshot) []Finding {
		return perNet(s.serverNets(), func(t netTarget) Finding {
			if t.net.Own {
				return ok("the server uses this host's network namespace", "equal, or stated")
			}
			var differ []string
			for _, k := range tunedKeys {
				host, theirs := s.Host.Net.Settings.Get(k), t.net.Settings.Get(k)
				if !host.Known() || !theirs.Known() {
					return skipped(firstOf(theirs.Reason, host.Reason))
				}
				if host.Text != theirs.Text {
					differ = append(differ, fmt.Sprintf("%s: host %s, server %s", strings.TrimPrefix(strings.TrimPrefix(k, "net.ipv4."), "net.core."), quoteEmpty(host.Text), quoteEmpty(theirs.Text)))
				}
			}
			f := ok("the settings are equal", "equal, or meant to differ")
			if len(differ) > 0 {
				f.Current = strings.Join(differ, "; ")
				return f.as(Warn, "")
			}
			return f
		})
	},
})
