package engine

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

const redisVersion = "7.0.15"

type infoSection struct {
	name string
	// byDefault: part of INFO without arguments.
	byDefault bool
	write     func(n *Node, w *infoWriter, now time.Time)
}

type infoWriter struct{ b []byte }

func (w *infoWriter) line(name string, v any) {
	w.b = appendInfoLine(w.b, name, fmt.Sprint(v))
}

var infoSections = []infoSection{
	{"Server", true, infoServer}, {"Clients", true, infoClients}, {"Memory", true, infoMemory},
	{"Persistence", true, infoPersistence}, {"Stats", true, infoStats}, {"Replication", true, infoReplication},
	{"CPU", true, infoCPU}, {"Modules", true, func(*Node, *infoWriter, time.Time) {}},
	{"Commandstats", false, infoCommandStats}, {"Errorstats", true, infoErrorStats},
	{"Latencystats", false, infoLatencyStats},
	{"Cluster", true, func(_ *Node, w *infoWriter, _ time.Time) { w.line("cluster_enabled", 1) }},
	{"Keyspace", true, infoKeyspace},
}

func cmdInfo(x *call) {
	want := map[string]bool{}
	all, def := len(x.args) == 1, len(x.args) == 1
	if all {
		all = false
	}
	for _, a := range x.args[1:] {
		switch a = strings.ToLower(a); a {
		case "all", "everything":
			all = true
		case "default":
			def = true
		default:
			want[a] = true
		}
	}
	w := &infoWriter{}
	for _, s := range infoSections {
		if !all && !(def && s.byDefault) && !want[strings.ToLower(s.name)] {
			continue
		}
		if len(w.b) > 0 {
			w.b = append(w.b, "\r\n"...)
		}
		w.b = append(w.b, "# "+s.name+"\r\n"...)
		s.write(x.n, w, x.now)
	}
	x.text(string(w.b))
}

func infoServer(n *Node, w *infoWriter, now time.Time) {
	up := int64(now.Sub(n.started) / time.Second)
	w.line("redis_version", redisVersion)
	w.line("redis_git_sha1", "00000000")
	w.line("redis_git_dirty", 0)
	w.line("redis_build_id", "embedded")
	w.line("redis_mode", "cluster")
	w.line("os", runtime.GOOS+" "+runtime.GOARCH)
	w.line("arch_bits", 64)
	w.line("monotonic_clock", "POSIX clock_gettime")
	w.line("multiplexing_api", "goroutines")
	w.line("process_id", os.Getpid())
	w.line("process_supervised", "no")
	w.line("run_id", n.runID)
	w.line("tcp_port", n.port)
	w.line("server_time_usec", now.UnixMicro())
	w.line("uptime_in_seconds", up)
	w.line("uptime_in_days", up/86400)
	w.line("hz", n.conf.get("hz"))
	w.line("configured_hz", n.conf.get("hz"))
	w.line("lru_clock", now.Unix()&(1<<24-1))
	w.line("executable", "")
	w.line("config_file", "")
	w.line("io_threads_active", 0)
}

func infoClients(n *Node, w *infoWriter, _ time.Time) {
	blocked := 0
	for c := range n.conns {
		if c.waiter != nil {
			blocked++
		}
	}
	w.line("connected_clients", len(n.conns))
	w.line("cluster_connections", 2*(len(n.c.nodes)-1))
	w.line("maxclients", n.conf.maxClients)
	w.line("client_recent_max_input_buffer", 20480)
	w.line("client_recent_max_output_buffer", 0)
	w.line("blocked_clients", blocked)
	w.line("tracking_clients", 0)
	w.line("clients_in_timeout_table", blocked)
}

