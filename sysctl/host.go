package sysctl

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Host is what belongs to the whole machine, and the network namespace of
// the program that reads it.
type Host struct {
	Name   string `json:"name"`
	OS     string `json:"os"`   // GOOS
	Arch   string `json:"arch"` // GOARCH
	Kernel Value  `json:"kernel"`
	CPUs   int    `json:"cpus"`
	// MemTotal and MemAvailable are bytes.
	MemTotal     Value `json:"mem_total_bytes"`
	MemAvailable Value `json:"mem_available_bytes"`
	SwapTotal    Value `json:"swap_total_bytes"`
	SwapIns      Value `json:"swap_ins"` // pages swapped in since boot
	// HugePages is the mode of transparent huge pages: always, madvise, never.
	HugePages Value `json:"transparent_hugepage"`
	// Settings are those of the whole host (vm, fs, kernel).
	Settings Settings `json:"settings"`
	// Namespaces are those of the reader; InitNamespaces those of process 1,
	// unreadable without privileges.
	Namespaces     map[string]Value `json:"namespaces"`
	InitNamespaces map[string]Value `json:"init_namespaces"`
	// Net is the reader's network namespace.
	Net Net `json:"net"`
	// Container names the container runtime the reader runs in, if any.
	Container string `json:"container,omitempty"`
}

// Host reads the machine and the caller's network namespace.
func (r *Reader) Host() Host {
	h := Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	h.Name, _ = os.Hostname()
	h.Kernel = r.file("proc/sys/kernel/osrelease")
	mem := r.sizes("proc/meminfo")
	h.MemTotal, h.MemAvailable, h.SwapTotal = mem("MemTotal"), mem("MemAvailable"), mem("SwapTotal")
	h.SwapIns = r.counter("proc/vmstat", "pswpin")
	h.HugePages = r.hugePages()
	h.Settings = r.settings(hostSettings)
	h.Namespaces = r.namespaces("self")
	h.InitNamespaces = r.namespaces("1")
	h.Net = r.ownNet()
	h.Container = r.container()
	return h
}

// sizes reads a file of "Name:  123 kB" lines; what it returns gives bytes.
func (r *Reader) sizes(name string) func(field string) Value {
	m := map[string]string{}
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
		text, ok := m[field]
		if !ok {
			return Value{Reason: "/" + name + " has no " + field}
		}
		return kilobytes(text)
	}
}

// kilobytes turns "123 kB" into bytes.
func kilobytes(s string) Value {
	num, _ := strings.CutSuffix(s, " kB")
	n, err := strconv.ParseInt(strings.TrimSpace(num), 10, 64)
	if err != nil || n < 0 || n > 1<<52 {
		return Value{Reason: strconv.Quote(s) + " is not a size"}
	}
	return number(n * 1024)
}

// counter is the number behind a name in a file of "name number" lines.
func (r *Reader) counter(name, field string) Value {
	v := Value{Reason: "/" + name + " has no " + field}
	err := r.lines(name, func(l string) bool {
		k, n, ok := strings.Cut(l, " ")
		if ok && k == field {
			v = Value{Text: strings.TrimSpace(n)}
			return false
		}
		return true
	})
	if err != nil {
		return r.unreadable(name, err)
	}
	return v
}

func (r *Reader) unreadable(name string, err error) Value {
	if r.why != "" {
		return Value{Reason: r.why}
	}
	return unreadable(name, err)
}

func (r *Reader) hugePages() Value {
	v := r.file("sys/kernel/mm/transparent_hugepage/enabled")
	if !v.Known() {
		return v
	}
	_, rest, ok := strings.Cut(v.Text, "[")
	mode, _, ok2 := strings.Cut(rest, "]")
	if !ok || !ok2 {
		return Value{Reason: strconv.Quote(v.Text) + " names no mode in brackets"}
	}
	return Value{Text: mode}
}

// container guesses the runtime around the reader from the files it leaves.
func (r *Reader) container() string {
	if r.why != "" {
		return ""
	}
	for _, f := range []struct{ file, name string }{
		{"var/run/secrets/kubernetes.io", "kubernetes"},
		{".dockerenv", "docker"},
		{"run/.containerenv", "podman"},
	} {
		if d, err := r.fsys.Open(f.file); err == nil {
			d.Close()
			return f.name
		}
	}
	return ""
}

// namespaceKinds are the namespaces that decide about scopes.
var namespaceKinds = []string{"cgroup", "mnt", "net", "pid", "user"}

// namespaces are the namespaces of a process ("self" or a number): kind to
// "net:[4026531833]".
func (r *Reader) namespaces(pid string) map[string]Value {
	m := make(map[string]Value, len(namespaceKinds))
	for _, k := range namespaceKinds {
		name := "proc/" + pid + "/ns/" + k
		l, err := r.link(name)
		if err != nil {
			m[k] = r.unreadable(name, err)
			continue
		}
		m[k] = Value{Text: l}
	}
	return m
}
