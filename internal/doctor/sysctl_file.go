package doctor

import (
	"fmt"
	"io"
	"slices"
)

// WriteSysctl writes a file for /etc/sysctl.d: the three settings of a busy
// host, and the reserved ports they need. ports are data ports; their bus
// ports (+10000) are reserved too where there are such.
func WriteSysctl(w io.Writer, ports []int) error {
	reserve := slices.Clone(ports)
	for _, p := range ports {
		if p+10000 <= 65535 {
			reserve = append(reserve, p+10000)
		}
	}
	_, err := fmt.Fprintf(w, `net.ipv4.ip_local_port_range = %s
net.ipv4.tcp_tw_reuse = %s
net.core.somaxconn = %s
net.ipv4.ip_local_reserved_ports = %s

# Apply this file:           sysctl -p FILE
# Or for good: put it into /etc/sysctl.d and run   sysctl --system
#
# ip_local_port_range: the ports for outgoing connections. Helps hosts that
#   open many connections to one address. The range covers the ports of
#   services: without the reserved ports below, an outgoing connection can
#   take a server's port or bus port before it restarts.
# tcp_tw_reuse: lets outgoing connections take ports in TIME_WAIT after a
#   second. Helps the side that connects, with tcp_timestamps = 1. Does not
#   help a server, and is not needed where connections are pooled.
# somaxconn: an upper bound for accept queues. Helps servers, from their next
#   start on: the backlog is fixed at listen(), and tcp-backlog in redis.conf
#   must ask for it. Does nothing for clients.
# ip_local_reserved_ports: replaces the list in force; join the two if
#   something else reserves ports (sysctl net.ipv4.ip_local_reserved_ports).
#
# All four belong to a network namespace: a container does not inherit them
# (docker run --sysctl, a pod's securityContext.sysctls).
# Files are a limit of the process: LimitNOFILE=%d in the unit.
`, briefRange, briefReuse, briefSomaxconn, portSet(nil).with(reserve), briefFiles)
	return err
}
