package redisinfo

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func FuzzParseInfo(f *testing.F) {
	for _, name := range []string{"info-everything-master.txt", "info-everything-replica.txt", "info-reset-1.txt"} {
		f.Add(recorded(f, name), recorded(f, "info-reset-2.txt"))
	}
	f.Add("# Keyspace\ndb0:keys=1,expires=1,avg_ttl=-9223372036854775808\nslave0:=,lag=9223372036854775807", "cmdstat_:calls=-1")
	f.Fuzz(func(t *testing.T, a, b string) {
		before, after := ParseInfo(a), ParseInfo(b)
		before.Replicas()
		after.Version()
		for name, c := range Between(before, after).Commands {
			if now := after.Commands[name]; c.Calls > now.Calls || c.Usec > now.Usec {
				t.Fatalf("%s: the difference %+v is more than the second sample %+v", name, c, now)
			}
		}
		if d := Between(before, before); d.Restarted || len(d.Commands)+len(d.Errors)+len(d.Counters) != 0 && !d.Reset {
			t.Fatalf("a sample against itself: %+v", d)
		}
	})
}

func FuzzParseClientList(f *testing.F) {
	f.Add(recorded(f, "client-list.txt"))
	f.Fuzz(func(t *testing.T, reply string) {
		for _, c := range ParseClientList(reply) {
			var line []string
			for k, v := range c.Fields {
				line = append(line, k+"="+v)
			}
			again := ParseClientList(strings.Join(line, " "))
			if len(again) != 1 || !reflect.DeepEqual(again[0], c) {
				t.Fatalf("%q read again is %+v, was %+v", line, again, c)
			}
		}
	})
}

func FuzzParseNodes(f *testing.F) {
	for _, tag := range topologies {
		f.Add(recorded(f, "cluster-nodes"+tag+".txt"))
	}
	f.Add(idA + " 2001:db8::1:7000@17000,h,tls-port=0,shard-id=ab slave,fail? " + idB + " 1 2 3 disconnected 0 5-9 [93-<-x] [94->-y]")
	f.Fuzz(func(t *testing.T, reply string) {
		nodes, err := ParseNodes(reply)
		if err != nil {
			return
		}
		var text strings.Builder
		for _, n := range nodes {
			text.WriteString(nodeLine(n))
		}
		again, err := ParseNodes(text.String())
		if err != nil || !reflect.DeepEqual(again, nodes) {
			t.Fatalf("written again as\n%s\ngot %+v, %v\nwas %+v", &text, again, err, nodes)
		}
	})
}

