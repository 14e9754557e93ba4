package clustertest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// serverConf is the configuration file of node i. A node that is started again
// reads it alone.
func serverConf(o Options, p place, i int, s *process) []byte {
	conf := map[string]string{
		"appendonly":                    "no",
		"bind":                          p.host,
		"cluster-config-file":           "nodes.conf",
		"cluster-enabled":               "yes",
		"cluster-node-timeout":          strconv.FormatInt(o.NodeTimeout.Milliseconds(), 10),
		"daemonize":                     "no",
		"dir":                           quoteConf(s.dir),
		"enable-debug-command":          "yes", // DEBUG SLEEP stalls a node
		"logfile":                       quoteConf(s.log),
		"port":                          strconv.Itoa(p.data + i),
		"protected-mode":                "no", // it refuses all but 127.0.0.1
		"repl-diskless-sync":            "no", // diskless waits for more replicas
		"repl-ping-replica-period":      "1",
		"repl-diskless-load":            "disabled",
		"save":                          `""`,
		"cluster-announce-hostname":     `""`,
		"cluster-allow-reads-when-down": "no",
		// A replica takes over however long its link was down.
		"cluster-replica-validity-factor": "0",
	}
	if ownAddresses {
		conf["bind-source-addr"] = p.host // or the bus comes from 127.0.0.1
	}
	if p.proxy != 0 {
		conf["cluster-announce-port"] = strconv.Itoa(p.announced(i))
		conf["replica-announce-port"] = strconv.Itoa(p.announced(i))
	}
	if password := o.Config["requirepass"]; password != "" {
		conf["masterauth"] = password
	}
	for name, value := range o.Config {
		if value == "" {
			value = `""`
		}
		conf[name] = value
	}
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(conf)) {
		fmt.Fprintf(&b, "%s %s\n", name, conf[name])
	}
	return b.Bytes()
}

// quoteConf quotes a value as redis.conf wants it.
func quoteConf(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// bootArgs are overrides for the first start alone, in the form of the command
// line. They make the nodes find each other fast; settle takes them back.
func bootArgs(o Options) []string {
	// Nodes tell each other their state every half timeout. Without replicas
	// all news is broadcast, and the stand-ins must not be found out.
	timeout := "300"
	if o.Replicas == 0 {
		timeout = "10000"
	}
	return []string{
		"--cluster-allow-replica-migration", "yes", // or a master without slots stays one
		"--cluster-node-timeout", timeout,
		"--hz", "100",
	}
}

// afterBoot are the values that the nodes keep.
func afterBoot(o Options) map[string]string {
	conf := map[string]string{
		"cluster-allow-replica-migration": "yes",
		"cluster-node-timeout":            strconv.FormatInt(o.NodeTimeout.Milliseconds(), 10),
		"hz":                              "10",
	}
	for name := range conf {
		if value, ok := o.Config[name]; ok {
			conf[name] = value
		}
	}
	return conf
}

// nodesConf is the nodes.conf that node `self` starts with.
//
// A master that starts waits 2 s before it serves (CLUSTER_WRITABLE_DELAY); a
// replica does not, and can become a master at once by CLUSTER FAILOVER
// TAKEOVER. So the future masters start as replicas: of their future replica
// where there is one, and of a master that does not exist otherwise, which is
// forgotten afterwards.
func nodesConf(o Options, servers []*process, ghosts []string, self *process) []byte {
	var b bytes.Buffer
	line := func(id, addr, role, master string, epoch int, slots string) {
		if id == self.id {
			role = "myself," + role
		}
		fmt.Fprintf(&b, "%s %s %s %s 0 0 %d connected%s\n", id, addr, role, master, epoch, slots)
	}
	for i := range o.Masters {
		// Servers from 7.2 on know shards by an id. They make up one for each
		// node that has none here, and stumble over it later.
		aux := ""
		if self.shardIDs {
			aux = ",,shard-id=" + shard(o, servers, i)[0].id
		}
		first, last := o.slotRange(i)
		slots := fmt.Sprintf(" %d-%d", first, last)
		team := shard(o, servers, i)
		if o.Replicas == 0 {
			line(ghosts[i], "127.0.0.1:1@2"+aux, "master", "-", i+1, slots)
			line(team[0].id, team[0].bus()+aux, "slave", ghosts[i], i+1, "")
			continue
		}
		old := team[1]
		line(old.id, old.bus()+aux, "master", "-", i+1, slots)
		for j, s := range team {
			if j != 1 {
				line(s.id, s.bus()+aux, "slave", old.id, i+1, "")
			}
		}
	}
	fmt.Fprintf(&b, "vars currentEpoch %d lastVoteEpoch 0\n", o.Masters)
	return b.Bytes()
}

// shard are the nodes of shard i, its master first.
func shard(o Options, servers []*process, i int) []*process {
	team := []*process{servers[i]}
	for j := range o.Replicas {
		team = append(team, servers[o.Masters+i*o.Replicas+j])
	}
	return team
}