// infoMemory makes up plausible figures: 1.6 MB and 80 bytes a key.
func infoMemory(n *Node, w *infoWriter, _ time.Time) {
	used := int64(1_600_000 + 80*len(n.data.keys) + 22_000*len(n.conns))
	human := func(v int64) string { return strconv.FormatFloat(float64(v)/(1<<20), 'f', 2, 64) + "M" }
	w.line("used_memory", used)
	w.line("used_memory_human", human(used))
	w.line("used_memory_rss", used*2)
	w.line("used_memory_rss_human", human(used*2))
	w.line("used_memory_peak", used)
	w.line("used_memory_peak_human", human(used))
	w.line("used_memory_peak_perc", "100.00%")
	w.line("used_memory_overhead", 1_600_000)
	w.line("used_memory_startup", 1_600_000)
	w.line("used_memory_dataset", used-1_600_000)
	w.line("total_system_memory", int64(16)<<30)
	w.line("total_system_memory_human", "16.00G")
	w.line("used_memory_scripts_eval", 0)
	w.line("number_of_cached_scripts", len(n.scripts))
	w.line("number_of_functions", 0)
	w.line("number_of_libraries", 0)
	w.line("maxmemory", n.conf.get("maxmemory"))
	w.line("maxmemory_human", n.conf.get("maxmemory")+"B")
	w.line("maxmemory_policy", n.conf.get("maxmemory-policy"))
	w.line("mem_fragmentation_ratio", "1.00")
	w.line("mem_fragmentation_bytes", 0)
	w.line("mem_not_counted_for_evict", 0)
	w.line("mem_replication_backlog", 0)
	w.line("mem_clients_slaves", 0)
	w.line("mem_clients_normal", 22_000*len(n.conns))
	w.line("mem_cluster_links", 0)
	w.line("mem_aof_buffer", 0)
	w.line("mem_allocator", "go")
	w.line("active_defrag_running", 0)
	w.line("lazyfree_pending_objects", 0)
	w.line("lazyfreed_objects", 0)
}

func infoPersistence(n *Node, w *infoWriter, _ time.Time) {
	w.line("loading", 0)
	w.line("async_loading", 0)
	w.line("rdb_changes_since_last_save", 0)
	w.line("rdb_bgsave_in_progress", 0)
	w.line("rdb_last_save_time", n.started.Unix())
	w.line("rdb_last_bgsave_status", "ok")
	w.line("rdb_last_bgsave_time_sec", -1)
	w.line("aof_enabled", 0)
	w.line("aof_rewrite_in_progress", 0)
	w.line("aof_last_bgrewrite_status", "ok")
	w.line("aof_last_write_status", "ok")
}

func infoStats(n *Node, w *infoWriter, _ time.Time) {
	s := n.stats
	w.line("total_connections_received", s.connections)
	w.line("total_commands_processed", s.processed)
	w.line("instantaneous_ops_per_sec", 0)
	w.line("total_net_input_bytes", s.input)
	w.line("total_net_output_bytes", s.written.Load())
	w.line("rejected_connections", s.rejectedConns)
	w.line("sync_full", 0)
	w.line("sync_partial_ok", 0)
	w.line("sync_partial_err", 0)
	w.line("expired_keys", n.c.st.expired)
	w.line("evicted_keys", 0)
	w.line("evicted_clients", 0)
	w.line("keyspace_hits", n.data.hits)
	w.line("keyspace_misses", n.data.misses)
	w.line("pubsub_channels", len(n.channels))
	w.line("pubsub_patterns", len(n.patterns))
	w.line("pubsubshard_channels", 0)
	w.line("latest_fork_usec", 0)
	w.line("total_forks", 0)
	w.line("migrate_cached_sockets", 0)
	w.line("tracking_total_keys", 0)
	w.line("unexpected_error_replies", 0)
	w.line("total_error_replies", s.errorReplies)
	w.line("total_reads_processed", s.processed)
	w.line("total_writes_processed", s.processed)
}

