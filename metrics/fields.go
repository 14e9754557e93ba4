package metrics

var serversGroup = &group{title: "Servers (`Servers`, `rcctl exporter`)", owner: "cluster"}

var (
	serverUp = serversGroup.gauge("rcctl_server_up",
		"1 if the node answered this scrape; without an answer it has no other values.", "node")
	serverInfo = serversGroup.gauge("rcctl_server_info",
		"Always 1: the node's role (master or replica), software and version, to join with the others.", "node", "role", "software", "version")
	serverIsMaster = serversGroup.gauge("rcctl_server_is_master", "1 for a master, 0 for a replica.", "node")
	serverSlots    = serversGroup.gauge("rcctl_server_slots", "Slots that the node says it owns.", "node")
	serverKeys     = serversGroup.gauge("rcctl_server_keys", "Keys.", "node")
	serverExpiring = serversGroup.gauge("rcctl_server_keys_expiring", "Keys with a time to live.", "node")
	serverErrors   = serversGroup.counter("rcctl_server_error_replies_by_prefix_total",
		"Error replies by their first word (INFO errorstats), known ones apart, the rest as other.", "node", "prefix")
	serverErrorsOff = serversGroup.gauge("rcctl_server_errorstats_disabled",
		"1 if the server gave up counting errors by prefix because there were too many.", "node")
	serverCPU = serversGroup.counter("rcctl_server_cpu_seconds_total",
		"Processor time of the server process, by mode: user or sys.", "node", "mode")
	serverHits = serversGroup.counter("rcctl_server_keyspace_hits_total", "Lookups of keys that were there.", "node")
	serverMiss = serversGroup.counter("rcctl_server_keyspace_misses_total", "Lookups of keys that were not there.", "node")
	serverSync = serversGroup.counter("rcctl_server_replica_syncs_total",
		"Synchronisations of replicas with this master, by kind: full, partial, partial_refused.", "node", "kind")
	serverNet = serversGroup.counter("rcctl_server_network_bytes_total",
		"Bytes from and to clients, by direction: in or out.", "node", "direction")
	serverDropped = serversGroup.counter("rcctl_server_clients_dropped_total",
		"Clients that the server disconnected, by reason: query_buffer, output_buffer, evicted (maxmemory-clients).", "node", "reason")
	serverLinkUp = serversGroup.gauge("rcctl_server_replica_link_up",
		"1 if the replica's link to its master is up; replicas only.", "node")
	serverSaveOK = serversGroup.gauge("rcctl_server_rdb_last_save_ok", "1 if the last background save worked.", "node")
	serverAOFOK  = serversGroup.gauge("rcctl_server_aof_last_write_ok", "1 if the last write to the append-only file worked.", "node")
	replicaLag   = serversGroup.gauge("rcctl_server_replica_lag_seconds",
		"Time since the replica acknowledged last, in whole seconds, as its master says; replicas only.", "node")
	replicaLagBytes = serversGroup.gauge("rcctl_server_replica_lag_bytes",
		"Bytes of its master's stream that the replica has not acknowledged; replicas only.", "node")
	clusterSlots = serversGroup.gauge("rcctl_cluster_slots",
		"Slots by state: served (a master that answered says it owns them) or unserved.", "state")
	clusterKnown = serversGroup.gauge("rcctl_cluster_topology_known",
		"1 if at least one node told about the cluster.")
	clusterScrape = serversGroup.gauge("rcctl_cluster_scrape_seconds", "Time of the round of questions to all nodes.")
)

// A field is a number of INFO that becomes a value.
type field struct {
	field string
	spec  *spec
	scale float64
	label []string // values of the labels after node
}

func gaugeField(name, metric, help string) field {
	return field{name, serversGroup.gauge(metric, help, "node"), 1, nil}
}

func counterField(name, metric, help string) field {
	return field{name, serversGroup.counter(metric, help, "node"), 1, nil}
}

