package engine

import (
	"strconv"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
	"github.com/rcctl/rcctl/hashtag"
)

// A redirect says why a command does not run here. Its text is the error
// without '-'; empty means that it runs.
type redirect string

const (
	errCrossSlot   redirect = "CROSSSLOT Keys in request don't hash to the same slot"
	errTryAgain    redirect = "TRYAGAIN Multiple keys request during rehashing of slot"
	errDownState   redirect = "CLUSTERDOWN The cluster is down"
	errDownUnbound redirect = "CLUSTERDOWN Hash slot not served"
)

// A request is what routing looks at: a command, or all commands of a
// transaction.
type request struct {
	keys    []string
	write   bool
	migrate bool
}

// route decides who runs a request. It is getNodeByQuery of redis-server 7.0,
// check by check.
func (n *Node) route(q request, asking, readonly bool) redirect {
	if len(q.keys) == 0 {
		return ""
	}
	t := n.view()
	slot, owner := -1, noNode
	var migrating, importing, multiple bool
	missing, existing := 0, 0
	target := ""
	for i, key := range q.keys {
		s := hashtag.Slot(key)
		if i == 0 {
			slot, owner = s, int(t.slots[s])
			if owner == noNode {
				return errDownUnbound
			}
			if id, ok := n.migrating[s]; ok && owner == n.index {
				migrating, target = true, id
			} else if _, ok := n.importing[s]; ok {
				importing = true
			}
		} else if s != slot {
			return errCrossSlot
		} else if (importing || migrating) && !multiple && key != q.keys[0] {
			multiple = true
		}
		if migrating || importing {
			if n.data.has(key) {
				existing++
			} else {
				missing++
			}
		}
	}
	if t.down(n.conf.fullCoverage) {
		if !n.conf.readsWhenDown || q.write {
			return errDownState
		}
	}
	if (migrating || importing) && q.migrate {
		return ""
	}
	if migrating && missing > 0 {
		if existing > 0 {
			return errTryAgain
		}
		if i := t.indexOf(target); i != noNode {
			return n.redirectTo("ASK", slot, i)
		}
	}
	if importing && asking {
		if multiple && missing > 0 {
			return errTryAgain
		}
		return ""
	}
	if readonly && !q.write && t.nodes[n.index].master == owner {
		return ""
	}
	if owner != n.index {
		return n.redirectTo("MOVED", slot, owner)
	}
	return ""
}

func (n *Node) redirectTo(kind string, slot, owner int) redirect {
	b := append([]byte(kind), ' ')
	b = strconv.AppendInt(b, int64(slot), 10)
	b = append(b, ' ')
	o := n.c.nodes[owner]
	b = append(b, n.endpointOf(o)...)
	b = append(b, ':')
	b = strconv.AppendInt(b, int64(o.announcedPort()), 10)
	return redirect(b)
}

// endpointOf is what this node tells clients about another: as its own
// cluster-preferred-endpoint-type says. Empty stands for unknown.
func (n *Node) endpointOf(o *Node) string {
	switch n.conf.get("cluster-preferred-endpoint-type") {
	case "hostname":
		if h := o.conf.get("cluster-announce-hostname"); h != "" {
			return h
		}
		return "?"
	case "unknown-endpoint":
		return ""
	}
	return o.announcedIP()
}

// appendEndpoint writes an endpoint as CLUSTER SLOTS does.
func (n *Node) appendEndpoint(b []byte, o *Node, proto int) []byte {
	if e := n.endpointOf(o); e != "" {
		return resp.AppendBulk(b, e)
	}
	return resp.AppendNull(b, proto)
}
