package engine

import "strings"

// natives are the commands that the data engine runs as they are, with its
// own checks of arguments.
const natives = `
append decr decrby get getdel getex getrange getset incr incrby incrbyfloat mget mset msetnx psetex set setex setnx setrange strlen
bitcount bitop bitpos getbit setbit
hdel hexists hget hgetall hincrby hincrbyfloat hkeys hlen hmget hmset hrandfield hscan hset hsetnx hstrlen hvals
lindex linsert llen lmove lmpop lpop lpos lpush lpushx lrange lrem lset ltrim rpop rpoplpush rpush rpushx
sadd scard sdiff sdiffstore sinter sintercard sinterstore sismember smembers smismember smove spop srandmember srem sscan sunion sunionstore
zadd zcard zcount zincrby zinter zinterstore zlexcount zmpop zmscore zpopmax zpopmin zrandmember zrange zrangebylex zrangebyscore
zrank zrem zremrangebylex zremrangebyrank zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore zunion zunionstore
geoadd geodist geopos georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch
pfadd pfcount pfmerge
xack xadd xautoclaim xclaim xdel xlen xpending xrange xrevrange xtrim xgroup|create xgroup|createconsumer xgroup|delconsumer
xgroup|destroy xgroup|setid xinfo|consumers xinfo|groups xinfo|stream
copy del exists unlink touch type rename renamenx dump restore
`

var handlers map[string]handler

