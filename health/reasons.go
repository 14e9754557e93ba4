package health

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rcctl/rcctl/internal/redisinfo"
)

// judgement collects the reasons of one report.
type judgement struct {
	round
	*topology
	report *Report
}

func (j *judgement) add(r Reason) { j.report.Reasons = append(j.report.Reasons, r) }

// strangers judges seeds that are no members: all there is when nothing is
// known, and a wrong setting otherwise.
func (j *judgement) strangers() {
	for _, n := range strangers(j.round, j.topology) {
		a := j.answers[n.Addr]
		r := Reason{Node: n.Addr, Verdict: Down, Detail: n.Error}
		if j.report.Known {
			r.Verdict = Degraded
		}
		r.Code, r.Fix = j.classify(a, CodeUnreachable)
		if r.Code == CodeUnreachable && j.report.Known {
			continue // an old seed hurts nobody while others answer
		}
		j.add(r)
	}
}

// classify says what a failed answer means; otherwise is the code for one that
// did not come at all.
func (j *judgement) classify(a *answer, otherwise Code) (Code, string) {
	switch {
	case a == nil:
		return otherwise, "see whether the node announces the right address (CLUSTER NODES)"
	case a.loading():
		return CodeLoading, "wait: it serves when its data is loaded (INFO persistence: loading_eta_seconds)"
	case isReply(a.err, "NOPERM"):
		return CodeAuth, "the user needs +hello +info +cluster|nodes +cluster|slots +cluster|info"
	case isAuth(a.err):
		return CodeAuth, "check user name and password"
	case a.err == errNoCluster:
		return CodeNotACluster, "use redis.NewClient for a single server, or give the address of a cluster node"
	case isTimeout(a.err) && j.tls:
		return otherwise, "see whether its host is up, reachable and not busy; if this is a plain port, turn TLS off"
	case isTimeout(a.err):
		return otherwise, "see whether its host is up and reachable, and whether the process is stopped or busy"
	}
	return otherwise, netFix(a.err, j.tls)
}

// masters judges the nodes that own slots.
func (j *judgement) masters() {
	for _, m := range j.members {
		if len(m.slots) == 0 {
			continue
		}
		candidate := slices.ContainsFunc(j.replicasOf(m), j.candidate)
		if m.view() == nil {
			r := Reason{Verdict: Down, Node: m.addr, Slots: m.slots}
			r.Code, r.Fix = j.classify(m.ans, CodeMasterUnreachable)
			r.Detail = "the master of these slots: " + j.node(m).Error
			if candidate && r.Code == CodeMasterUnreachable {
				r.Fix = "a replica can take over: wait for the failover (cluster-node-timeout and about 2 s), then bring this node back; if it does not come, CLUSTER FAILOVER TAKEOVER on the replica forces it"
			} else if r.Code == CodeMasterUnreachable {
				r.Fix = strings.TrimSuffix("no replica can take over, bring this node back: "+r.Fix, ": ")
			}
			j.add(r)
		} else if m.ans.denied != nil {
			j.add(Reason{
				Code: CodeAuth, Verdict: Degraded, Node: m.addr, Detail: m.ans.denied.Error(),
				Fix: "the user needs +info +cluster|nodes +cluster|slots +cluster|info",
			})
		}
		moving := m.ans != nil && failoverState(m.ans.info)
		if candidate && (m.view() == nil && m.failedBy > 0) || moving {
			j.add(Reason{
				Code: CodeFailoverInProgress, Verdict: Degraded, Node: m.addr, Slots: m.slots,
				Detail: fmt.Sprintf("%d of %d nodes call this master failed, and a replica can take over", m.failedBy, len(j.views)),
			})
		}
	}
}

func failoverState(i redisinfo.Info) bool {
	s := i.String("master_failover_state")
	return s != "" && s != "no-failover"
}

