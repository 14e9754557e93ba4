package clustertest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// failoverPatience is how long Redis tries a manual failover before it gives
// up.
const failoverPatience = 5 * time.Second

// Failover makes a replica the master of its shard (CLUSTER FAILOVER; TAKEOVER
// when its master is down) and returns when the live nodes agree that it owns
// the slots. What the old master and other replicas do now they may learn a
// moment later: see [Cluster.WaitReady]. With a live master no write is lost;
// with a dead one those that had not reached the replica are. It blocks until
// ctx ends, or 30 s when ctx has no deadline.
func (c *Cluster) Failover(ctx context.Context, replica *Node) error {
	if replica == nil || replica.cluster != c {
		return errors.New("clustertest: fail over: the replica is no node of this cluster")
	}
	if err := c.failover(ctx, replica); err != nil {
		return fmt.Errorf("clustertest: fail over to %s: %w", replica, err)
	}
	return nil
}

func (c *Cluster) failover(ctx context.Context, replica *Node) error {
	if !replica.answers() {
		return errors.New("it is not alive, or paused")
	}
	v := replica.view(ctx)
	if v.err != nil {
		return v.err
	}
	self, _ := v.find(replica.id)
	master := c.byID[self.MasterID]
	if master == nil {
		return errors.New("it is a master already")
	}
	args := []any{"cluster", "failover"}
	if !master.answers() {
		args = append(args, "takeover")
	}
	var asked time.Time
	return poll(ctx, func(ctx context.Context) error {
		if err := c.tookOver(c.views(ctx, (*Node).view), replica, master); err == nil {
			replica.noteElection()
			return nil
		} else if !asked.IsZero() && time.Since(asked) < failoverPatience+time.Second {
			return err
		}
		if master.answers() {
			if rest := replica.electionRest(); rest > 0 {
				return fmt.Errorf("its last election is too young, by %v", rest)
			}
			// A master does not listen to a replica that it does not know as
			// its own, and the others do not vote for a node that they know as
			// a master.
			for _, v := range c.views(ctx, (*Node).view) {
				if line, _ := v.find(replica.id); line.MasterID != master.id {
					return fmt.Errorf("%s does not know it as a replica of %s yet", v.node, master)
				}
			}
		}
		if err := replica.do(ctx, args...).Err(); err != nil {
			return err
		}
		asked = time.Now()
		return errors.New("it was asked to")
	})
}

// tookOver says which view does not show the replica in place of its master,
// or nil.
func (c *Cluster) tookOver(views []view, replica, master *Node) error {
	for _, v := range views {
		if v.err != nil {
			return v.err
		}
		if line, _ := v.find(replica.id); !line.Has("master") || len(line.Slots) == 0 {
			return fmt.Errorf("%s does not call it a master", v.node)
		}
		if line, _ := v.find(master.id); line.Has("master") && len(line.Slots) > 0 {
			return fmt.Errorf("%s still gives slots to %s", v.node, master)
		}
	}
	return nil
}

// electionRest is how long the node had better not stand for election. A
// server that was elected and lost its place again takes the votes of then for
// those of a new election, until twice its timeout is over; the others do not
// follow, and its master stops writes for 5 s.
func (n *Node) electionRest() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.elected.IsZero() || !n.cluster.Caps().Real {
		return 0
	}
	timeout := max(2*n.cluster.options.NodeTimeout, 2*time.Second)
	return 2*timeout - time.Since(n.elected)
}

func (n *Node) noteElection() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.elected = time.Now()
}
