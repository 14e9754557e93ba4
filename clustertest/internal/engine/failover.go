package engine

import "time"

// Failure detection and failover stand in for gossip and votes: a timer per
// silent node, and one shared truth. The caller of all functions here holds
// Cluster.mu.

// fallSilent starts the clock of a node that was killed or frozen.
func (n *Node) fallSilent() {
	c := n.c
	c.update(func(t *topology) { t.nodes[n.index].silent = true })
	if n.suspect != nil {
		n.suspect.Stop()
	}
	n.silentAt = time.Now()
	if c.closed {
		return
	}
	since := n.silentAt
	n.suspect = time.AfterFunc(n.conf.nodeTimeout, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closed && n.silentAt.Equal(since) && c.topo.nodes[n.index].silent {
			n.callFailed()
		}
	})
}

// callFailed marks the node failed, if a majority of the masters can say so,
// and lets a replica take over.
func (n *Node) callFailed() {
	c := n.c
	size, alive := c.topo.size()
	agreed := alive >= size/2+1
	c.update(func(t *topology) {
		t.nodes[n.index].pfail = !agreed
		t.nodes[n.index].fail = agreed
	})
	c.electReplacements()
}

// electReplacements promotes a replica of each failed master that has one.
func (c *Cluster) electReplacements() {
	size, alive := c.topo.size()
	for i, m := range c.topo.nodes {
		if !m.fail && !m.pfail || m.master != noNode || c.topo.owned(i) == 0 || alive < size/2+1 {
			continue
		}
		if m.pfail { // the majority is back
			c.update(func(t *topology) { t.nodes[i].pfail, t.nodes[i].fail = false, true })
		}
		best := noNode
		for _, r := range c.topo.replicas(i) {
			rn := c.nodes[r]
			if c.topo.nodes[r].silent || rn.conf.get("cluster-replica-no-failover") == "yes" {
				continue
			}
			if best == noNode || rn.data.offset > c.nodes[best].data.offset {
				best = r
			}
		}
		if best != noNode {
			c.promote(best)
		}
	}
}

// promote makes replica r the master of its shard.
func (c *Cluster) promote(r int) {
	old := c.topo.nodes[r].master
	if old == noNode {
		return
	}
	rn, on := c.nodes[r], c.nodes[old]
	rn.loose, rn.lostTo, on.lostTo = false, "", rn.id
	c.update(func(t *topology) {
		t.epoch++
		t.nodes[r].configEpoch = t.epoch
		for s, o := range t.slots {
			if int(o) == old {
				t.slots[s] = int16(r)
			}
		}
		for i := range t.nodes {
			if i != r && t.nodes[i].master == old {
				t.nodes[i].master = r
			}
		}
		t.nodes[r].master = noNode
		if !t.nodes[old].silent {
			t.nodes[old].master = r
		}
	})
	if !c.topo.nodes[old].silent {
		on.demoted()
	}
	for _, i := range c.topo.replicas(r) {
		c.nodes[i].follow(rn)
	}
}

// demoted drops what only a master has.
func (n *Node) demoted() {
	n.migrating, n.importing = map[int]string{}, map[int]string{}
	n.unblockAll("UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)")
}

// follow makes the node read its master's data.
func (n *Node) follow(m *Node) {
	if !n.loose {
		n.data = m.data
	}
}

// speakAgain welcomes a node that was started or resumed. A master whose slots
// another one serves now becomes its replica.
func (n *Node) speakAgain() {
	c := n.c
	if n.suspect != nil {
		n.suspect.Stop()
	}
	was := c.topo.nodes[n.index]
	successor := noNode
	if was.master == noNode && c.topo.owned(n.index) == 0 {
		successor = c.successor(n)
	}
	c.update(func(t *topology) {
		m := &t.nodes[n.index]
		m.silent, m.fail, m.pfail = false, false, false
		if successor != noNode {
			m.master = successor
		}
	})
	if m := c.topo.nodes[n.index].master; m != noNode {
		if successor != noNode {
			n.demoted()
		}
		n.follow(c.nodes[m])
	}
	c.electReplacements()
}

// successor is the master that took over the slots of n, or noNode.
func (c *Cluster) successor(n *Node) int {
	if n.lostTo == "" {
		return noNode
	}
	i := c.topo.indexOf(n.lostTo)
	if i == noNode {
		return noNode
	}
	return c.topo.shard(i)
}