// nodeLine writes a node as the server does.
func nodeLine(n Node) string {
	or := func(s, instead string) string {
		if s == "" {
			return instead
		}
		return s
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s:%d@%d", n.ID, n.Host, n.Port, n.BusPort)
	if n.Hostname != "" || n.ShardID != "" {
		fmt.Fprintf(&b, ",%s", n.Hostname)
	}
	if n.ShardID != "" {
		fmt.Fprintf(&b, ",shard-id=%s", n.ShardID)
	}
	link := "disconnected"
	if n.LinkConnected {
		link = "connected"
	}
	flags := "noflags"
	if n.Flags != nil {
		flags = strings.Join(n.Flags, ",")
	}
	fmt.Fprintf(&b, " %s %s %d %d %d %s", flags, or(n.MasterID, "-"), n.PingSent, n.PongRecv, n.ConfigEpoch, link)
	for _, r := range n.Slots {
		fmt.Fprintf(&b, " %v", r)
	}
	for slot, id := range n.Migrating {
		fmt.Fprintf(&b, " [%d->-%s]", slot, id)
	}
	for slot, id := range n.Importing {
		fmt.Fprintf(&b, " [%d-<-%s]", slot, id)
	}
	return b.String() + "\n"
}

func FuzzParseClusterInfo(f *testing.F) {
	f.Add(recorded(f, "cluster-info.txt"))
	f.Fuzz(func(t *testing.T, reply string) {
		m := ParseClusterInfo(reply)
		var text strings.Builder
		for k, v := range m {
			fmt.Fprintf(&text, "%s:%s\r\n", k, v)
		}
		if again := ParseClusterInfo(text.String()); !reflect.DeepEqual(again, m) {
			t.Fatalf("%q read again is %q", m, again)
		}
	})
}

// fuzzedReply builds a nested reply from bytes, as go-redis could return it.
func fuzzedReply(data []byte, depth int) (v any, rest []byte) {
	if len(data) == 0 {
		return nil, nil
	}
	op, data := data[0], data[1:]
	size := int(op >> 4)
	switch op & 7 {
	case 0, 1:
		n := min(size, len(data))
		return string(data[:n]), data[n:]
	case 2:
		n := int64(size)
		if len(data) > 0 {
			n = n<<8 | int64(data[0])
			data = data[1:]
		}
		return n, data
	case 3, 4:
		if depth == 0 {
			return nil, data
		}
		var list []any
		for range size {
			v, data = fuzzedReply(data, depth-1)
			list = append(list, v)
		}
		return list, data
	case 5:
		if depth == 0 {
			return nil, data
		}
		m := map[any]any{}
		for range size {
			v, data = fuzzedReply(data, depth-1)
			keys := []string{"slots", "nodes", "id", "port", "tls-port", "ip", "endpoint", "role", "health", "replication-offset", "hostname"}
			m[keys[int(op+byte(len(data)))%len(keys)]] = v
		}
		return m, data
	case 6:
		return float64(size) / 2, data
	}
	return nil, data
}

func FuzzParseSlotsAndShards(f *testing.F) {
	f.Add([]byte{0x13, 0x33, 0x02, 0, 0x02, 1, 0x23, 0x10, 'h', 0x22, 7})
	f.Add([]byte{0x23, 0x25, 0x23, 0x02, 0, 0x02, 9, 0x13, 0x35, 0x22, 5, 0x07, 0x10, 'm'})
	f.Fuzz(func(t *testing.T, data []byte) {
		reply, _ := fuzzedReply(data, 5)
		slots, err := ParseSlots(reply)
		if err == nil {
			var wire []any
			for _, o := range slots {
				e := []any{int64(o.Range.First), int64(o.Range.Last)}
				for _, ep := range append([]Endpoint{o.Master}, o.Replicas...) {
					e = append(e, []any{ep.Host, int64(ep.Port), ep.ID, []any{"ip", ep.IP, "hostname", ep.Hostname}})
				}
				wire = append(wire, e)
			}
			again, err := ParseSlots(append([]any{}, wire...))
			if err != nil || !reflect.DeepEqual(again, slots) {
				t.Fatalf("%+v read again is %+v, %v", slots, again, err)
			}
		}
		if shards, err := ParseShards(reply); err == nil {
			for _, s := range shards {
				for _, r := range s.Slots {
					if r.First < 0 || r.Last >= slotCount || r.First > r.Last {
						t.Fatalf("range %v", r)
					}
				}
			}
		}
	})
}

func FuzzRanges(f *testing.F) {
	f.Add([]byte{1, 2, 3, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		var slots []int
		for i, b := range data {
			slots = append(slots, (int(b)*64+i%3)%slotCount)
		}
		r := Ranges(slots)
		var back []int
		for _, s := range r {
			for n := s.First; n <= s.Last; n++ {
				back = append(back, n)
			}
		}
		if want := slices.Compact(slices.Sorted(slices.Values(slots))); !slices.Equal(back, want) {
			t.Fatalf("%v became %v", want, r)
		}
		n := 0
		for _, s := range append(Missing(r), r...) {
			n += s.Count()
		}
		if n != slotCount {
			t.Fatalf("%v and what it misses are %d slots", r, n)
		}
	})
}
