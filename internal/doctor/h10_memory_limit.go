package doctor

import "fmt"

var _ = register(Check{
	ID: "H10", Title: "maxmemory fits into the memory that the server has", Severity: Fail,
	Why:    "a server that grows over its limit is killed, which is a failover with data loss; INFO shows the host's memory, not the container's",
	Fix:    "maxmemory at most 75 % of the limit (60 % with RDB or AOF): CONFIG SET maxmemory, CONFIG REWRITE",
	Verify: "cat /sys/fs/cgroup/.../memory.max; redis-cli config get maxmemory",
	Needs:  NeedsServer,
	Run: func(s *Snapshot) []Finding {
		return perServer(s, "cgroup", func(v *Server) Finding {
			n := s.node(v)
			if n == nil || n.Config == nil {
				return skipped("CONFIG GET maxmemory could not be asked")
			}
			max := number(n.Config["maxmemory"])
			limit := v.Process.Cgroup.MemoryMax
			if !limit.Known() {
				return skipped(limit.Reason)
			}
			size, err := limit.Int()
			if err != nil { // "max"
				if size, err = s.Host.MemTotal.Int(); err != nil {
					return skipped(err.Error())
				}
				f := ok(fmt.Sprintf("maxmemory %s, no cgroup limit, the host has %s", bytesText(max), bytesText(size)), "maxmemory below the host's memory")
				f.Scope = "host"
				if max >= size {
					return f.as(Fail, "")
				}
				return f
			}
			share := 0.75
			if n.Config["save"] != "" || n.Config["appendonly"] == "yes" {
				share = 0.6
			}
			f := ok(fmt.Sprintf("maxmemory %s under a limit of %s", bytesText(max), bytesText(size)), "at most "+percent(share)+" of the limit")
			switch {
			case max == 0 || max >= size:
				return f.as(Fail, "")
			case float64(max) > share*float64(size):
				return f.as(Warn, "")
			}
			return f
		})
	},
})