func init() {
	handlers = map[string]handler{
		"substr": cmdSubstr, "ttl": cmdTTL, "pttl": cmdTTL, "expiretime": cmdTTL, "pexpiretime": cmdTTL, "persist": cmdPersist,
		"expire": cmdExpire, "pexpire": cmdExpire, "expireat": cmdExpire, "pexpireat": cmdExpire,

		"multi": cmdMulti, "exec": cmdExec, "discard": cmdDiscard, "watch": cmdWatch, "unwatch": cmdUnwatch,

		"blpop": cmdBlocking, "brpop": cmdBlocking, "blmove": cmdBlocking, "brpoplpush": cmdBlocking, "blmpop": cmdBlocking,
		"bzpopmin": cmdBlocking, "bzpopmax": cmdBlocking, "bzmpop": cmdBlocking, "xread": cmdXRead, "xreadgroup": cmdXRead,

		"eval": cmdEval, "eval_ro": cmdEval, "evalsha": cmdEval, "evalsha_ro": cmdEval,
		"script|load": cmdScriptLoad, "script|exists": cmdScriptExists, "script|flush": cmdScriptFlush, "script|kill": cmdScriptKill,

		"subscribe": cmdSubscribe, "unsubscribe": cmdUnsubscribe, "psubscribe": cmdSubscribe, "punsubscribe": cmdUnsubscribe,
		"publish": cmdPublish, "pubsub|channels": cmdPubsubChannels, "pubsub|numsub": cmdPubsubNumsub, "pubsub|numpat": cmdPubsubNumpat,

		"ping": cmdPing, "echo": func(x *call) { x.bulk(x.args[1]) }, "quit": cmdQuit, "reset": cmdReset, "select": cmdSelect,
		"auth": cmdAuth, "hello": cmdHello, "swapdb": cmdNotInCluster, "move": cmdNotInCluster,
		"client|id":   func(x *call) { x.int(x.c.id) },
		"client|info": func(x *call) { x.text(x.c.line(x.now) + "\n") },
		"client|list": cmdClientList, "client|kill": cmdClientKill, "client|setname": cmdClientSetName, "client|getname": cmdClientGetName,
		"client|setinfo": cmdClientSetInfo, "client|no-evict": cmdClientNoEvict, "client|no-touch": cmdClientNoTouch,
		"client|pause": cmdClientPause, "client|unpause": cmdClientUnpause, "client|unblock": cmdClientUnblock, "client|reply": cmdClientReply,
		"client|getredir": func(x *call) { x.int(-1) },

		"config|get": cmdConfigGet, "config|set": cmdConfigSet, "config|resetstat": cmdConfigResetStat,
		"config|rewrite": func(x *call) { x.err("ERR The server is running without a config file") },
		"info":           cmdInfo, "command": cmdCommand, "command|count": cmdCommandCount, "command|info": cmdCommandInfo,
		"command|getkeys": cmdCommandGetKeys, "command|list": cmdCommandList, "command|docs": cmdCommandDocs,
		"time": cmdTime, "wait": cmdWait, "role": cmdRole, "lastsave": func(x *call) { x.int(x.n.started.Unix()) },
		"dbsize": func(x *call) { x.int(int64(len(x.ds.keys))) }, "flushall": cmdFlush, "flushdb": cmdFlush,
		"keys": cmdKeys, "scan": cmdScan, "randomkey": cmdRandomKey, "debug": cmdDebug,
		"latency|latest": func(x *call) { x.array(0) }, "latency|history": func(x *call) { x.array(0) }, "latency|reset": func(x *call) { x.int(0) },
		"latency|doctor": func(x *call) { x.text(latencyDoctor) },
		"slowlog|get":    cmdSlowlogGet, "slowlog|len": func(x *call) { x.int(int64(len(x.n.slow.entries))) }, "slowlog|reset": cmdSlowlogReset,
		"memory|usage": cmdMemoryUsage, "memory|doctor": func(x *call) { x.text(memoryDoctor) }, "memory|purge": func(x *call) { x.ok() },
		"object|encoding": cmdObject, "object|refcount": cmdObject, "object|idletime": cmdObject, "object|freq": cmdObject,
		"module|list": func(x *call) { x.array(0) }, "function|list": func(x *call) { x.array(0) }, "acl|whoami": func(x *call) { x.bulk("default") },
		"acl|list": func(x *call) { x.bulks([]string{"user default on nopass ~* &* +@all"}) }, "acl|users": func(x *call) { x.bulks([]string{"default"}) },
		"replicaof": cmdNotInCluster, "slaveof": cmdNotInCluster, "shutdown": cmdShutdown,
		"readonly": func(x *call) { x.c.readonly = true; x.ok() }, "readwrite": func(x *call) { x.c.readonly = false; x.ok() },
		"asking": func(x *call) { x.c.asking = true; x.ok() },

		"cluster|slots": cmdClusterSlots, "cluster|shards": cmdClusterShards, "cluster|nodes": cmdClusterNodes, "cluster|info": cmdClusterInfo,
		"cluster|myid":    func(x *call) { x.bulk(x.n.id) },
		"cluster|keyslot": cmdClusterKeySlot, "cluster|countkeysinslot": cmdClusterCountKeys, "cluster|getkeysinslot": cmdClusterGetKeys,
		"cluster|setslot": cmdClusterSetSlot, "cluster|addslots": cmdClusterAddSlots, "cluster|delslots": cmdClusterAddSlots,
		"cluster|addslotsrange": cmdClusterAddSlots, "cluster|delslotsrange": cmdClusterAddSlots, "cluster|flushslots": cmdClusterFlushSlots,
		"cluster|failover": cmdClusterFailover, "cluster|replicas": cmdClusterReplicas, "cluster|slaves": cmdClusterReplicas,
		"cluster|replicate": cmdClusterReplicate, "cluster|links": cmdClusterLinks, "cluster|forget": cmdClusterForget, "cluster|meet": cmdClusterMeet,
		"cluster|reset": cmdClusterReset, "cluster|bumpepoch": cmdClusterBumpEpoch, "cluster|set-config-epoch": cmdClusterSetEpoch,
		"cluster|saveconfig": func(x *call) { x.ok() }, "cluster|count-failure-reports": cmdClusterFailureReports,
		"migrate": cmdMigrate,
	}
}

// bind gives every command of the table its handler.
func (t *commandTable) bind() {
	client := t.byName["client"]
	for _, name := range []string{"setinfo", "no-touch"} { // of Redis 7.2, which clients send unasked
		if client.subs[name] == nil {
			client.subs[name] = &command{name: "client|" + name, arity: map[string]int{"setinfo": 4, "no-touch": 3}[name], flags: flagNoScript, id: t.count}
			t.count++
		}
	}
	native := map[string]bool{}
	for _, name := range strings.Fields(natives) {
		native[name] = true
	}
	var bindOne func(c *command)
	bindOne = func(c *command) {
		c.native = native[c.name]
		switch {
		case c.native:
			c.run = runNative
		case handlers[c.name] != nil:
			c.run = handlers[c.name]
		default:
			c.run = notEmulated
		}
		for _, s := range c.subs {
			bindOne(s)
		}
	}
	for _, c := range t.byName {
		bindOne(c)
	}
}
