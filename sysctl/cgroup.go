package sysctl

import (
	"path"
	"strconv"
	"strings"
)

// Cgroup is what the control groups of a process allow it. Limits of
// ancestors count too: the values are those of the tightest visible group.
type Cgroup struct {
	// Version is "v1", "v2" or "hybrid".
	Version Value `json:"version"`
	// Path is the group in the hierarchy that limits memory.
	Path string `json:"path,omitempty"`
	// MemoryMax is the limit in bytes, "max" for none; MemoryCurrent belongs
	// to the process's own group.
	MemoryMax     Value `json:"memory_max"`
	MemoryCurrent Value `json:"memory_current"`
	// OOMKills counts processes killed for lack of memory in the group.
	OOMKills Value `json:"oom_kills"`
	// PIDsMax is "max" for none.
	PIDsMax     Value `json:"pids_max"`
	PIDsCurrent Value `json:"pids_current"`
	// CPUQuota is CPUs, such as "1.5", "max" for none.
	CPUQuota Value `json:"cpu_quota"`
	// Periods and Throttled count scheduling periods, and those in which the
	// group was stopped for having used its quota up.
	Periods   Value `json:"cpu_periods"`
	Throttled Value `json:"cpu_throttled"`
}

// hierarchy is one mounted tree of control groups.
type hierarchy struct {
	v2          bool
	mount, root string // where it is mounted, and which group is mounted there
}

// group is a process's group in one hierarchy, seen through its mount.
type group struct {
	v2   bool
	dirs []string // its own directory first, then its ancestors
}

// Cgroup reads the control groups of a process.
func (r *Reader) Cgroup(pid int) Cgroup {
	why := func(reason string) Cgroup {
		v := Value{Reason: reason}
		return Cgroup{v, "", v, v, v, v, v, v, v, v}
	}
	paths := map[string]string{} // controller to path; "" is v2
	name := proc(pid, "cgroup")
	err := r.lines(name, func(l string) bool {
		f := strings.SplitN(l, ":", 3)
		if len(f) != 3 {
			return true
		}
		for c := range strings.SplitSeq(f[1], ",") {
			paths[c] = f[2]
		}
		return true
	})
	if err != nil {
		return why(r.unreadable(name, err).Reason)
	}
	mounts := r.cgroupMounts()
	find := func(controller string) (group, bool) {
		for _, c := range []string{controller, ""} {
			p, ok := paths[c]
			m, mounted := mounts[c]
			if ok && mounted {
				return group{m.v2, groupDirs(m, p)}, true
			}
		}
		return group{}, false
	}
	var c Cgroup
	c.Version = Value{Text: cgroupVersion(paths, mounts)}
	none := Value{Reason: "no mounted cgroup hierarchy limits it"}
	c.MemoryMax, c.MemoryCurrent, c.OOMKills = none, none, none
	c.PIDsMax, c.PIDsCurrent, c.CPUQuota, c.Periods, c.Throttled = none, none, none, none, none
	if g, ok := find("memory"); ok {
		c.Path = g.dirs[0]
		r.memory(g, &c)
	}
	if g, ok := find("pids"); ok {
		c.PIDsMax = r.tightest(g, "pids.max", "pids.max")
		c.PIDsCurrent = r.file(path.Join(g.dirs[0], "pids.current"))
	}
	if g, ok := find("cpu"); ok {
		r.cpu(g, &c)
	}
	return c
}

func cgroupVersion(paths map[string]string, mounts map[string]hierarchy) string {
	_, two := paths[""]
	one := len(paths) > 1 || (len(paths) == 1 && !two)
	switch {
	case one && two && mounts[""].v2:
		return "hybrid"
	case one:
		return "v1"
	}
	return "v2"
}

