package doctor

import (
	"fmt"
	"strings"

	"github.com/rcctl/rcctl/sysctl"
)

var _ = register(Check{
	ID: "L06", Title: "the server runs with the limits that its unit says", Severity: Warn,
	Why:    "a changed unit counts after a restart only, and limits.conf does not count for services at all",
	Fix:    "systemctl daemon-reload, then restart the server; put LimitNOFILE= into a drop-in instead of limits.conf",
	Verify: "systemctl show -p LimitNOFILE UNIT; grep 'open files' /proc/PID/limits",
	Needs:  NeedsServer,
	Run: func(s *Snapshot) []Finding {
		return perServer(s, "process", func(v *Server) Finding {
			if !v.UnitNoFile.Known() {
				return skipped(v.UnitNoFile.Reason)
			}
			l, err := v.Process.Limit(openFiles)
			if err != nil {
				return skipped(err.Error())
			}
			if v.UnitNoFile.Text == "" {
				return ok(v.Unit+" sets no LimitNOFILE, the process has "+l.String(), "what the unit says")
			}
			soft, hard, _ := strings.Cut(v.UnitNoFile.Text, ":")
			if hard == "" {
				hard = soft
			}
			want, wantHard := number(soft), number(hard)
			if soft == "infinity" {
				want = l.Soft
			}
			f := ok(fmt.Sprintf("%s says %s, pid %d runs with %s", v.Unit, v.UnitNoFile.Text, v.Process.PID, l), "the same")
			// Redis raises its soft limit up to the hard one by itself.
			if !sysctl.AtLeast(l.Soft, want) || (wantHard > 0 && !sysctl.AtLeast(l.Hard, wantHard)) {
				return f.as(Warn, "")
			}
			return f
		})
	},
})
