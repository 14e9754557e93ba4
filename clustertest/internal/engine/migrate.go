package engine

import (
	"net"
	"strconv"
	"strings"
)

type migrateOptions struct {
	copy, replace  bool
	user, password string
	keys           []string
}

func (x *call) migrateOptions() (o migrateOptions, why string) {
	o.keys = x.args[3:4]
	for i := 6; i < len(x.args); i++ {
		left := len(x.args) - 1 - i
		switch strings.ToLower(x.args[i]) {
		case "copy":
			o.copy = true
		case "replace":
			o.replace = true
		case "auth":
			if left < 1 {
				return o, "ERR syntax error"
			}
			i++
			o.user, o.password = "default", x.args[i]
		case "auth2":
			if left < 2 {
				return o, "ERR syntax error"
			}
			o.user, o.password = x.args[i+1], x.args[i+2]
			i += 2
		case "keys":
			if x.args[3] != "" {
				return o, "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string"
			}
			o.keys = x.args[i+1:]
			i = len(x.args)
		default:
			return o, "ERR syntax error"
		}
	}
	for _, i := range []int{4, 5} {
		if _, err := strconv.ParseInt(x.args[i], 10, 64); err != nil {
			return o, "ERR value is not an integer or out of range"
		}
	}
	return o, ""
}

// cmdMigrate moves keys to another node of this cluster.
func cmdMigrate(x *call) {
	o, why := x.migrateOptions()
	if why != "" {
		x.err(why)
		return
	}
	var keys []string
	for _, k := range o.keys {
		if x.ds.has(k) {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		x.simple("NOKEY")
		return
	}
	to := x.n.c.find(x.args[1], x.args[2])
	switch {
	case to == nil || to.down:
		x.err("IOERR error or timeout connecting to the client")
		return
	case to.paused != nil || to == x.n:
		x.err("IOERR error or timeout reading to target instance")
		return
	}
	const replied = "ERR Target instance replied with error: "
	if p := to.conf.password; p != "" && (o.user == "" || o.password != p) {
		if o.user == "" {
			x.err(replied + "NOAUTH Authentication required.")
		} else {
			x.err(replied + "WRONGPASS invalid username-password pair or user is disabled.")
		}
		return
	}
	restore := table().byName["restore-asking"]
	for _, k := range keys {
		s := to.stats.command(restore)
		if where := to.route(request{keys: []string{k}, write: true}, true, false); where != "" {
			s.rejected++
			to.stats.countError([]byte("-" + string(where)))
			x.err(replied + string(where))
			return
		}
		if to.isReplica() {
			x.err(replied + "READONLY You can't write against a read only replica.")
			return
		}
		s.calls++
		to.stats.processed++
		if to.data.has(k) && !o.replace {
			s.failed++
			x.err(replied + "BUSYKEY Target key name already exists.")
			return
		}
		x.ds.copyTo(to.data, k)
		to.data.offset += int64(len(k)) + 60
		if !o.copy {
			x.ds.remove(k)
			x.ds.offset += int64(len(k)) + 20
		}
	}
	x.ok()
}

// find is the node that listens on, or announces, an address.
func (c *Cluster) find(host, port string) *Node {
	addr := net.JoinHostPort(host, port)
	for _, n := range c.nodes {
		if n.listenAddr() == addr || n.announcedAddr() == addr {
			return n
		}
	}
	return nil
}