// cgroupMounts are the mounted hierarchies by controller; v2 is "".
func (r *Reader) cgroupMounts() map[string]hierarchy {
	m := map[string]hierarchy{}
	r.lines("proc/self/mountinfo", func(l string) bool {
		left, right, ok := strings.Cut(l, " - ")
		lf, rf := strings.Fields(left), strings.Fields(right)
		if !ok || len(lf) < 5 || len(rf) < 1 {
			return true
		}
		h := hierarchy{root: lf[3], mount: strings.TrimPrefix(lf[4], "/")}
		switch {
		case rf[0] == "cgroup2":
			h.v2 = true
			if _, seen := m[""]; !seen {
				m[""] = h
			}
		case rf[0] == "cgroup" && len(rf) >= 3:
			for o := range strings.SplitSeq(rf[2], ",") {
				if _, seen := m[o]; !seen {
					m[o] = h
				}
			}
		}
		return true
	})
	return m
}

// groupDirs are the directories of a group and its ancestors, as far as the
// mount shows them. A group outside the mounted part is seen at the mount's
// own root, which is what a container sees of itself.
func groupDirs(h hierarchy, p string) []string {
	p = path.Clean("/" + p)
	rel, ok := strings.CutPrefix(p, strings.TrimSuffix(h.root, "/"))
	if !ok {
		rel = "/"
	}
	var dirs []string
	for d := path.Clean("/" + rel); ; d = path.Dir(d) {
		dirs = append(dirs, path.Join(h.mount, d))
		if d == "/" {
			return dirs
		}
	}
}

// tightest is the smallest limit of a group and its ancestors.
func (r *Reader) tightest(g group, v2, v1 string) Value {
	file := v1
	if g.v2 {
		file = v2
	}
	best := int64(-1)
	var seen bool
	first := Value{}
	for i, d := range g.dirs {
		v := r.file(path.Join(d, file))
		if i == 0 {
			first = v
		}
		if !v.Known() {
			continue // the root group has no limits
		}
		seen = true
		// v1 writes "no limit" as a number near 2^63.
		if n, err := v.Int(); err == nil && n >= 0 && n < 1<<62 && (best < 0 || n < best) {
			best = n
		}
	}
	switch {
	case !seen && len(g.dirs) == 1:
		return Value{Text: "max"} // a root group has no limit files
	case !seen:
		return first
	case best < 0:
		return Value{Text: "max"}
	}
	return number(best)
}

func (r *Reader) memory(g group, c *Cgroup) {
	c.MemoryMax = r.tightest(g, "memory.max", "memory.limit_in_bytes")
	current, events := "memory.usage_in_bytes", "memory.oom_control"
	if g.v2 {
		current, events = "memory.current", "memory.events"
	}
	c.MemoryCurrent = r.file(path.Join(g.dirs[0], current))
	c.OOMKills = r.counter(path.Join(g.dirs[0], events), "oom_kill")
}

// cpu takes the group with the smallest quota, since that is the one that
// throttles.
func (r *Reader) cpu(g group, c *Cgroup) {
	best := -1.0
	stat := path.Join(g.dirs[0], "cpu.stat")
	for _, d := range g.dirs {
		if q := r.quota(g.v2, d); q > 0 && (best < 0 || q < best) {
			best, stat = q, path.Join(d, "cpu.stat")
		}
	}
	c.CPUQuota = Value{Text: "max"}
	if best > 0 {
		c.CPUQuota = Value{Text: strconv.FormatFloat(best, 'f', -1, 64)}
	}
	c.Periods = r.counter(stat, "nr_periods")
	c.Throttled = r.counter(stat, "nr_throttled")
	if best < 0 {
		c.Periods, c.Throttled = number(0), number(0)
	}
}

// quota is the CPUs a group may use, 0 for no limit.
func (r *Reader) quota(v2 bool, dir string) float64 {
	var quota, period string
	if v2 {
		f := strings.Fields(r.file(path.Join(dir, "cpu.max")).Text)
		if len(f) != 2 {
			return 0
		}
		quota, period = f[0], f[1]
	} else {
		quota = r.file(path.Join(dir, "cpu.cfs_quota_us")).Text
		period = r.file(path.Join(dir, "cpu.cfs_period_us")).Text
	}
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return 0
	}
	return q / p
}
