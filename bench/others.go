package bench

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rcctl/rcctl/internal/redisinfo"
	"golang.org/x/sync/errgroup"
)

// others are the connections of clients that are not this run's, as short
// descriptions with their number, busiest first.
func (s *servers) others(ctx context.Context) []string {
	var mu sync.Mutex
	count := map[string]int{}
	s.mu.Lock()
	nodes := slices.Clone(s.nodes)
	s.mu.Unlock()
	var g errgroup.Group
	g.SetLimit(fanOut)
	for _, n := range nodes {
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
			defer cancel()
			reply, err := n.client.ClientList(ctx).Result()
			if err != nil {
				return nil // CLIENT may be forbidden; then nothing can be said
			}
			mu.Lock()
			defer mu.Unlock()
			for _, c := range redisinfo.ParseClientList(reply) {
				if isOther(c, s.name) {
					count[describe(c)]++
				}
			}
			return nil
		})
	}
	_ = g.Wait()
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(a, b))
	})
	const most = 5
	out := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		out = append(out, fmt.Sprintf("%s (%d connections)", n, count[n]))
	}
	if len(names) > most {
		out = append(out, fmt.Sprintf("and %d more", len(names)-most))
	}
	return out
}

// quiet are commands of tools that look and do not use keys.
var quiet = map[string]bool{
	"": true, "null": true, "ping": true, "info": true, "cluster": true, "client": true, "config": true, "hello": true,
	"auth": true, "command": true, "latency": true, "slowlog": true, "readonly": true, "asking": true, "role": true, "dbsize": true, "memory": true,
}

// isOther reports whether a connection belongs to a client that uses keys and
// is not ours: no replication link, no tool that only looks, not idle for long.
func isOther(c redisinfo.Client, ours string) bool {
	command, _, _ := strings.Cut(strings.ToLower(c.Cmd), "|")
	return c.Name != ours && !strings.ContainsAny(c.Flags, "SM") && !quiet[command] && c.Idle < time.Minute
}

func describe(c redisinfo.Client) string {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		host = c.Addr
	}
	d := "from " + host
	if c.Name != "" {
		d += " named " + c.Name
	}
	if c.LibName != "" {
		d += " using " + c.LibName
	}
	return d + ", last command " + c.Cmd
}

// guard refuses a cluster that others use, unless every node is on this
// machine's loopback.
func (s *servers) guard(ctx context.Context) error {
	s.mu.Lock()
	local, keys := true, uint64(0)
	for _, n := range s.nodes {
		host, _, _ := net.SplitHostPort(n.addr)
		ip := net.ParseIP(host)
		local = local && ip != nil && ip.IsLoopback()
		if n.role == "master" && n.last != nil {
			for _, db := range n.last.Keyspace {
				keys += db.Keys
			}
		}
	}
	s.mu.Unlock()
	if local {
		return nil
	}
	var found []string
	if keys > 0 {
		found = append(found, thousands(keys)+" keys")
	}
	if o := s.others(ctx); len(o) > 0 {
		found = append(found, "other clients: "+strings.Join(o, ", "))
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("%w: found %s", ErrOtherTraffic, strings.Join(found, "; "))
}
