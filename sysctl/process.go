package sysctl

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Process is one process with everything that belongs to it.
type Process struct {
	PID  int    `json:"pid"`
	Name string `json:"name"` // as the kernel has it, at most 15 bytes
	Exe  Value  `json:"exe"`
	// NSPID is the process id in the innermost pid namespace, as the process
	// itself sees it.
	NSPID Value `json:"ns_pid"`
	// UptimeSeconds is how long the process has been running.
	UptimeSeconds Value `json:"uptime_seconds"`
	// Limits are the resource limits by the kernel's names, "Max open files".
	Limits       map[string]Limit `json:"limits,omitempty"`
	LimitsReason string           `json:"limits_unreadable,omitempty"`
	// OpenFiles is the number of open file descriptors.
	OpenFiles Value `json:"open_files"`
	// SwapBytes, and HugePageBytes of anonymous memory.
	SwapBytes     Value `json:"swap_bytes"`
	HugePageBytes Value `json:"huge_page_bytes"`
	// HugePagesAllowed is "0" when the process opted out of transparent huge
	// pages, "1" when it did not; kernels before 5.0 do not say.
	HugePagesAllowed Value            `json:"huge_pages_allowed"`
	Namespaces       map[string]Value `json:"namespaces"`
	Cgroup           Cgroup           `json:"cgroup"`
	Net              Net              `json:"net"`
}

// Limit is a resource limit; -1 is unlimited.
type Limit struct {
	Soft int64 `json:"soft"`
	Hard int64 `json:"hard"`
}

// String is "soft 1024, hard 4096".
func (l Limit) String() string {
	f := func(n int64) string {
		if n < 0 {
			return "unlimited"
		}
		return strconv.FormatInt(n, 10)
	}
	return "soft " + f(l.Soft) + ", hard " + f(l.Hard)
}

// AtLeast reports whether a limit (soft or hard) allows n.
func AtLeast(limit, n int64) bool { return limit < 0 || limit >= n }

// Limit is a limit by the kernel's name, or the reason why there is none.
func (p Process) Limit(name string) (Limit, error) {
	l, ok := p.Limits[name]
	switch {
	case ok:
		return l, nil
	case p.LimitsReason != "":
		return Limit{}, fmt.Errorf("%s", p.LimitsReason)
	}
	return Limit{}, fmt.Errorf("the kernel lists no limit %q", name)
}

// Process reads a process and its network namespace. When that namespace is
// not the caller's, its settings need CAP_SYS_ADMIN; without it they are
// unreadable.
func (r *Reader) Process(pid int) Process {
	p := r.Limits(pid)
	p.Cgroup = r.Cgroup(pid)
	p.Net = r.netOf(pid)
	return p
}

// Limits reads a process without its cgroup and network.
func (r *Reader) Limits(pid int) Process {
	p := Process{PID: pid, Name: r.file(proc(pid, "comm")).Text}
	if l, err := r.link(proc(pid, "exe")); err != nil {
		p.Exe = r.unreadable(proc(pid, "exe"), err)
	} else {
		p.Exe = Value{Text: l}
	}
	p.Limits, p.LimitsReason = r.limits(pid)
	p.OpenFiles = r.openFiles(pid)
	p.UptimeSeconds = r.uptime(pid)
	st := r.status(pid)
	p.NSPID = st("NSpid")
	if f := strings.Fields(p.NSPID.Text); len(f) > 0 {
		p.NSPID.Text = f[len(f)-1]
	}
	p.HugePagesAllowed = st("THP_enabled")
	if p.SwapBytes = st("VmSwap"); p.SwapBytes.Known() {
		p.SwapBytes = kilobytes(p.SwapBytes.Text)
	}
	p.HugePageBytes = r.sizes(proc(pid, "smaps_rollup"))("AnonHugePages")
	p.Namespaces = r.namespaces(strconv.Itoa(pid))
	return p
}

func (r *Reader) status(pid int) func(field string) Value {
	m := map[string]string{}
	name := proc(pid, "status")
	err := r.lines(name, func(l string) bool {
		if k, v, ok := strings.Cut(l, ":"); ok {
			m[k] = strings.TrimSpace(v)
		}
		return true
	})
	return func(field string) Value {
		if err != nil {
			return r.unreadable(name, err)
		}
		v, ok := m[field]
		if !ok {
			return Value{Reason: "/" + name + " has no " + field}
		}
		return Value{Text: v}
	}
}

// limits reads lines of three columns with fixed places: the name takes 26
// columns, soft and hard follow.
func (r *Reader) limits(pid int) (map[string]Limit, string) {
	name := proc(pid, "limits")
	m := map[string]Limit{}
	err := r.lines(name, func(l string) bool {
		if len(l) < 26 {
			return true
		}
		f := strings.Fields(l[26:])
		if len(f) < 2 {
			return true
		}
		soft, ok1 := limitNumber(f[0])
		hard, ok2 := limitNumber(f[1])
		if ok1 && ok2 {
			m[strings.TrimSpace(l[:26])] = Limit{soft, hard}
		}
		return true
	})
	if err != nil {
		return nil, r.unreadable(name, err).Reason
	}
	if len(m) == 0 {
		return nil, "/" + name + " lists no limits"
	}
	return m, ""
}

func limitNumber(s string) (int64, bool) {
	if s == "unlimited" {
		return -1, true
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if n > math.MaxInt64 {
		return -1, err == nil
	}
	return int64(n), err == nil
}

func (r *Reader) openFiles(pid int) Value {
	entries, err := r.dir(proc(pid, "fd"))
	if err != nil {
		return r.unreadable(proc(pid, "fd"), err)
	}
	return number(len(entries))
}

// uptime comes from the start time in stat, in hundredths of a second since
// boot (USER_HZ is 100 on every Linux that Go runs on).
func (r *Reader) uptime(pid int) Value {
	name := proc(pid, "stat")
	stat := r.file(name)
	if !stat.Known() {
		return stat
	}
	up := r.file("proc/uptime")
	if !up.Known() {
		return up
	}
	// The name in parentheses may hold blanks and parentheses itself.
	rest := stat.Text[strings.LastIndexByte(stat.Text, ')')+1:]
	f := strings.Fields(rest)
	now, _, _ := strings.Cut(up.Text, " ")
	secs, err := strconv.ParseFloat(now, 64)
	if err != nil || len(f) < 20 {
		return Value{Reason: "/" + name + " or /proc/uptime is not in the expected form"}
	}
	start, err := strconv.ParseFloat(f[19], 64)
	if err != nil || secs < start/100 {
		return Value{Reason: "/" + name + " has no usable start time"}
	}
	return number(int64(secs - start/100))
}
