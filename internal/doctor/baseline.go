package doctor

import (
	"fmt"

	"github.com/rcctl/rcctl/sysctl"
)

// What a busy application host is usually given. The checks say when each of
// them helps and what it needs (T01, T08, T10, L03).
const (
	briefRange     = "1024 65535"
	briefReuse     = "1"
	briefSomaxconn = "65535"
	briefFiles     = 65536
)

// BaselineLine is a setting that every report shows, whatever the verdict.
type BaselineLine struct {
	Setting     string `json:"setting"`
	Current     string `json:"current"`
	Recommended string `json:"recommended"`
	// Verdict is same, ok (other, and enough), differs or unreadable; Check is
	// the check that judges it.
	Verdict string `json:"verdict"`
	Check   string `json:"check"`
	Note    string `json:"note"`
}

func baseline(s *Snapshot) []BaselineLine {
	set := s.Host.Net.Settings
	line := func(key, want, check, note string, enough func(v sysctl.Value) bool) BaselineLine {
		v := set.Get(key)
		l := BaselineLine{Setting: key, Current: v.String(), Recommended: want, Check: check, Note: note}
		switch {
		case !v.Known():
			l.Verdict = "unreadable"
		case v.Text == want:
			l.Verdict = "same"
		case enough(v):
			l.Verdict = "ok"
		default:
			l.Verdict = "differs"
		}
		return l
	}
	out := []BaselineLine{
		line("net.ipv4.ip_local_port_range", briefRange, "T07", "reserve the service and bus ports in it (T08)", func(v sysctl.Value) bool {
			r, err := v.Ints()
			return err == nil && len(r) == 2 && r[1]-r[0]+1 >= minPorts
		}),
		line("net.ipv4.tcp_tw_reuse", briefReuse, "T10", "helps the side that connects, when ports run short", func(sysctl.Value) bool {
			share, known := s.appNet().portShare()
			return known && share < portsShort
		}),
		line("net.core.somaxconn", briefSomaxconn, "T01", "an upper bound; counts for servers at listen()", func(v sysctl.Value) bool {
			n, err := v.Int()
			return err == nil && n >= 1024
		}),
	}
	files := BaselineLine{Setting: "nofile of this shell", Recommended: fmt.Sprint(briefFiles), Check: "L03", Note: "Go programs use the hard limit"}
	l, err := s.Shell.Limit(openFiles)
	switch {
	case err != nil:
		files.Current, files.Verdict = "unreadable: "+err.Error(), "unreadable"
	default:
		files.Current, files.Verdict = l.String(), "ok"
		if !sysctl.AtLeast(l.Hard, 2*(int64(s.Plan.PoolSize)*assumedNodes+100)) {
			files.Verdict = "differs"
		}
	}
	return append(out, files)
}
