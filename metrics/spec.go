package metrics

import (
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxNodes is how many node addresses a collector keeps apart; later ones are
// counted together as "other". It bounds the number of series where addresses
// come and go, as in Kubernetes.
const MaxNodes = 256

// other is the label value for what a bounded label has no room for.
const other = "other"

type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// A spec describes one metric. The table in docs/metrics.md is written from
// specs, and dashboards and rules are checked against them.
type spec struct {
	name, help string
	kind       kind
	labels     []string
}

// A group is the metrics of one collector. owner is the label that tells
// several collectors of the group apart.
type group struct {
	title, owner string
	specs        []*spec
}

func (g *group) add(k kind, name, help string, labels []string) *spec {
	s := &spec{name: name, help: help, kind: k, labels: labels}
	g.specs = append(g.specs, s)
	return s
}

func (g *group) counter(name, help string, labels ...string) *spec {
	return g.add(counter, name, help, labels)
}

func (g *group) gauge(name, help string, labels ...string) *spec {
	return g.add(gauge, name, help, labels)
}

func (g *group) histogram(name, help string, labels ...string) *spec {
	return g.add(histogram, name, help, labels)
}

// groups are all metrics of this package, in the order of the documentation.
var groups = []*group{attemptsGroup, poolGroup, cacheGroup, healthGroup, serversGroup}

// family is the metrics of some groups with the value of their owner label.
type family map[*spec]*prometheus.Desc

func newFamily(owner string, gs ...*group) family {
	f := family{}
	for _, g := range gs {
		for _, s := range g.specs {
			f[s] = prometheus.NewDesc(s.name, s.help, s.labels, prometheus.Labels{g.owner: owner})
		}
	}
	return f
}

func (f family) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range f {
		ch <- d
	}
}

// emit sends one value. Values of labels are in the order of the spec.
func (f family) emit(ch chan<- prometheus.Metric, s *spec, v float64, labels ...string) {
	t := prometheus.GaugeValue
	if s.kind == counter {
		t = prometheus.CounterValue
	}
	ch <- prometheus.MustNewConstMetric(f[s], t, v, valid(labels)...)
}

// valid quotes label values that are no UTF-8, which Prometheus refuses:
// patterns and host names come from outside.
func valid(labels []string) []string {
	for i, l := range labels {
		if !utf8.ValidString(l) {
			labels = slices.Clone(labels)
			labels[i] = strconv.QuoteToASCII(l)
		}
	}
	return labels
}

// flag sends 1 or 0.
func (f family) flag(ch chan<- prometheus.Metric, s *spec, on bool, labels ...string) {
	v := 0.0
	if on {
		v = 1
	}
	f.emit(ch, s, v, labels...)
}

// sorted are the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
