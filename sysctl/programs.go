package sysctl

import (
	"debug/buildinfo"
	"io"
	"path"
	"strings"
)

// GoProgram is a running program that was built with Go.
type GoProgram struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
	Go   string `json:"go"` // "go1.26.0"
	// Deps are the versions of the modules asked for that it links.
	Deps map[string]string `json:"deps,omitempty"`
}

// maxPrograms bounds how many executables are looked into.
const maxPrograms = 500

// GoPrograms finds running Go programs and which versions of the given
// modules they link. Each executable is listed once, with one of its
// processes. Programs of other users need privileges; they are left out, and
// hidden counts them.
func (r *Reader) GoPrograms(modules ...string) (found []GoProgram, hidden int, err error) {
	pids, err := r.pids()
	if err != nil {
		return nil, 0, err
	}
	seen := map[string]bool{}
	for _, pid := range pids {
		name := proc(pid, "exe")
		target, err := r.link(name)
		if err != nil {
			if _, cmdErr := r.read(proc(pid, "cmdline")); cmdErr == nil && !isKernelThread(r, pid) {
				hidden++
			}
			continue
		}
		if seen[target] || len(seen) >= maxPrograms {
			continue
		}
		seen[target] = true
		if p, ok := r.goProgram(pid, name, modules); ok {
			found = append(found, p)
		}
	}
	return found, hidden, nil
}

func (r *Reader) goProgram(pid int, name string, modules []string) (GoProgram, bool) {
	f, err := r.fsys.Open(name)
	if err != nil {
		return GoProgram{}, false
	}
	defer f.Close()
	ra, ok := f.(io.ReaderAt)
	if !ok {
		return GoProgram{}, false
	}
	bi, err := buildinfo.Read(ra)
	if err != nil {
		return GoProgram{}, false
	}
	p := GoProgram{PID: pid, Name: r.file(proc(pid, "comm")).Text, Go: bi.GoVersion, Deps: map[string]string{}}
	for _, d := range bi.Deps {
		for _, m := range modules {
			if d.Path == m {
				p.Deps[m] = d.Version
			}
		}
	}
	return p, true
}

// isKernelThread: kernel threads have no command line.
func isKernelThread(r *Reader, pid int) bool { return r.file(proc(pid, "cmdline")).Text == "" }

// Unit is the systemd unit that a process belongs to, empty for none.
func (r *Reader) Unit(pid int) string {
	unit := ""
	r.lines(proc(pid, "cgroup"), func(l string) bool {
		f := strings.SplitN(l, ":", 3)
		if len(f) == 3 && (f[1] == "" || f[1] == "name=systemd") {
			for part := range strings.SplitSeq(f[2], "/") {
				if strings.HasSuffix(part, ".service") {
					unit = part
				}
			}
		}
		return unit == ""
	})
	return unit
}

// UnitSetting is a setting as a unit's files and drop-ins have it, the last
// one wins. It is empty when they do not say.
func (r *Reader) UnitSetting(unit, name string) Value {
	if unit == "" || strings.ContainsAny(unit, "/\x00") {
		return Value{Reason: "the process belongs to no systemd unit"}
	}
	names := []string{unit}
	if at := strings.IndexByte(unit, '@'); at > 0 {
		names = []string{unit[:at+1] + ".service", unit}
	}
	v, seen := Value{}, false
	read := func(file string) {
		err := r.lines(file, func(l string) bool {
			if k, val, ok := strings.Cut(l, "="); ok && strings.TrimSpace(k) == name {
				v.Text = strings.TrimSpace(val)
			}
			return true
		})
		seen = seen || err == nil
	}
	dirs := []string{"usr/lib/systemd/system", "lib/systemd/system", "etc/systemd/system"}
	for _, d := range dirs {
		for _, n := range names {
			read(path.Join(d, n))
		}
	}
	for _, d := range append(dirs, "run/systemd/system") {
		for _, n := range names {
			drops, _ := r.dir(path.Join(d, n+".d"))
			for _, e := range drops {
				if strings.HasSuffix(e.Name(), ".conf") {
					read(path.Join(d, n+".d", e.Name()))
				}
			}
		}
	}
	if !seen {
		return Value{Reason: "no file of unit " + unit + " is found"}
	}
	return v
}