// slots judges the coverage.
func (j *judgement) slots() {
	s := j.report.Slots
	if len(s.Unserved) == 0 {
		return
	}
	var detail, fix []string
	if n := count(s.Unassigned); n > 0 {
		detail = append(detail, fmt.Sprintf("%s have no owner", plural(n, "slot")))
		fix = append(fix, "assign the slots without an owner (CLUSTER ADDSLOTSRANGE)")
	}
	refused := count(s.Refused)
	if n := slotCount - s.Served - count(s.Unassigned) - refused; n > 0 {
		detail = append(detail, fmt.Sprintf("the master of %s does not answer", plural(n, "slot")))
		fix = append(fix, "bring the master back, see above")
	}
	if refused > 0 {
		detail = append(detail, fmt.Sprintf("the masters of %s answer, but call the cluster down (cluster_state:fail)", plural(refused, "slot")))
		if len(fix) == 0 {
			fix = append(fix, "they see too few masters: check the cluster bus between the nodes (port + 10000)")
		} else {
			fix = append(fix, "the others refuse because of these: cluster-require-full-coverage no would let them serve")
		}
	}
	j.add(Reason{
		Code: CodeSlotsUnserved, Verdict: Down, Slots: s.Unserved,
		Detail: strings.Join(detail, "; "), Fix: strings.Join(fix, "; "),
	})
}

// divergence compares every view with what all of them come to.
func (j *judgement) divergence() {
	seen := make([]int, slotCount)
	for _, a := range j.views {
		for s := range seen {
			seen[s] = nobody
		}
		for _, n := range a.view {
			i, known := j.index[n.ID]
			if !known {
				i = len(j.members)
			}
			for _, r := range n.Slots {
				for s := r.First; s <= r.Last; s++ {
					seen[s] = i
				}
			}
		}
		differ, n := slotsWhere(func(s int) bool { return seen[s] != j.owner[s] })
		if n == 0 {
			continue
		}
		others := map[string]bool{}
		for _, r := range differ {
			for s := r.First; s <= r.Last; s++ {
				others[j.nameAt(seen[s])] = true
			}
		}
		j.add(Reason{
			Code: CodeViewDivergence, Verdict: Degraded, Node: a.addr, Slots: differ,
			Detail: fmt.Sprintf("this node names %s as the owner of %s, others do not", names(others), plural(n, "slot")),
			Fix:    "normal for a second after a change; if it stays, the nodes do not reach each other: check the cluster bus (port + 10000)",
		})
	}
	for _, m := range j.members {
		if m.view() != nil && m.failedBy > 0 {
			j.add(Reason{
				Code: CodeViewDivergence, Verdict: Degraded, Node: m.addr,
				Detail: fmt.Sprintf("it answers here, but %d of %d nodes call it failed", m.failedBy, len(j.views)),
				Fix:    "normal for some seconds after a node came back; if it stays, check the cluster bus (port + 10000) between the nodes",
			})
		}
	}
}

// nameAt is the address of a member by its index.
func (j *judgement) nameAt(i int) string {
	switch {
	case i == nobody:
		return "nobody"
	case i >= len(j.members):
		return "a node without address"
	}
	return j.members[i].addr
}

// name is the address of a member by its id.
func (j *judgement) name(id string) string {
	if m := j.byID[id]; m != nil {
		return m.addr
	}
	return "node " + id
}

// replicas judges what stands behind the masters.
func (j *judgement) replicas() {
	for _, m := range j.members {
		if len(m.slots) == 0 {
			j.replica(m)
			continue
		}
		replicas := j.replicasOf(m)
		if len(replicas) == 0 && j.replicasOptional || slices.ContainsFunc(replicas, j.candidate) {
			continue
		}
		r := Reason{Code: CodeNoFailoverCandidate, Verdict: Degraded, Node: m.addr, Slots: m.slots}
		if len(replicas) == 0 {
			r.Detail = "this master has no replica: its slots are gone when it fails"
			r.Fix = "add a replica (redis-cli --cluster add-node --cluster-slave)"
		} else {
			r.Detail = fmt.Sprintf("this master has %s, and none that could take over", plural(len(replicas), "replica"))
			r.Fix = "bring a replica back: see the reasons about it"
		}
		j.add(r)
	}
	j.quorum()
}