func infoReplication(n *Node, w *infoWriter, _ time.Time) {
	t := n.view()
	replid := n.c.nodes[t.shard(n.index)].runID
	m := t.nodes[n.index].master
	offset := n.data.offset
	if m == noNode {
		w.line("role", "master")
	} else {
		o := n.c.nodes[m]
		status, down := "up", t.nodes[m].silent
		if down || n.loose {
			status = "down"
		}
		w.line("role", "slave")
		w.line("master_host", o.announcedIP())
		w.line("master_port", o.announcedPort())
		w.line("master_link_status", status)
		w.line("master_last_io_seconds_ago", map[bool]int{true: -1}[status == "down"])
		w.line("master_sync_in_progress", 0)
		w.line("slave_read_repl_offset", offset)
		w.line("slave_repl_offset", offset)
		if status == "down" {
			w.line("master_link_down_since_seconds", 0)
		}
		w.line("slave_priority", n.conf.get("replica-priority"))
		w.line("slave_read_only", 1)
		w.line("replica_announced", 1)
	}
	var lines []string
	for _, i := range t.replicas(n.index) {
		o := n.c.nodes[i]
		if t.nodes[i].silent || o.loose {
			continue
		}
		lines = append(lines, fmt.Sprintf("ip=%s,port=%d,state=online,offset=%d,lag=0", o.announcedIP(), o.announcedPort(), o.data.offset))
	}
	w.line("connected_slaves", len(lines))
	for i, l := range lines {
		w.line("slave"+strconv.Itoa(i), l)
	}
	w.line("master_failover_state", "no-failover")
	w.line("master_replid", replid)
	w.line("master_replid2", strings.Repeat("0", 40))
	w.line("master_repl_offset", offset)
	w.line("second_repl_offset", -1)
	w.line("repl_backlog_active", min(len(n.c.nodes)-1, 1))
	w.line("repl_backlog_size", n.conf.get("repl-backlog-size"))
	w.line("repl_backlog_first_byte_offset", 1)
	w.line("repl_backlog_histlen", offset)
}

func infoCPU(n *Node, w *infoWriter, now time.Time) {
	for _, name := range []string{"used_cpu_sys", "used_cpu_user", "used_cpu_sys_children", "used_cpu_user_children"} {
		w.line(name, "0.000000")
	}
}

// eachCommand visits the commands that were called or refused, by name.
func (n *Node) eachCommand(visit func(name string, s *commandStats)) {
	if n.stats.commands == nil {
		return
	}
	var list []*command
	for _, c := range table().byName {
		list = append(list, c)
		for _, s := range c.subs {
			list = append(list, s)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	for _, c := range list {
		if s := &n.stats.commands[c.id]; s.calls+s.rejected+s.failed > 0 {
			visit(c.name, s)
		}
	}
}

func infoCommandStats(n *Node, w *infoWriter, _ time.Time) {
	n.eachCommand(func(name string, s *commandStats) {
		per := 0.0
		if s.calls > 0 {
			per = float64(s.usec) / float64(s.calls)
		}
		w.line("cmdstat_"+name, fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			s.calls, s.usec, per, s.rejected, s.failed))
	})
}

func infoErrorStats(n *Node, w *infoWriter, _ time.Time) {
	codes := make([]string, 0, len(n.stats.errors))
	for c := range n.stats.errors {
		codes = append(codes, c)
	}
	slices.Sort(codes)
	for _, c := range codes {
		w.line("errorstat_"+c, fmt.Sprintf("count=%d", n.stats.errors[c]))
	}
}

func infoLatencyStats(n *Node, w *infoWriter, _ time.Time) {
	n.eachCommand(func(name string, s *commandStats) {
		if s.latency.n == 0 {
			return
		}
		var parts []string
		for _, p := range strings.Fields(n.conf.get("latency-tracking-info-percentiles")) {
			f, _ := strconv.ParseFloat(p, 64)
			parts = append(parts, fmt.Sprintf("p%s=%.3f", p, s.latency.percentile(f)))
		}
		w.line("latency_percentiles_usec_"+name, strings.Join(parts, ","))
	})
}

func infoKeyspace(n *Node, w *infoWriter, now time.Time) {
	d := n.data
	if len(d.keys) == 0 {
		return
	}
	var sum time.Duration
	if d.ttls > 0 {
		for _, e := range d.keys {
			if !e.deadline.IsZero() {
				sum += e.deadline.Sub(now)
			}
		}
		sum /= time.Duration(d.ttls)
	}
	w.line("db0", fmt.Sprintf("keys=%d,expires=%d,avg_ttl=%d", len(d.keys), d.ttls, sum.Milliseconds()))
}

// appendInfoLine is name:value of INFO.
func appendInfoLine(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ':')
	b = append(b, value...)
	return append(b, "\r\n"...)
}
