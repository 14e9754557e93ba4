package doctor

import "fmt"

// fewSegments sent again in one sample say nothing.
const fewSegments = 10

var _ = register(Check{
	ID: "T25", Title: "few segments are sent twice", Severity: Fail,
	Why:    "retransmits are the network, not Redis: each one costs 200 ms or more",
	Fix:    "look at the network: links, overlay, congestion",
	Verify: "nstat -az TcpRetransSegs TcpOutSegs",
	Run: func(s *Snapshot) []Finding {
		return perNet(append(s.otherNets(), s.appNet()), func(t netTarget) Finding {
			again, err := t.increase("Tcp.RetransSegs")
			if err != nil {
				return skipped(err.Error())
			}
			out, err := t.increase("Tcp.OutSegs")
			if err != nil {
				return skipped(err.Error())
			}
			f := ok(fmt.Sprintf("%d of %d segments sent again", again, out), "below 0.1 %")
			if again < fewSegments || out == 0 {
				return f // too few to mean anything
			}
			switch share := float64(again) / float64(out); {
			case share >= 0.01:
				return f.as(Fail, "")
			case share >= 0.001:
				return f.as(Warn, "")
			}
			return f
		})
	},
})

// otherNets are the namespaces of servers that are not this host's.
func (s *Snapshot) otherNets() []netTarget {
	var out []netTarget
	for _, t := range s.serverNets() {
		if len(t.servers) > 0 && !t.net.Own {
			out = append(out, t)
		}
	}
	return out
}
