package clustertest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Options describe a cluster. The zero value is three masters without
// replicas on the embedded backend.
type Options struct {
	// Backend runs the nodes. nil means Embedded{}.
	Backend Backend

	// Masters is the number of masters, 1 to 100. Zero means 3. The 16384
	// slots are spread evenly, in order.
	Masters int

	// Replicas is the number of replicas of each master, 0 to 5.
	Replicas int

	// NodeTimeout is cluster-node-timeout: how long a node may be silent
	// before the others call it failed, at least 100 ms. Zero means 1 s.
	NodeTimeout time.Duration

	// Config holds further directives of redis.conf for every node, such as
	// "cluster-require-full-coverage": "no". A directive that the backend
	// does not know is an error, and so is one that would take a node away
	// from the cluster it belongs to ("port", "dir", ...). With "requirepass"
	// clients of [Cluster.ClientOptions] and [Node.Client] use the password.
	Config map[string]string

	// Port is the data port of the first node; the others take the ports
	// behind it. 1024 to 32767 minus the nodes. Zero means free ports.
	Port int
}

// Limits of [Options].
const (
	maxMasters     = 100
	maxReplicas    = 5
	minNodeTimeout = 100 * time.Millisecond
	minPort        = 1024
	maxPort        = 32767
)

// reserved are the directives that a cluster sets itself, with what to use
// instead.
var reserved = map[string]string{
	"appendfilename":            "leave it out",
	"bind":                      "leave it out, a cluster chooses its own address",
	"bind-source-addr":          "leave it out, a cluster chooses its own address",
	"cluster-announce-bus-port": "leave it out",
	"cluster-announce-ip":       "use Node.AnnounceHost",
	"cluster-announce-port":     "use Processes.Proxy",
	"cluster-announce-tls-port": "leave it out",
	"replica-announce-port":     "leave it out",
	"cluster-config-file":       "leave it out",
	"cluster-enabled":           "leave it out, it is always on",
	"cluster-node-timeout":      "use Options.NodeTimeout",
	"cluster-port":              "leave it out",
	"daemonize":                 "leave it out, nodes are children of this process",
	"dir":                       "leave it out, nodes have folders of their own",
	"include":                   "put the directives into Options.Config",
	"logfile":                   "leave it out, logs are kept when a test fails",
	"pidfile":                   "leave it out",
	"port":                      "use Options.Port",
	"protected-mode":            "leave it out",
	"replicaof":                 "use Options.Replicas",
	"slaveof":                   "use Options.Replicas",
	"supervised":                "leave it out",
	"tls-cluster":               "leave it out, clusters of this package speak plain TCP",
	"tls-port":                  "leave it out, clusters of this package speak plain TCP",
	"unixsocket":                "leave it out",
}

// validate returns one error that names every bad field.
func (o Options) validate() error {
	var bad []error
	add := func(format string, args ...any) { bad = append(bad, fmt.Errorf(format, args...)) }
	if o.Masters < 0 || o.Masters > maxMasters {
		add("Masters is %d: use 1 to %d, or 0 for 3", o.Masters, maxMasters)
	}
	if o.Replicas < 0 || o.Replicas > maxReplicas {
		add("Replicas is %d: use 0 to %d", o.Replicas, maxReplicas)
	}
	if o.NodeTimeout != 0 && o.NodeTimeout < minNodeTimeout {
		add("NodeTimeout is %v: use at least %v, or 0 for 1s", o.NodeTimeout, minNodeTimeout)
	}
	if last := maxPort + 1 - o.withDefaults().nodes(); o.Port != 0 && (o.Port < minPort || o.Port > last) {
		add("Port is %d: use %d to %d, or 0 for free ports", o.Port, minPort, last)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Config)) {
		value := o.Config[name]
		switch lower := strings.ToLower(name); {
		case reserved[lower] != "":
			add("Config[%q] belongs to the cluster: %s", name, reserved[lower])
		case name == "" || strings.ContainsAny(name, " \t\r\n\"'#"):
			add("Config[%q] is no directive: use a name as in redis.conf", name)
		case strings.ContainsAny(value, "\r\n\x00"):
			add("Config[%q] is %q: use a value of one line", name, value)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("clustertest: bad options: %w", errors.Join(bad...))
}

// withDefaults replaces zero values by what they stand for.
func (o Options) withDefaults() Options {
	if o.Backend == nil {
		o.Backend = Embedded{}
	}
	if o.Masters == 0 {
		o.Masters = 3
	}
	if o.NodeTimeout == 0 {
		o.NodeTimeout = time.Second
	}
	config := make(map[string]string, len(o.Config))
	for name, value := range o.Config {
		config[strings.ToLower(name)] = value
	}
	o.Config = config
	return o
}

// nodes is the number of nodes.
func (o Options) nodes() int { return o.Masters * (1 + o.Replicas) }

// slotRange is the range of slots that master i owns at the start, split as
// redis-cli --cluster create does: 0-5460, 5461-10922, 10923-16383.
func (o Options) slotRange(i int) (first, last int) {
	bound := func(i int) int { return int(math.Round(float64(i)*slotCount/float64(o.Masters) - 1)) }
	return bound(i) + 1, bound(i + 1)
}

const slotCount = 16384
