package doctor

import "fmt"

var _ = register(Check{
	ID: "L07", Title: "the server has files to spare", Severity: Warn,
	Why:    "at the limit neither clients nor persistence can open a file",
	Fix:    "find the leak, or raise nofile (L01)",
	Verify: "ls /proc/PID/fd | wc -l",
	Needs:  NeedsServer,
	Run: func(s *Snapshot) []Finding {
		return perServer(s, "process", func(v *Server) Finding {
			l, err := v.Process.Limit(openFiles)
			if err != nil {
				return skipped(err.Error())
			}
			n, err := v.Process.OpenFiles.Int()
			if err != nil {
				return skipped(err.Error())
			}
			if l.Soft <= 0 {
				return ok("no limit", "below 80 %")
			}
			share := float64(n) / float64(l.Soft)
			f := ok("below 80 % of the limit", "below 80 %")
			if share >= 0.8 {
				f.Current = fmt.Sprintf("%d of %d open (%s)", n, l.Soft, percent(share))
				return f.as(Warn, "")
			}
			return f
		})
	},
})
