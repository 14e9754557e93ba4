package sysctl

// netSettings are the settings that belong to a network namespace. A new
// namespace starts with the kernel's defaults, whatever its parent has (all
// but tcp_rmem and tcp_wmem, which are copied).
var netSettings = []string{
	"net.core.somaxconn",
	"net.core.rmem_max",
	"net.ipv4.ip_local_port_range",
	"net.ipv4.ip_local_reserved_ports",
	"net.ipv4.tcp_abort_on_overflow",
	"net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_keepalive_intvl",
	"net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_keepalive_time",
	"net.ipv4.tcp_max_syn_backlog",
	"net.ipv4.tcp_max_tw_buckets",
	"net.ipv4.tcp_mtu_probing",
	"net.ipv4.tcp_retries2",
	"net.ipv4.tcp_rmem",
	"net.ipv4.tcp_slow_start_after_idle",
	"net.ipv4.tcp_syn_retries",
	"net.ipv4.tcp_syncookies",
	"net.ipv4.tcp_timestamps",
	"net.ipv4.tcp_tw_recycle",
	"net.ipv4.tcp_tw_reuse",
	"net.ipv4.tcp_tw_reuse_delay",
	"net.ipv4.tcp_wmem",
	"net.netfilter.nf_conntrack_count",
	"net.netfilter.nf_conntrack_max",
}

// hostSettings belong to the whole host.
var hostSettings = []string{
	"fs.file-max",
	"fs.file-nr",
	"fs.nr_open",
	"kernel.pid_max",
	"kernel.threads-max",
	"net.core.netdev_max_backlog",
	"net.ipv4.tcp_mem",
	"vm.overcommit_memory",
	"vm.swappiness",
}
