package hashtag_test

import (
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/hashtag"
)

// roundTrips counts how often a client writes and then has to wait.
type roundTrips struct{ n atomic.Int64 }

func (r *roundTrips) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: conn, r: r}, nil
}

type countedConn struct {
	net.Conn
	r       *roundTrips
	written bool
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.written = true
	return c.Conn.Write(b)
}

func (c *countedConn) Read(b []byte) (int, error) {
	if c.written {
		c.written = false
		c.r.n.Add(1)
	}
	return c.Conn.Read(b)
}

// A reader reads keys and returns how many values it got.
type reader struct {
	name string
	read func(ctx context.Context, c *redis.ClusterClient, keys []string) int
}

var readers = []reader{
	{"Multi.MGet", readMulti},
	{"Multi.MGet-again", readMulti}, // the A/A row
	{"go-redis-pipeline-of-GETs", func(ctx context.Context, c *redis.ClusterClient, keys []string) int {
		pipe := c.Pipeline()
		for _, k := range keys {
			pipe.Get(ctx, k)
		}
		cmds, _ := pipe.Exec(ctx)
		n := 0
		for _, cmd := range cmds {
			if cmd.(*redis.StringCmd).Err() == nil {
				n++
			}
		}
		return n
	}},
	{"one-MGET-per-slot", func(ctx context.Context, c *redis.ClusterClient, keys []string) int {
		n := 0
		for _, g := range hashtag.Group(keys) {
			its := make([]string, len(g.Index))
			for i, at := range g.Index {
				its[i] = keys[at]
			}
			for _, v := range c.MGet(ctx, its...).Val() {
				if v != nil {
					n++
				}
			}
		}
		return n
	}},
}

func readMulti(ctx context.Context, c *redis.ClusterClient, keys []string) int {
	values, err := hashtag.Multi{Client: c}.MGet(ctx, keys...)
	if err != nil {
		return 0
	}
	n := 0
	for _, v := range values {
		if v.Found {
			n++
		}
	}
	return n
}

// BenchmarkMGet1000 reads 1000 keys of three masters in four ways, on keys of
// their own slots and on keys with 50 tags. The ways take turns, so that a
// noisy machine is noisy for all of them; the medians of the turns are
// reported. One iteration is one turn of each way.
func BenchmarkMGet1000(b *testing.B) {
	c := startCluster(b)
	var trips roundTrips
	o := c.ClientOptions()
	o.Dialer = trips.dial
	client := redis.NewClusterClient(o)
	defer client.Close()
	ctx := b.Context()
	spread := numbered(1000)
	tagged := make([]string, 1000)
	for i := range tagged {
		tagged[i] = "{tag:" + strconv.Itoa(i%50) + "}" + strconv.Itoa(i)
	}
	for _, set := range []struct {
		name string
		keys []string
	}{{"keys=spread", spread}, {"keys=tagged", tagged}} {
		fill(b, hashtag.Multi{Client: client}, set.keys)
		b.Run(set.name, func(b *testing.B) {
			const perTurn = 100 * time.Millisecond
			rates := make([][]float64, len(readers))
			rtts := make([]float64, len(readers))
			turn := 0
			for b.Loop() {
				for k := range readers {
					r := (k + turn) % len(readers) // nobody is always behind the same one
					before, start, calls := trips.n.Load(), time.Now(), 0
					for ; time.Since(start) < perTurn; calls++ {
						if n := readers[r].read(ctx, client, set.keys); n != len(set.keys) {
							b.Fatalf("%s: %d of %d values", readers[r].name, n, len(set.keys))
						}
					}
					rates[r] = append(rates[r], float64(calls)/time.Since(start).Seconds())
					rtts[r] = float64(trips.n.Load()-before) / float64(calls)
				}
				turn++
			}
			b.ReportMetric(0, "ns/op")
			for r := range readers {
				slices.Sort(rates[r])
				name := strings.ReplaceAll(readers[r].name, " ", "-")
				b.ReportMetric(rates[r][len(rates[r])/2], name+"-calls/s")
				b.ReportMetric(rtts[r], name+"-round-trips")
			}
		})
	}
}

// BenchmarkMGet1000Allocs is one way alone, for profiles and allocations.
func BenchmarkMGet1000Allocs(b *testing.B) {
	client := startCluster(b).Client()
	keys := numbered(1000)
	fill(b, hashtag.Multi{Client: client}, keys)
	for _, r := range readers {
		b.Run("impl="+r.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.read(b.Context(), client, keys)
			}
		})
	}
}
