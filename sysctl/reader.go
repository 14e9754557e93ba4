package sysctl

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// A Reader reads one system. Its methods may be called concurrently; they
// read files and do not wait for anything else.
type Reader struct {
	fsys fs.FS
	root string // of a live system: where it is mounted, else empty
	why  string // nothing can be read, and why
}

// Live reads the running system. On systems without /proc everything is
// unreadable, with that reason.
func Live() *Reader { return HostRoot("/") }

// HostRoot reads the running system through its root directory mounted at
// dir, as in a container that looks at its host.
func HostRoot(dir string) *Reader {
	if runtime.GOOS != "linux" {
		return &Reader{why: "cannot be read on " + runtime.GOOS}
	}
	return &Reader{fsys: os.DirFS(dir), root: dir}
}

// New reads a file tree that holds proc and sys.
func New(fsys fs.FS) *Reader { return &Reader{fsys: fsys} }

// maxFile bounds what is read of one file; no file of /proc or /sys that is
// read whole comes near it.
const maxFile = 4 << 20

func (r *Reader) read(name string) (string, error) {
	if r.why != "" {
		return "", fmt.Errorf("%s", r.why)
	}
	f, err := r.fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	return string(b), err
}

// file is the text of a small file, without the last newline.
func (r *Reader) file(name string) Value {
	s, err := r.read(name)
	if r.why != "" {
		return Value{Reason: r.why}
	}
	if err != nil {
		return unreadable(name, err)
	}
	return Value{Text: strings.TrimSpace(s)}
}

// lines calls f for each line of a file until f returns false.
func (r *Reader) lines(name string, f func(line string) bool) error {
	if r.why != "" {
		return fmt.Errorf("%s", r.why)
	}
	file, err := r.fsys.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	sc := bufio.NewScanner(file)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if !f(sc.Text()) {
			return nil
		}
	}
	return sc.Err()
}

func (r *Reader) link(name string) (string, error) {
	if r.why != "" {
		return "", fmt.Errorf("%s", r.why)
	}
	return fs.ReadLink(r.fsys, name)
}

func (r *Reader) dir(name string) ([]fs.DirEntry, error) {
	if r.why != "" {
		return nil, fmt.Errorf("%s", r.why)
	}
	return fs.ReadDir(r.fsys, name)
}

// Setting reads a kernel setting by its name ("net.core.somaxconn"), in the
// network namespace of the caller. Runs of blanks become one.
func (r *Reader) Setting(name string) Value {
	file := "proc/sys/" + strings.ReplaceAll(name, ".", "/")
	if !fs.ValidPath(file) {
		return Value{Reason: fmt.Sprintf("%q is not the name of a setting", name)}
	}
	v := r.file(file)
	v.Text = strings.Join(strings.Fields(v.Text), " ")
	return v
}

func (r *Reader) settings(names []string) Settings {
	s := make(Settings, len(names))
	for _, n := range names {
		s[n] = r.Setting(n)
	}
	return s
}

// pids are the processes that can be seen, in order.
func (r *Reader) pids() ([]int, error) {
	entries, err := r.dir("proc")
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

func proc(pid int, name string) string { return path.Join("proc", strconv.Itoa(pid), name) }
