package doctor

import (
	"fmt"

	"github.com/rcctl/rcctl/sysctl"
)

// reservedFiles is what Redis keeps of its files for itself.
const reservedFiles = 32

const openFiles = "Max open files"

var _ = register(Check{
	ID:       "L01",
	Title:    "the server may open a file for every client it admits",
	Severity: Fail,
	Why:      "clients, replicas, the bus and the files of persistence share the limit; a server that gets less lowers maxclients in silence, or refuses connections",
	Fix:      "LimitNOFILE= in a drop-in of the server's unit, then restart it",
	Verify:   "grep 'open files' /proc/PID/limits",
	Needs:    NeedsServer,
	Run: func(s *Snapshot) []Finding {
		var out []Finding
		for _, v := range s.servers() {
			out = append(out, serverFiles(s, v))
		}
		return out
	},
})

func serverFiles(s *Snapshot, v *Server) Finding {
	n := s.node(v)
	if n == nil {
		return skip("process", v.name(), "the process is not a node of a cluster given with --cluster")
	}
	if n.Config == nil {
		return skip("process", v.name(), n.ConfigReason)
	}
	l, err := v.Process.Limit(openFiles)
	if err != nil {
		return skip("process", v.name(), err.Error())
	}
	maxclients := number(n.Config["maxclients"])
	if maxclients <= 0 {
		return skip("process", v.name(), "CONFIG GET shows no maxclients")
	}
	bus := 2 * int64(len(s.Cluster.Nodes)-1)
	// The bus and the files of persistence come out of the same limit.
	want := maxclients + reservedFiles
	f := Finding{Outcome: OK, Scope: "process", Subject: v.name(), Current: "nofile " + l.String(),
		Required: fmt.Sprintf("soft at least %d (maxclients %d + %d)", want, maxclients, reservedFiles)}
	switch {
	case !sysctl.AtLeast(l.Soft, want):
		f.Outcome = Fail
	case !sysctl.AtLeast(l.Soft, want+bus):
		f.Outcome = Warn
		f.Required = fmt.Sprintf("soft at least %d (maxclients %d + %d + %d for the bus)", want+bus, maxclients, reservedFiles, bus)
	}
	if f.Outcome != OK {
		f.Fix = nofileFix(s, v, want+bus)
	}
	return f
}

// nofileFix is how to give a server more files.
func nofileFix(s *Snapshot, v *Server, n int64) string {
	n = max(n, 65536)
	if s.Host.Container != "" || !v.Process.Net.Own {
		return fmt.Sprintf("docker run --ulimit nofile=%d:%d, or LimitNOFILE=%d in the unit of the container runtime; then restart the server", n, n, n)
	}
	return fmt.Sprintf("systemctl edit redis-server: [Service] LimitNOFILE=%d; then systemctl restart it. Without a restart: prlimit --pid %d --nofile=%d:%d, then CONFIG SET maxclients", n, v.Process.PID, n, n)
}
