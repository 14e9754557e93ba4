package doctor

import "fmt"

var _ = register(Check{
	ID: "L08", Title: "the server may still fork", Severity: Warn,
	Why:    "without a free process id BGSAVE and syncs fail with EAGAIN",
	Fix:    "raise the pids limit of the container (--pids-limit) or TasksMax= of the unit",
	Verify: "cat /sys/fs/cgroup/.../pids.current /sys/fs/cgroup/.../pids.max",
	Needs:  NeedsServer,
	Run: func(s *Snapshot) []Finding {
		return perServer(s, "cgroup", func(v *Server) Finding {
			g := v.Process.Cgroup
			if !g.PIDsMax.Known() {
				return skipped(g.PIDsMax.Reason)
			}
			max, err := g.PIDsMax.Int()
			if err != nil {
				return ok("no limit", "below 80 %")
			}
			n, err := g.PIDsCurrent.Int()
			if err != nil {
				return skipped(err.Error())
			}
			f := ok(fmt.Sprintf("%d of %d", n, max), "below 80 %")
			if float64(n) >= 0.8*float64(max) {
				return f.as(Warn, "")
			}
			return f
		})
	},
})
