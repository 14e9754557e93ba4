package doctor

import (
	"slices"
	"strings"
)

var _ = register(Check{
	ID: "S13", Title: "the user may do what a cluster client needs", Severity: Fail,
	Why:    "without CLUSTER SLOTS there is no routing, without READONLY no reads from replicas, without ASKING errors during a reshard",
	Fix:    "ACL SETUSER name +cluster|slots +cluster|shards +readonly +readwrite +asking +ping +hello +client|setinfo",
	Verify: "redis-cli acl dryrun USER cluster slots",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			f := ok("may do all that routing needs", "CLUSTER SLOTS, CLUSTER SHARDS, READONLY, READWRITE, ASKING")
			if len(n.Denied) == 0 {
				return f
			}
			f.Current = "may not: " + strings.Join(n.Denied, ", ")
			if slices.Equal(n.Denied, []string{"CLUSTER SHARDS"}) {
				return f.as(Info, "") // go-redis asks for SLOTS
			}
			return f.as(Fail, "")
		})
	},
})
