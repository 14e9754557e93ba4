package doctor

import "fmt"

var _ = register(Check{
	ID: "H03", Title: "no page of the server is in swap", Severity: Fail,
	Why:    "a swapped page stalls the only thread that serves commands",
	Fix:    "keep maxmemory below what the host has; vm.swappiness at most 10",
	Verify: "grep VmSwap /proc/PID/status",
	Needs:  NeedsServer,
	Run: func(s *Snapshot) []Finding {
		return perServer(s, "process", func(v *Server) Finding {
			n, err := v.Process.SwapBytes.Int()
			if err != nil {
				return skipped(err.Error())
			}
			f := ok(bytesText(n)+" in swap", "0 B in swap")
			if n > 0 {
				return f.as(Fail, "")
			}
			if sw, err := s.Host.Settings.Get("vm.swappiness").Int(); err == nil && sw > 10 && s.Host.SwapTotal.Text != "0" {
				f.Current += fmt.Sprintf(", vm.swappiness %d", sw)
				return f.as(Info, hostFix(s, "vm.swappiness", "10"))
			}
			return f
		})
	},
})