// quorum judges whether the masters could elect a successor at all.
func (j *judgement) quorum() {
	var masters, alive int
	for _, m := range j.members {
		if len(m.slots) > 0 {
			masters++
			if m.view() != nil {
				alive++
			}
		}
	}
	if alive == masters && masters > 0 && masters < 3 && !j.replicasOptional {
		j.add(Reason{
			Code: CodeNoFailoverCandidate, Verdict: Degraded,
			Detail: fmt.Sprintf("%s: when one fails, the rest is no majority and elects nobody", plural(masters, "master")),
			Fix:    "spread the slots over at least 3 masters",
		})
	}
}

// replica judges a node without slots.
func (j *judgement) replica(m *member) {
	n := j.node(m)
	if m.view() == nil {
		r := Reason{Verdict: Degraded, Node: m.addr}
		r.Code, r.Fix = j.classify(m.ans, CodeReplicaUnreachable)
		r.Detail = "a node without slots: " + n.Error
		if of := j.byID[m.master()]; of != nil {
			r.Detail = "replica of " + of.addr + ": " + n.Error
			r.Slots = of.slots
		}
		j.add(r)
		return
	}
	of := j.byID[m.master()]
	if of == nil || of.view() == nil {
		return // without its master it cannot be up to date
	}
	r := Reason{Code: CodeReplicaLagging, Verdict: Degraded, Node: m.addr, Slots: of.slots}
	switch {
	case !n.LinkUp:
		r.Detail = fmt.Sprintf("its link to its master %s is down (%s s)", of.addr, orUnknown(m.ans.info.String("master_link_down_since_seconds")))
		r.Fix = "see the replica's log: refused connection, wrong masterauth, or a full resync that does not end"
	case n.LagBytes > j.maxLagBytes:
		r.Detail = fmt.Sprintf("%d MiB behind its master %s", n.LagBytes>>20, of.addr)
		r.Fix = "a failover now loses these writes: look at the replica's CPU, disk and network"
	case n.Lag > j.maxLag:
		r.Detail = fmt.Sprintf("nothing acknowledged to its master %s for %s", of.addr, n.Lag)
		r.Fix = "a failover now may lose writes: look at the replica's CPU, disk and network"
	default:
		return
	}
	j.add(r)
}

// endpoints judges whether plain clients can use what is announced.
func (j *judgement) endpoints() {
	unknown := map[string]bool{}
	for _, a := range j.views {
		for _, o := range a.owners {
			for _, e := range append([]redisinfo.Endpoint{o.Master}, o.Replicas...) {
				if e.Unknown {
					unknown[j.name(e.ID)] = true
				}
			}
		}
	}
	if len(unknown) > 0 {
		j.add(Reason{
			Code: CodeEndpointUnknown, Verdict: Degraded,
			Detail: "CLUSTER SLOTS names no host for " + names(unknown) + ": plain go-redis answers redis.Nil to every command",
			Fix:    "set cluster-preferred-endpoint-type ip, or cluster-announce-hostname on every node; or use package pool",
		})
	}
}

// process judges this process.
func (j *judgement) process() {
	if j.poolTimeouts > 0 {
		j.add(Reason{
			Code: CodePoolExhausted, Verdict: Degraded,
			Detail: fmt.Sprintf("%s of this process got no connection within PoolTimeout since the report before", plural(int(j.poolTimeouts), "command")),
			Fix:    "raise PoolSize, or find what holds the connections (slow commands, a slow node)",
		})
	}
	for _, addr := range j.breakers {
		j.add(Reason{
			Code: CodeBreakerOpen, Verdict: Degraded, Node: addr,
			Detail: "this process refuses to call the node after errors in a row",
			Fix:    "it closes by itself when the node answers again",
		})
	}
}
