package doctor

import "fmt"

var _ = register(Check{
	ID: "H11", Title: "nobody in the server's cgroup was killed for lack of memory", Severity: Fail,
	Why:    "it has already happened, and will again",
	Fix:    "a larger memory limit or a smaller maxmemory (H10)",
	Verify: "cat /sys/fs/cgroup/.../memory.events",
	Needs:  NeedsServer,
	Run: func(s *Snapshot) []Finding {
		return perServer(s, "cgroup", func(v *Server) Finding {
			n, err := v.Process.Cgroup.OOMKills.Int()
			if err != nil {
				return skipped(err.Error())
			}
			f := ok(fmt.Sprintf("%d killed in %s", n, v.Process.Cgroup.Path), "0")
			if n > 0 {
				return f.as(Fail, "")
			}
			return f
		})
	},
})
