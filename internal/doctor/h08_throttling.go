package doctor

import (
	"fmt"

	"github.com/rcctl/rcctl/sysctl"
)

var _ = register(Check{
	ID: "H08", Title: "the server is not stopped for having used its CPU quota up", Severity: Fail,
	Why:    "a throttled server pauses for 10 to 100 ms, which looks like the network",
	Fix:    "raise the CPU limit of the container or unit, or remove it",
	Verify: "cat /sys/fs/cgroup/.../cpu.stat (nr_throttled)",
	Needs:  NeedsServer,
	Run: func(s *Snapshot) []Finding {
		return perServer(s, "cgroup", func(v *Server) Finding {
			var n [4]int64
			for i, val := range []sysctl.Value{v.Process.Cgroup.Periods, v.Process.Cgroup.Throttled, v.LaterCgroup.Periods, v.LaterCgroup.Throttled} {
				var err error
				if n[i], err = val.Int(); err != nil {
					return skipped(err.Error())
				}
			}
			periods, throttled := n[2]-n[0], n[3]-n[1]
			f := ok(fmt.Sprintf("quota %s CPUs, %d of %d periods throttled", v.Process.Cgroup.CPUQuota, throttled, periods), "0")
			switch {
			case throttled > 0 && float64(throttled) > 0.01*float64(periods):
				return f.as(Fail, "")
			case throttled > 0:
				return f.as(Warn, "")
			}
			return f
		})
	},
})
