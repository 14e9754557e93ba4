package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

func cmdPing(x *call) {
	if len(x.args) > 2 {
		x.err("ERR wrong number of arguments for 'ping' command")
		return
	}
	if x.proto == 2 && len(x.c.channels)+len(x.c.pattern) > 0 {
		x.array(2)
		x.bulk("pong")
		x.bulk(strings.Join(x.args[1:], ""))
		return
	}
	if len(x.args) == 2 {
		x.bulk(x.args[1])
		return
	}
	x.simple("PONG")
}

func cmdQuit(x *call) {
	x.c.closing = true
	x.ok()
}

func cmdReset(x *call) {
	c := x.c
	c.discard()
	c.unsubscribeAll()
	c.readonly, c.asking, c.replyOff, c.noEvict, c.noTouch = false, false, false, false, false
	c.name, c.proto = "", 2
	c.authed = x.n.conf.password == ""
	x.simple("RESET")
}

func cmdSelect(x *call) {
	switch n, err := strconv.Atoi(x.args[1]); {
	case err != nil:
		x.err("ERR value is not an integer or out of range")
	case n != 0:
		x.err("ERR SELECT is not allowed in cluster mode")
	default:
		x.ok()
	}
}

func cmdNotInCluster(x *call) {
	name := strings.ToUpper(x.cmd.name)
	if name == "REPLICAOF" || name == "SLAVEOF" {
		x.err("ERR REPLICAOF not allowed in cluster mode.")
		return
	}
	x.err("ERR " + name + " is not allowed in cluster mode")
}

// authenticate checks a password and returns the error, or "".
func (x *call) authenticate(user, password string) string {
	if user != "default" || x.n.conf.password != "" && password != x.n.conf.password {
		return "WRONGPASS invalid username-password pair or user is disabled."
	}
	x.c.authed = true
	return ""
}

func cmdAuth(x *call) {
	user, password := "default", x.args[1]
	switch {
	case len(x.args) > 3:
		x.err("ERR syntax error")
		return
	case len(x.args) == 3:
		user, password = x.args[1], x.args[2]
	case x.n.conf.password == "":
		x.err("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
		return
	}
	if msg := x.authenticate(user, password); msg != "" {
		x.err(msg)
		return
	}
	x.ok()
}

func cmdHello(x *call) {
	proto, name, setName := x.c.proto, "", false
	user, password, auth := "", "", false
	if len(x.args) > 1 {
		n, err := strconv.Atoi(x.args[1])
		if err != nil {
			x.err("ERR Protocol version is not an integer or out of range")
			return
		}
		if n != 2 && n != 3 {
			x.err("NOPROTO unsupported protocol version")
			return
		}
		proto = n
	}
	for i := 2; i < len(x.args); i++ {
		left := len(x.args) - 1 - i
		switch opt := strings.ToUpper(x.args[i]); {
		case opt == "AUTH" && left >= 2:
			user, password, auth = x.args[i+1], x.args[i+2], true
			i += 2
		case opt == "SETNAME" && left >= 1:
			name, setName = x.args[i+1], true
			i++
		default:
			x.err("ERR Syntax error in HELLO option '" + x.args[i] + "'")
			return
		}
	}
	if auth {
		if msg := x.authenticate(user, password); msg != "" {
			x.err(msg)
			return
		}
	}
	if !x.c.authed {
		x.err("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
		return
	}
	if setName {
		if !validName(name) {
			x.err(badName)
			return
		}
		x.c.name = name
	}
	x.c.proto, x.proto = proto, proto
	x.greet(proto)
}

// greet is the answer of HELLO.
func (x *call) greet(proto int) {
	role := "master"
	if x.n.isReplica() {
		role = "replica"
	}
	x.mapHead(7)
	for _, kv := range [][2]string{{"server", "redis"}, {"version", redisVersion}} {
		x.bulk(kv[0])
		x.bulk(kv[1])
	}
	x.bulk("proto")
	x.int(int64(proto))
	x.bulk("id")
	x.int(x.c.id)
	x.bulk("mode")
	x.bulk("cluster")
	x.bulk("role")
	x.bulk(role)
	x.bulk("modules")
	x.array(0)
}

const badName = "ERR Client names cannot contain spaces, newlines or special characters."

func validName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' })
}

func cmdClientSetName(x *call) {
	if !validName(x.args[2]) {
		x.err(badName)
		return
	}
	x.c.name = x.args[2]
	x.ok()
}

func cmdClientGetName(x *call) {
	if x.c.name == "" {
		x.null()
		return
	}
	x.bulk(x.c.name)
}

func cmdClientSetInfo(x *call) {
	if !validName(x.args[3]) {
		x.err("ERR " + strings.ToLower(x.args[2]) + " cannot contain spaces, newlines or special characters.")
		return
	}
	switch strings.ToLower(x.args[2]) {
	case "lib-name":
		x.c.libName = x.args[3]
	case "lib-ver":
		x.c.libVer = x.args[3]
	default:
		x.err("ERR Unrecognized option '" + x.args[2] + "'")
		return
	}
	x.ok()
}

func (x *call) onOff(i int, set *bool) {
	switch strings.ToLower(x.args[i]) {
	case "on":
		*set = true
	case "off":
		*set = false
	default:
		x.err("ERR syntax error")
		return
	}
	x.ok()
}

func cmdClientNoEvict(x *call) { x.onOff(2, &x.c.noEvict) }
func cmdClientNoTouch(x *call) { x.onOff(2, &x.c.noTouch) }

func cmdClientReply(x *call) {
	switch strings.ToLower(x.args[2]) {
	case "on":
		x.c.replyOff, x.c.skip = false, false
		x.ok()
	case "off":
		x.c.replyOff = true
	case "skip":
		x.c.skip = true
	default:
		x.err("ERR syntax error")
	}
}

// clientType is the class of a connection in CLIENT LIST TYPE.
func (c *conn) clientType() string {
	if len(c.channels)+len(c.pattern) > 0 {
		return "pubsub"
	}
	return "normal"
}

func (n *Node) sortedConns() []*conn {
	list := make([]*conn, 0, len(n.conns))
	for c := range n.conns {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *conn) int { return int(a.id - b.id) })
	return list
}

