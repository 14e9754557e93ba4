package pool

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// With unknown endpoints a redirect names a port alone, and go-redis may then
// ask the node of that name for the topology. Its answer must not take the
// hosts away that are known.
func TestATopologyFromANodeWithoutAHostKeepsTheHostsThatAreKnown(t *testing.T) {
	cfg, err := Config{Addrs: []string{"h:1"}}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	c := newCore(cfg)
	defer c.end()
	reply := []any{[]any{int64(0), int64(16383), []any{nil, int64(7000), "id"}}}
	for _, asked := range []string{"10.1.2.3:7000", ":7000", "?:7000"} {
		hook := &topologyHook{addr: asked, topo: c.topo, timeout: time.Second}
		cmd := redis.NewClusterSlotsCmd(t.Context(), "cluster", "slots")
		err := hook.ProcessHook(func(_ context.Context, cmd redis.Cmder) error {
			cmd.(*redis.SliceCmd).SetVal(reply)
			return nil
		})(t.Context(), cmd)
		if err != nil {
			t.Fatalf("%s: %v", asked, err)
		}
		if got := cmd.Val()[0].Nodes[0].Addr; got != "10.1.2.3:7000" {
			t.Errorf("asked %s: the node is at %q", asked, got)
		}
		if got := c.topo.hostFor("7000"); got != "10.1.2.3" {
			t.Errorf("asked %s: the host on port 7000 is %q", asked, got)
		}
	}
}
