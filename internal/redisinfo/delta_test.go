package redisinfo

import (
	"strings"
	"testing"
)

func TestResetsAndRestartsBetweenTwoSamples(t *testing.T) {
	const head = "# Server\nrun_id:a\nuptime_in_seconds:100\n# Replication\nrole:master\n"
	for _, tc := range []struct {
		name, before, after string
		restarted           bool
		evidence            string
		moved               uint64
	}{
		{name: "nothing happened", before: head, after: head},
		{name: "more of everything",
			before: head + "total_commands_processed:5\n# Errorstats\nerrorstat_MOVED:count=2\n", after: head + "total_commands_processed:9\n# Errorstats\nerrorstat_MOVED:count=5\n", moved: 3},
		{name: "a counter went backwards",
			before: head + "total_connections_received:50\n# Errorstats\nerrorstat_MOVED:count=2", after: head + "total_connections_received:3\n# Errorstats\nerrorstat_MOVED:count=4",
			evidence: "total_connections_received: 50, then 3", moved: 4},
		{name: "a command's calls went backwards", before: head + "cmdstat_get:calls=9,usec=9", after: head + "cmdstat_get:calls=8,usec=10", evidence: "cmdstat_get: 9 calls, then 8"},
		{name: "a command vanished", before: head + "# Commandstats\ncmdstat_get:calls=9,usec=9", after: head + "# Commandstats\n", evidence: "cmdstat_get: 9 calls, then 0"},
		{name: "a section was not asked for", before: head + "# Commandstats\ncmdstat_get:calls=9,usec=9\n# Errorstats\nerrorstat_ERR:count=1", after: head},
		{name: "an error vanished", before: head + "# Errorstats\nerrorstat_MOVED:count=2", after: head + "# Errorstats\nerrorstat_ERR:count=2", evidence: "errorstat_MOVED: 2, then 0"},
		{name: "the errors were dropped by the server", before: head + "# Errorstats\nerrorstat_MOVED:count=2", after: head + "# Errorstats\nerrorstat_ERRORSTATS_DISABLED:count=1"},
		{name: "outgrown, but RESETSTAT left its own call",
			before: head + "# Commandstats\ncmdstat_get:calls=9,usec=9", after: head + "# Commandstats\ncmdstat_get:calls=900,usec=900\ncmdstat_config|resetstat:calls=1,usec=30", evidence: "CONFIG RESETSTAT was run"},
		{name: "outgrown, the second RESETSTAT took another time",
			before: head + "# Commandstats\ncmdstat_config|resetstat:calls=1,usec=31", after: head + "# Commandstats\ncmdstat_get:calls=1,usec=1\ncmdstat_config|resetstat:calls=1,usec=30", evidence: "CONFIG RESETSTAT was run"},
		{name: "RESETSTAT was refused", before: head + "# Commandstats\n", after: head + "# Commandstats\ncmdstat_config|resetstat:calls=0,usec=0,rejected_calls=1"},
		{name: "a reset before the first sample only", before: head + "# Commandstats\ncmdstat_config|resetstat:calls=1,usec=30", after: head + "# Commandstats\ncmdstat_config|resetstat:calls=1,usec=30"},
		{name: "clients older than the reset", before: head + "connected_clients:8\n", after: head + "connected_clients:8\ntotal_connections_received:2", evidence: "8 clients are connected, but only 2 connections were received"},
		{name: "a replica's own link to its master is not received",
			before: head + "connected_clients:1\ntotal_connections_received:1", after: "run_id:a\nrole:slave\nconnected_clients:2\ntotal_connections_received:1"},
		{name: "another run", before: head + "# Errorstats\nerrorstat_MOVED:count=2", after: "run_id:b\n# Errorstats\nerrorstat_MOVED:count=7", restarted: true, moved: 7},
		{name: "less uptime and no run id", before: "uptime_in_seconds:100\n# Errorstats\nerrorstat_MOVED:count=2", after: "uptime_in_seconds:3\n# Errorstats\nerrorstat_MOVED:count=7", restarted: true, moved: 7},
		{name: "less uptime in the same run: the clock was set", before: head, after: "run_id:a\nuptime_in_seconds:3"},
	} {
		d := Between(ParseInfo(tc.before), ParseInfo(tc.after))
		if d.Restarted != tc.restarted || d.ResetEvidence != tc.evidence || d.Reset != (tc.evidence != "") || d.Errors["MOVED"] != tc.moved {
			t.Errorf("%s: restarted %v, reset %v (%q), moved %d; want %v, %q, %d", tc.name, d.Restarted, d.Reset, d.ResetEvidence, d.Errors["MOVED"], tc.restarted, tc.evidence, tc.moved)
		}
		if off := strings.Contains(tc.after, "DISABLED"); d.ErrorsDisabled != off {
			t.Errorf("%s: errors disabled %v", tc.name, d.ErrorsDisabled)
		}
	}
}

func TestDifferencesOfCountersAndCommands(t *testing.T) {
	d := Between(
		ParseInfo("run_id:a\ntotal_commands_processed:5\nkeyspace_hits:7\nevicted_keys:1\n# Commandstats\ncmdstat_get:calls=2,usec=10,rejected_calls=0,failed_calls=1\ncmdstat_set:calls=1,usec=1"),
		ParseInfo("run_id:a\ntotal_commands_processed:9\nkeyspace_hits:7\nkeyspace_misses:3\nevicted_keys:2\n# Commandstats\ncmdstat_get:calls=5,usec=30,rejected_calls=2,failed_calls=1\ncmdstat_set:calls=1,usec=1"))
	if d.Commands["get"] != (CommandStat{Calls: 3, Usec: 20, Rejected: 2}) || len(d.Commands) != 1 {
		t.Errorf("commands %v", d.Commands)
	}
	if d.Counters["total_commands_processed"] != 4 || d.Counters["evicted_keys"] != 1 || len(d.Counters) != 2 {
		t.Errorf("counters %v", d.Counters)
	}
}
