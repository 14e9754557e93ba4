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
// when its master is down) and returns when the live nodes agree. With a live
// master no write is lost; with a dead one those that had not reached the
// replica are. It blocks until ctx ends, or 30 s when ctx has no deadline.
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
			return nil
		} else if !asked.IsZero() && time.Since(asked) < failoverPatience+time.Second {
			return err
		}
		asked = time.Now()
		if err := replica.do(ctx, args...).Err(); err != nil {
			return err
		}
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
