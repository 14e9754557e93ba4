package redisinfo

import (
	"fmt"
	"maps"
	"slices"
)

// monotone are the fields of INFO stats that only grow between resets.
var monotone = []string{
	"total_connections_received",
	"total_commands_processed",
	"total_net_input_bytes",
	"total_net_output_bytes",
	"total_net_repl_input_bytes",
	"total_net_repl_output_bytes",
	"rejected_connections",
	"sync_full",
	"sync_partial_ok",
	"sync_partial_err",
	"expired_keys",
	"expired_subkeys",
	"expired_time_cap_reached_count",
	"evicted_keys",
	"evicted_clients",
	"evicted_scripts",
	"total_eviction_exceeded_time",
	"keyspace_hits",
	"keyspace_misses",
	"total_forks",
	"active_defrag_hits",
	"active_defrag_misses",
	"active_defrag_key_hits",
	"active_defrag_key_misses",
	"total_active_defrag_time",
	"unexpected_error_replies",
	"total_error_replies",
	"dump_payload_sanitizations",
	"total_reads_processed",
	"total_writes_processed",
	"io_threaded_reads_processed",
	"io_threaded_writes_processed",
	"io_threaded_total_prefetch_batches",
	"io_threaded_total_prefetch_entries",
	"client_query_buffer_limit_disconnections",
	"client_output_buffer_limit_disconnections",
	"reply_buffer_shrinks",
	"reply_buffer_expands",
	"acl_access_denied_auth",
	"acl_access_denied_cmd",
	"acl_access_denied_key",
	"acl_access_denied_channel",
}

// resetCommand is the one command whose count survives itself: a server books
// a command after it ran, so CONFIG RESETSTAT leaves exactly its own call.
const resetCommand = "config|resetstat"

// resetEvidence says what shows that the counters were reset between two
// samples of one run, empty if nothing does.
func resetEvidence(before, after Info) string {
	if after.Sections["commandstats"] && before.Sections["commandstats"] {
		b, a := before.Commands[resetCommand], after.Commands[resetCommand]
		if a.Calls > 0 && (a.Calls != b.Calls || a.Usec != b.Usec) {
			return "CONFIG RESETSTAT was run"
		}
	}
	for _, name := range monotone {
		b, okB := before.uint(name)
		a, okA := after.uint(name)
		if okA && okB && a < b {
			return fmt.Sprintf("%s: %d, then %d", name, b, a)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.Commands)) {
		b := before.Commands[name]
		a, ok := after.Commands[name]
		if (ok || after.Sections["commandstats"]) && (a.Calls < b.Calls || a.Usec < b.Usec || a.Rejected < b.Rejected || a.Failed < b.Failed) {
			return fmt.Sprintf("cmdstat_%s: %d calls, then %d", name, b.Calls, a.Calls)
		}
	}
	if !before.ErrorsDisabled && !after.ErrorsDisabled {
		for _, name := range slices.Sorted(maps.Keys(before.Errors)) {
			b := before.Errors[name]
			a, ok := after.Errors[name]
			if (ok || after.Sections["errorstats"]) && a < b {
				return fmt.Sprintf("errorstat_%s: %d, then %d", name, b, a)
			}
		}
	}
	if more, clients, received := moreClients(after); more {
		if was, _, _ := moreClients(before); !was {
			return fmt.Sprintf("%d clients are connected, but only %d connections were received", clients, received)
		}
	}
	return ""
}

// moreClients reports whether more clients are connected than were ever
// received: only a reset does that. The link to its master, which a replica
// opens itself, is one of its connected clients and was never received.
func moreClients(i Info) (more bool, clients, received uint64) {
	clients, okC := i.uint("connected_clients")
	received, okR := i.uint("total_connections_received")
	own := uint64(1)
	if i.Role() == "master" {
		own = 0
	}
	return okC && okR && clients > received+own, clients, received
}
