package sysctl

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func tree(files map[string]string) *Reader {
	m := fstest.MapFS{}
	for k, v := range files {
		m[k] = &fstest.MapFile{Data: []byte(v)}
	}
	return New(m)
}

func TestAnAbsentSettingIsUnreadableAndSaysWhere(t *testing.T) {
	r := tree(map[string]string{"proc/sys/net/core/somaxconn": "4096\n", "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n"})
	if v := r.Setting("net.core.somaxconn"); v.Text != "4096" || !v.Known() {
		t.Errorf("somaxconn = %+v", v)
	}
	if v := r.Setting("net.ipv4.ip_local_port_range"); v.Text != "32768 60999" {
		t.Errorf("range = %+v", v)
	}
	if v := r.Setting("net.ipv4.tcp_mem"); v.Known() || v.Reason != "/proc/sys/net/ipv4/tcp_mem is absent" {
		t.Errorf("absent = %+v", v)
	}
	if v := r.Setting("../../etc/passwd"); v.Known() {
		t.Errorf("a path outside was read: %+v", v)
	}
}

func TestLimitsKeepUnlimitedApartFromNumbers(t *testing.T) {
	r := tree(map[string]string{"proc/812/limits": `Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max open files            1024                 524288               files     
Max nice priority         0                    0                    
`})
	p := r.Limits(812)
	l, err := p.Limit("Max open files")
	if err != nil || l != (Limit{1024, 524288}) {
		t.Errorf("open files = %v, %v", l, err)
	}
	if l, _ := p.Limit("Max cpu time"); l.Soft != -1 || !AtLeast(l.Soft, 1<<40) {
		t.Errorf("cpu time = %v", l)
	}
	if _, err := p.Limit("Max flying cars"); err == nil {
		t.Error("no error for an unknown limit")
	}
	if _, err := r.Limits(1).Limit("Max open files"); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("no process: %v", err)
	}
}

func TestTheTightestCgroupOnThePathCounts(t *testing.T) {
	for _, c := range []struct {
		name   string
		files  map[string]string
		ver    string
		memMax string
		pids   string
		quota  string
	}{
		{"v2", map[string]string{
			"proc/7/cgroup":                             "0::/kubepods/pod1/c1\n",
			"proc/self/mountinfo":                       "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/kubepods/memory.max":         "max\n",
			"sys/fs/cgroup/kubepods/pod1/c1/cpu.max":    "max 100000\n",
			"sys/fs/cgroup/kubepods/pod1/cpu.max":       "150000 100000\n",
			"sys/fs/cgroup/kubepods/pod1/memory.max":    "1000000\n",
			"sys/fs/cgroup/kubepods/pod1/c1/memory.max": "2000000\n",
			"sys/fs/cgroup/kubepods/pod1/c1/pids.max":   "max\n",
		}, "v2", "1000000", "max", "1.5"},
		{"v1", map[string]string{
			"proc/7/cgroup":       "4:memory:/docker/x\n8:pids:/docker/x\n2:cpu,cpuacct:/docker/x\n",
			"proc/self/mountinfo": "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n32 23 0:28 /docker/x /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n33 23 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
			"sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":          "9223372036854771712\n",
			"sys/fs/cgroup/pids/pids.max":                         "512\n",
			"sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us":         "-1\n",
			"sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us":        "100000\n",
		}, "v1", "max", "512", "max"},
		{"hybrid", map[string]string{
			"proc/7/cgroup":       "4:memory:/a\n0::/\n",
			"proc/self/mountinfo": "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n34 23 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "4096\n",
		}, "hybrid", "4096", "max", "max"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := tree(c.files).Process(7).Cgroup
			if g.Version.Text != c.ver || g.MemoryMax.Text != c.memMax || g.PIDsMax.Text != c.pids || g.CPUQuota.Text != c.quota {
				t.Errorf("got version %v, memory %v, pids %v, cpu %v", g.Version, g.MemoryMax, g.PIDsMax, g.CPUQuota)
			}
		})
	}
}

func TestAddressesOfTheTCPTable(t *testing.T) {
	for in, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"00000000000000000000000001000000:1B58": "[::1]:7000",
		"0000000000000000FFFF00000100007F:1B58": "127.0.0.1:7000",
	} {
		got, ok := parseHexAddr(in)
		if !ok || got.String() != want {
			t.Errorf("%s = %v, want %s", in, got, want)
		}
	}
	for _, bad := range []string{"", ":", "01:1", "0100007F", "zz00007F:1F90", "0100007F:10000"} {
		if a, ok := parseHexAddr(bad); ok {
			t.Errorf("%q was read as %v", bad, a)
		}
	}
}

