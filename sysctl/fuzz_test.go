package sysctl

import (
	"encoding/json"
	"testing"
)

// FuzzTree reads a host and a process out of broken files: nothing may panic,
// and what is returned must be valid JSON.
func FuzzTree(f *testing.F) {
	f.Add("Max open files            1024                 4096                 files", "0::/a\n4:memory:/b", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 c rw",
		"   0: 0100007F:1B58 00000000:0000 0A 0:0 00:0 0 0 0 17 1", "Tcp: A B\nTcp: 1 2", "812 (a) b) S 1 1 1")
	f.Add("", ":::", " - ", ": :", "Tcp:\nTcp:", ")")
	f.Fuzz(func(t *testing.T, limits, cgroup, mounts, tcp, snmp, stat string) {
		r := tree(map[string]string{
			"proc/7/limits": limits, "proc/7/cgroup": cgroup, "proc/self/mountinfo": mounts,
			"proc/7/net/tcp": tcp, "proc/7/net/tcp6": tcp, "proc/self/net/tcp": tcp,
			"proc/7/net/snmp": snmp, "proc/7/net/netstat": snmp, "proc/7/stat": stat, "proc/uptime": stat,
			"proc/7/status": limits, "proc/7/smaps_rollup": limits, "proc/meminfo": limits, "proc/vmstat": snmp,
			"sys/kernel/mm/transparent_hugepage/enabled": stat, "sys/fs/cgroup/memory.max": stat, "sys/fs/cgroup/cpu.max": mounts,
			"proc/7/fd/1": "", "proc/7/comm": stat,
		})
		r.NSPIDs()
		r.Listens(7, 7000)
		for _, v := range []any{r.Host(), r.Process(7)} {
			if _, err := json.Marshal(v); err != nil {
				t.Fatal(err)
			}
		}
	})
}
