package doctor

import (
	"fmt"
	"strings"
)

// payloadLimit is in microseconds.
const payloadLimit = 200_000

var _ = register(Check{
	ID: "T23", Title: "large packets pass as small ones do", Severity: Fail,
	Why:    "a path that drops large packets lets PING through and hangs on values: it looks like a slow server",
	Fix:    "repair path MTU discovery (let ICMP pass) or the MTU of the overlay; net.ipv4.tcp_mtu_probing = 1 helps meanwhile",
	Verify: "ping -M do -s 1472 HOST",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			if len(n.Payloads) == 0 {
				return skipped("no payload was sent")
			}
			f := ok("1 B to 64 KiB pass", "every size passes within 200 ms")
			f.Scope = "path"
			for _, p := range n.Payloads {
				switch {
				case strings.HasPrefix(p.Error, "the user may not"):
					return skipped(p.Error)
				case p.Error != "":
					f.Current = fmt.Sprintf("%s does not pass: %s", bytesText(int64(p.Bytes)), p.Error)
					return f.as(Fail, "")
				case p.Usec > payloadLimit && p.Usec > 10*n.Payloads[0].Usec:
					f.Current = fmt.Sprintf("%s takes %d ms, %s takes %d ms", bytesText(int64(p.Bytes)), p.Usec/1000, bytesText(int64(n.Payloads[0].Bytes)), n.Payloads[0].Usec/1000)
					return f.as(Fail, "")
				}
			}
			return f
		})
	},
})
