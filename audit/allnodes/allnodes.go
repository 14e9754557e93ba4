// Package allnodes is the rule against asking one node for the whole cluster.
package allnodes

import (
	"golang.org/x/tools/go/analysis"

	"github.com/rcctl/rcctl/audit/internal/code"
)

// Analyzer reports commands about a whole server on a cluster client.
var Analyzer = &analysis.Analyzer{
	Name: "allnodes",
	Doc: `one node asked for the whole cluster

KEYS, SCAN, RANDOMKEY, FLUSHALL, FLUSHDB and INFO have no key. A ClusterClient sends
them to one node, picked at random: SCAN sees a third of the keys, and the next
page of its cursor may come from another node; FLUSHALL empties one shard.
Ask every master, inside ForEachMaster.

Not reported: DBSIZE and the SCRIPT commands, which go-redis' cluster client
sends to every node itself.`,
	Run:              run,
	Requires:         []*analysis.Analyzer{code.Analyzer},
	RunDespiteErrors: true,
}

var wholeServer = map[string]string{
	"Keys": "KEYS", "Scan": "SCAN", "ScanType": "SCAN", "RandomKey": "RANDOMKEY",
	"FlushAll": "FLUSHALL", "FlushAllAsync": "FLUSHALL", "FlushDB": "FLUSHDB", "FlushDBAsync": "FLUSHDB",
	"Info": "INFO", "InfoMap": "INFO",
}

func run(pass *analysis.Pass) (any, error) {
	for _, f := range code.Of(pass).Funcs {
		for _, c := range f.Calls {
			if command, ok := wholeServer[c.Name]; ok && c.Recv == "ClusterClient" {
				f.Reportf(pass, c, command+" on a ClusterClient reaches one node, picked at random, not the cluster; call it on every master inside ForEachMaster")
			}
		}
	}
	return nil, nil
}