var fields = []field{
	gaugeField("uptime_in_seconds", "rcctl_server_uptime_seconds", "Time since the server started."),
	gaugeField("used_memory", "rcctl_server_memory_used_bytes", "Memory that the server allocated (used_memory)."),
	gaugeField("used_memory_rss", "rcctl_server_memory_rss_bytes", "Memory of the process as the system sees it."),
	gaugeField("used_memory_peak", "rcctl_server_memory_peak_bytes", "Most memory that the server ever allocated."),
	gaugeField("used_memory_dataset", "rcctl_server_memory_dataset_bytes", "Memory of the data alone."),
	gaugeField("mem_clients_normal", "rcctl_server_memory_clients_bytes", "Memory of the buffers of clients."),
	gaugeField("maxmemory", "rcctl_server_memory_max_bytes", "maxmemory; 0 means no limit."),
	gaugeField("mem_fragmentation_ratio", "rcctl_server_memory_fragmentation_ratio", "Memory of the process by memory allocated."),
	gaugeField("connected_clients", "rcctl_server_connected_clients", "Clients connected now, replicas not counted."),
	gaugeField("maxclients", "rcctl_server_max_clients", "maxclients, as the server could get it."),
	gaugeField("blocked_clients", "rcctl_server_blocked_clients", "Clients that wait in a blocking command."),
	gaugeField("connected_slaves", "rcctl_server_connected_replicas", "Replicas connected to the node."),
	gaugeField("loading", "rcctl_server_loading", "1 while the server loads its data and refuses commands."),
	gaugeField("master_repl_offset", "rcctl_server_replication_offset_bytes", "Position in the replication stream."),
	gaugeField("rdb_changes_since_last_save", "rcctl_server_rdb_changes_since_last_save", "Changes since the last save."),
	{"latest_fork_usec", serversGroup.gauge("rcctl_server_last_fork_seconds", "Time that the last fork stopped the server.", "node"), 1e-6, nil},
	counterField("total_connections_received", "rcctl_server_connections_received_total", "Connections accepted."),
	counterField("rejected_connections", "rcctl_server_rejected_connections_total", "Connections refused because of maxclients."),
	counterField("total_commands_processed", "rcctl_server_commands_processed_total", "Commands processed."),
	counterField("total_error_replies", "rcctl_server_error_replies_total", "Error replies, redirects included."),
	counterField("expired_keys", "rcctl_server_expired_keys_total", "Keys that ended with their time to live."),
	counterField("evicted_keys", "rcctl_server_evicted_keys_total", "Keys removed because of maxmemory."),
	{"keyspace_hits", serverHits, 1, nil},
	{"keyspace_misses", serverMiss, 1, nil},
	{"used_cpu_user", serverCPU, 1, []string{"user"}},
	{"used_cpu_sys", serverCPU, 1, []string{"sys"}},
	{"total_net_input_bytes", serverNet, 1, []string{"in"}},
	{"total_net_output_bytes", serverNet, 1, []string{"out"}},
	{"sync_full", serverSync, 1, []string{"full"}},
	{"sync_partial_ok", serverSync, 1, []string{"partial"}},
	{"sync_partial_err", serverSync, 1, []string{"partial_refused"}},
	{"client_query_buffer_limit_disconnections", serverDropped, 1, []string{"query_buffer"}},
	{"client_output_buffer_limit_disconnections", serverDropped, 1, []string{"output_buffer"}},
	{"evicted_clients", serverDropped, 1, []string{"evicted"}},
}

// words are fields that are a word, with the word that means 1.
var words = []struct {
	field string
	spec  *spec
	good  string
}{
	{"master_link_status", serverLinkUp, "up"},
	{"rdb_last_bgsave_status", serverSaveOK, "ok"},
	{"aof_last_write_status", serverAOFOK, "ok"},
}

// errorPrefixes are the first words of error replies that are counted apart.
var errorPrefixes = []string{
	"ASK", "BUSY", "BUSYGROUP", "BUSYKEY", "CLUSTERDOWN", "CROSSSLOT", "ERR", "EXECABORT", "INPROG", "IOERR",
	"LOADING", "MASTERDOWN", "MISCONF", "MOVED", "NOAUTH", "NOGOODSLAVE", "NOGROUP", "NOPERM", "NOPROTO",
	"NOREPLICAS", "NOSCRIPT", "NOTBUSY", "OOM", "READONLY", "TRYAGAIN", "UNBLOCKED", "UNKILLABLE",
	"WRONGPASS", "WRONGTYPE",
}
