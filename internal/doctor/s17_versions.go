package doctor

import (
	"fmt"
	"strings"
)

var _ = register(Check{
	ID: "S17", Title: "all nodes run one supported version", Severity: Warn,
	Why:    "mixed versions differ in the bus, in MOVED and ASK, in commands; versions without support get no security fixes",
	Fix:    "upgrade node by node: replicas first, then fail over",
	Verify: "redis-cli --cluster call HOST:PORT info server",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		minors := map[string][]string{}
		var out []Finding
		for _, n := range s.Cluster.each() {
			name, version := n.Info.Version()
			if version == "" {
				continue
			}
			minors[name+" "+minor(version)] = append(minors[name+" "+minor(version)], n.Addr)
			if eol, old := endOfLife[name+" "+minor(version)]; old && s.Time.Format("2006-01-02") > eol {
				out = append(out, Finding{Outcome: Info, Scope: "node", Subject: n.Addr, Current: name + " " + version,
					Required: "a version with support", Why: "no fixes since " + eol + ", as far as known on " + versionsKnown})
			}
		}
		if len(minors) == 0 {
			return []Finding{skip("cluster", "versions", "no node says its version (INFO server)")}
		}
		f := Finding{Outcome: OK, Scope: "cluster", Subject: "versions", Current: valuesText(minors), Required: "one minor version"}
		if len(minors) > 1 {
			f.Outcome = Warn
		}
		return append(merge(out), f)
	},
})

// minor is "7.0" of "7.0.15".
func minor(version string) string {
	p := strings.SplitN(version, ".", 3)
	if len(p) < 2 {
		return version
	}
	return fmt.Sprintf("%s.%s", p[0], p[1])
}
