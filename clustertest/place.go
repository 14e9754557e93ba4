package clustertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
)

// errPortTaken matches errors of a start that lost a port to somebody else.
var errPortTaken = errors.New("a port is taken")

// busOffset is the distance from a node's data port to its bus port, which no
// announced port changes.
const busOffset = 10000

// A place is where a cluster listens: node i on host:data+i, its bus on
// host:data+i+busOffset and, with proxies, its proxy on host:proxy+i.
type place struct {
	host        string
	data, proxy int
}

// announced is the port of node i that clients see.
func (p place) announced(i int) int {
	if p.proxy != 0 {
		return p.proxy + i
	}
	return p.data + i
}

// ownAddresses tells whether all of 127.0.0.0/8 is there to listen on.
const ownAddresses = runtime.GOOS == "linux"

// findPlace chooses an address and ports that nobody listens on.
func findPlace(ctx context.Context, o Options, proxy bool) (place, error) {
	n := o.nodes()
	var last error
	for range 100 {
		p := place{host: "127.0.0.1"}
		if ownAddresses && o.Port == 0 {
			// 127.0.0.0/16 and 127.53.0.0/16 are left to resolvers and people.
			p.host = fmt.Sprintf("127.%d.%d.%d", 64+rand.IntN(128), rand.IntN(256), 1+rand.IntN(254))
		}
		// Data ports from 10000, so that the bus ports stay below 32768,
		// where ports of outgoing connections begin.
		p.data = 10000 + rand.IntN(maxPort-busOffset-10000-2*n)
		switch {
		case o.Port != 0 && proxy:
			p.proxy = o.Port
		case o.Port != 0:
			p.data = o.Port
		case proxy:
			p.proxy = p.data + n
		}
		last = p.probe(ctx, n)
		if last == nil || ctx.Err() != nil || o.Port != 0 && !proxy {
			return p, last
		}
	}
	return place{}, last
}

// probe proves that the ports of n nodes are free.
func (p place) probe(ctx context.Context, n int) error {
	var ports []int
	for i := range n {
		ports = append(ports, p.data+i, p.data+i+busOffset)
		if p.proxy != 0 {
			ports = append(ports, p.proxy+i)
		}
	}
	for _, port := range ports {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(p.host, strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("port %d of %s (choose another Options.Port if you set it): %w: %w", port, p.host, errPortTaken, err)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}
