package doctor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rcctl/rcctl/hashtag"
)

var _ = register(Check{
	ID:       "C02",
	Title:    "every slot is served by a node that can be reached",
	Severity: Fail,
	Why:      "commands on the keys of these slots fail",
	Fix:      "see the finding: unassigned, owner failed and owner unreachable from here have different cures",
	Verify:   "redis-cli -h HOST -p PORT cluster nodes",
	Needs:    NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		c := s.Cluster
		if len(c.answering()) == 0 {
			return []Finding{skip("cluster", "16384 slots", "no node gave its view of the cluster (CLUSTER NODES)")}
		}
		ops := c.opinions()
		slots := c.slotsOf()
		var out []Finding
		for _, id := range slices.Sorted(maps.Keys(slots)) {
			f := Finding{Outcome: Fail, Scope: "cluster", Required: "a master that answers"}
			o, n := ops[id], c.byID(id)
			switch {
			case id == "":
				unassigned(c, &f, slots[id])
			case o.isFailed():
				ownerFailed(c, &f, id, o, slots[id])
			case n != nil && !n.Reach.OK && n.Reach.Kind != kindAuth:
				unreachable(c, &f, n, o, slots[id])
			default:
				continue
			}
			out = append(out, f)
		}
		if len(out) == 0 {
			return []Finding{{Outcome: OK, Scope: "cluster", Subject: "16384 slots", Required: "16384 served and reachable",
				Current: fmt.Sprintf("%d served by %d masters that answer", hashtag.Slots, len(slots))}}
		}
		return out
	},
})

func unassigned(c *Cluster, f *Finding, slots []int) {
	f.Subject = "slots " + slotText(slots)
	f.Current = "unassigned: no node claims them"
	f.Required = "an owner"
	f.Why = "commands on their keys get CLUSTERDOWN Hash slot not served"
	to := "a master"
	if m := c.masters(); len(m) > 0 {
		to = m[0].Addr
	}
	r := slices.Min(slots)
	f.Fix = fmt.Sprintf("if a node that owned them is only away, start it again; otherwise assign them: on %s CLUSTER ADDSLOTSRANGE %d %d, and so on", to, r, runEnd(slots))
}

func runEnd(slots []int) int {
	end := slots[0]
	for _, s := range slots[1:] {
		if s != end+1 {
			break
		}
		end = s
	}
	return end
}

func ownerFailed(c *Cluster, f *Finding, id string, o *opinion, slots []int) {
	f.Subject = "slots " + slotText(slots)
	f.Current = fmt.Sprintf("owner failed: %s (node id %s) is marked fail by %d of %d nodes", c.name(id), short(id), o.failed, o.known)
	f.Why = "the cluster has given its owner up and nobody took over: commands on their keys get CLUSTERDOWN"
	var healthy []*Node
	for _, r := range c.replicasOf(id) {
		if r.Reach.OK {
			healthy = append(healthy, r)
		}
	}
	start := fmt.Sprintf("start the server %s again: it comes back with its slots", c.name(id))
	if len(healthy) == 0 {
		f.Fix = start + ", and with its data if it persists any. It has no replica to promote: add one afterwards (redis-cli --cluster add-node ... --cluster-slave)"
		return
	}
	f.Fix = fmt.Sprintf("%s; or promote its replica now: redis-cli -u redis://%s CLUSTER FAILOVER TAKEOVER (why it was not elected is in its log)", start, healthy[0].Addr)
}

func unreachable(c *Cluster, f *Finding, n *Node, o *opinion, slots []int) {
	f.Scope = "path"
	f.Subject = "slots " + slotText(slots)
	others := "nobody else answers"
	if o != nil && o.known > 0 {
		others = fmt.Sprintf("%d of %d nodes that answer hold it for alive", o.known-o.failed, o.known)
		if o.suspected > 0 {
			others += fmt.Sprintf(", %d suspect it", o.suspected)
		}
	}
	f.Current = fmt.Sprintf("owner unreachable from here: %s (node id %s), %s; %s", n.Addr, short(n.ID), n.Reach.Kind, others)
	f.Required = "its announced address answers from here"
	f.Why = "clients on this host cannot use the keys of these slots, though the cluster itself may be well"
	switch {
	case n.Reach.Kind == kindTimeout:
		f.Fix = fmt.Sprintf("repair the path from here to %s (route, firewall, security group, --addr-map); if the server hangs, look at it there. Do not change the cluster: its slots are assigned and served", n.Addr)
	case n.Reach.Kind == kindRefused:
		f.Fix = fmt.Sprintf("if the server at %s has just died, start it again or wait for its replica's election; if it runs, it announces an address that does not lead to it from here (cluster-announce-ip, --addr-map). Do not reassign its slots", n.Addr)
	default:
		f.Fix = fmt.Sprintf("make %s reachable from here: %s. Do not change the cluster: its slots are assigned", n.Addr, n.Reach.Reason)
	}
}