func cmdClientList(x *call) {
	keep := func(*conn) bool { return true }
	switch {
	case len(x.args) == 4 && strings.EqualFold(x.args[2], "type"):
		kind := strings.ToLower(x.args[3])
		if !slices.Contains([]string{"normal", "master", "replica", "slave", "pubsub"}, kind) {
			x.err("ERR Unknown client type '" + x.args[3] + "'")
			return
		}
		keep = func(c *conn) bool { return c.clientType() == kind }
	case len(x.args) > 3 && strings.EqualFold(x.args[2], "id"):
		ids := map[int64]bool{}
		for _, a := range x.args[3:] {
			id, err := strconv.ParseInt(a, 10, 64)
			if err != nil {
				x.err("ERR Invalid client ID")
				return
			}
			ids[id] = true
		}
		keep = func(c *conn) bool { return ids[c.id] }
	case len(x.args) > 2:
		x.err("ERR syntax error")
		return
	}
	x.c.lastCmd = x.cmd.name
	var b strings.Builder
	for _, c := range x.n.sortedConns() {
		if keep(c) {
			b.WriteString(c.line(x.now))
			b.WriteByte('\n')
		}
	}
	x.text(b.String())
}

// cmdClientKill is the old form (an address) and the filters.
func cmdClientKill(x *call) {
	if len(x.args) == 3 {
		for _, c := range x.n.sortedConns() {
			if c.addr == x.args[2] {
				x.kill(c)
				x.ok()
				return
			}
		}
		x.err("ERR No such client")
		return
	}
	if len(x.args)%2 != 0 {
		x.err("ERR syntax error")
		return
	}
	filters, skipMe, why := x.killFilters()
	if why != "" {
		x.err(why)
		return
	}
	killed := int64(0)
	for _, c := range x.n.sortedConns() {
		if c == x.c && skipMe || slices.ContainsFunc(filters, func(f func(*conn) bool) bool { return !f(c) }) {
			continue
		}
		x.kill(c)
		killed++
	}
	x.int(killed)
}

// killFilters reads the filters of CLIENT KILL; why says what is wrong.
func (x *call) killFilters() (filters []func(*conn) bool, skipMe bool, why string) {
	skipMe = true
	for i := 2; i < len(x.args); i += 2 {
		v := x.args[i+1]
		switch strings.ToLower(x.args[i]) {
		case "id":
			id, err := strconv.ParseInt(v, 10, 64)
			if err != nil || id < 1 {
				return nil, false, "ERR client-id should be greater than 0"
			}
			filters = append(filters, func(c *conn) bool { return c.id == id })
		case "addr":
			filters = append(filters, func(c *conn) bool { return c.addr == v })
		case "laddr":
			filters = append(filters, func(c *conn) bool { return c.n.listenAddr() == v })
		case "user":
			if v != "default" {
				return nil, false, "ERR No such user '" + v + "'"
			}
		case "type":
			kind := strings.ToLower(v)
			if !slices.Contains([]string{"normal", "master", "replica", "slave", "pubsub"}, kind) {
				return nil, false, "ERR Unknown client type '" + v + "'"
			}
			filters = append(filters, func(c *conn) bool { return c.clientType() == kind })
		case "skipme":
			switch strings.ToLower(v) {
			case "yes":
			case "no":
				skipMe = false
			default:
				return nil, false, "ERR syntax error"
			}
		default:
			return nil, false, "ERR syntax error"
		}
	}
	return filters, skipMe, ""
}

// kill closes a client; the one that asks gets its answer first.
func (x *call) kill(c *conn) {
	if c == x.c {
		c.closing = true
		return
	}
	delete(x.n.conns, c)
	x.n.c.conns.Go(c.close)
}

func cmdClientPause(x *call) {
	ms, err := strconv.ParseInt(x.args[2], 10, 64)
	if err != nil || ms < 0 {
		x.err("ERR timeout is not an integer or out of range")
		return
	}
	writes := false
	if len(x.args) > 3 {
		switch strings.ToLower(x.args[3]) {
		case "write":
			writes = true
		case "all":
		default:
			x.err("ERR CLIENT PAUSE mode must be WRITE or ALL")
			return
		}
	}
	x.n.startHold(time.Duration(ms)*time.Millisecond, writes)
	x.ok()
}

func cmdClientUnpause(x *call) {
	x.n.endHold()
	x.ok()
}