func TestPortsInUseAreCountedByDestination(t *testing.T) {
	row := func(local, remote, state string) string {
		return "   0: " + local + " " + remote + " " + state + " 00000000:00000000 00:00000000 00000000 0 0 1 1 0\n"
	}
	r := tree(map[string]string{"proc/7/net/tcp": "  sl  local_address rem_address   st\n" +
		row("0100007F:1B58", "00000000:0000", "0A") +
		row("0100007F:1B58", "0200007F:C000", "01") + // accepted: uses no port
		row("0100007F:C001", "0300007F:1B58", "01") +
		row("0100007F:C002", "0300007F:1B58", "06") +
		row("0100007F:C002", "0400007F:1B58", "01")})
	n := r.Process(7).Net
	if len(n.Destinations) != 2 || n.Destinations[0].Ports != 2 || n.Destinations[0].Addr.String() != "127.0.0.3:7000" {
		t.Errorf("destinations = %+v", n.Destinations)
	}
	if n.States["ESTABLISHED"] != 3 || n.States["TIME_WAIT"] != 1 || n.States["LISTEN"] != 1 {
		t.Errorf("states = %v", n.States)
	}
}

func TestCountersPairNamesWithNumbers(t *testing.T) {
	r := tree(map[string]string{
		"proc/7/net/snmp":    "Tcp: RtoMin RetransSegs\nTcp: 200 17\nUdp: X\nUdp: 3\n",
		"proc/7/net/netstat": "TcpExt: ListenOverflows ListenDrops\nTcpExt: 5 6\n",
	})
	c, why := r.Counters(7)
	if why != "" || c["Tcp.RetransSegs"] != 17 || c["TcpExt.ListenDrops"] != 6 || len(c) != 4 {
		t.Errorf("counters = %v, %q", c, why)
	}
	if _, why := r.Counters(8); why == "" {
		t.Error("no reason for a process that is not there")
	}
}

func TestARunningListenerIsFoundWithItsBacklog(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().(*net.TCPAddr).AddrPort()
	r := Live()
	pids, err := r.NSPIDs()
	if err != nil || !slices.Contains(pids[os.Getpid()], os.Getpid()) {
		t.Fatalf("process %d is not found: %v", os.Getpid(), err)
	}
	for port, want := range map[int]bool{int(addr.Port()): true, 1: false} {
		if ok, err := r.Listens(os.Getpid(), port); err != nil || ok != want {
			t.Fatalf("listens on %d: %v, %v", port, ok, err)
		}
	}
	n := r.Process(os.Getpid()).Net
	if !n.Own {
		t.Error("our own network namespace is not seen as ours")
	}
	i := slices.IndexFunc(n.Listeners, func(l Listener) bool { return l.Addr == netip.AddrPort(addr) })
	if i < 0 {
		t.Fatalf("listener %v is not in %v", addr, n.Listeners)
	}
	if b, err := n.Listeners[i].Backlog.Int(); err != nil || b < 1 {
		t.Errorf("backlog = %v, %v", b, err)
	}
}

func TestElsewhereEverythingIsUnreadable(t *testing.T) {
	r := &Reader{why: "cannot be read on plan9"}
	h := r.Host()
	p := r.Process(1)
	for name, v := range map[string]Value{"kernel": h.Kernel, "thp": h.HugePages, "somaxconn": h.Net.Settings.Get("net.core.somaxconn"),
		"memory": p.Cgroup.MemoryMax, "files": p.OpenFiles, "total": h.MemTotal} {
		if v.Reason != "cannot be read on plan9" {
			t.Errorf("%s = %+v", name, v)
		}
	}
}

func TestAUnitsDropInsWin(t *testing.T) {
	r := tree(map[string]string{
		"proc/7/cgroup": "0::/system.slice/redis-server@7000.service\n",
		"usr/lib/systemd/system/redis-server@.service":              "[Service]\nLimitNOFILE=1024\n",
		"etc/systemd/system/redis-server@.service.d/10-limits.conf": "[Service]\nLimitNOFILE = 65536\n",
	})
	unit := r.Unit(7)
	if unit != "redis-server@7000.service" {
		t.Fatalf("unit %q", unit)
	}
	if v := r.UnitSetting(unit, "LimitNOFILE"); v.Text != "65536" {
		t.Errorf("LimitNOFILE = %v", v)
	}
	if v := r.UnitSetting(unit, "TasksMax"); !v.Known() || v.Text != "" {
		t.Errorf("TasksMax = %+v", v)
	}
	if v := r.UnitSetting("other.service", "LimitNOFILE"); v.Known() {
		t.Errorf("another unit: %+v", v)
	}
}

func TestThisTestIsSeenAsAGoProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	found, _, err := Live().GoPrograms("golang.org/x/sys")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		if p.Go == runtime.Version() {
			return
		}
	}
	t.Errorf("no program built with %s in %+v", runtime.Version(), found)
}
