package hashtag

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// keyRule says which arguments of a command are keys. Argument 0 is the name.
type keyRule struct {
	first, last, step int // last -1 is the last argument
	count             int // the argument that holds the number of keys from first on; 0 for none
}

var allKeys = keyRule{first: 1, last: -1, step: 1}

// keyRules are the commands whose keys are not just the first argument. What
// is missing here is still refused by the server, before the transaction runs.
var keyRules = map[string]keyRule{
	"del": allKeys, "unlink": allKeys, "exists": allKeys, "touch": allKeys, "mget": allKeys,
	"sinter": allKeys, "sunion": allKeys, "sdiff": allKeys, "sinterstore": allKeys, "sunionstore": allKeys,
	"sdiffstore": allKeys, "pfcount": allKeys, "pfmerge": allKeys,
	"mset": {first: 1, last: -1, step: 2}, "msetnx": {first: 1, last: -1, step: 2},
	"rename": {first: 1, last: 2, step: 1}, "renamenx": {first: 1, last: 2, step: 1}, "copy": {first: 1, last: 2, step: 1},
	"smove": {first: 1, last: 2, step: 1}, "rpoplpush": {first: 1, last: 2, step: 1}, "lmove": {first: 1, last: 2, step: 1},
	"brpoplpush": {first: 1, last: 2, step: 1}, "blmove": {first: 1, last: 2, step: 1},
	"geosearchstore": {first: 1, last: 2, step: 1}, "zrangestore": {first: 1, last: 2, step: 1}, "lcs": {first: 1, last: 2, step: 1},
	"bitop": {first: 2, last: -1, step: 1},
	"eval":  {first: 3, count: 2}, "evalsha": {first: 3, count: 2}, "eval_ro": {first: 3, count: 2}, "evalsha_ro": {first: 3, count: 2},
	"fcall": {first: 3, count: 2}, "fcall_ro": {first: 3, count: 2},
	"zunion": {first: 2, count: 1}, "zinter": {first: 2, count: 1}, "zdiff": {first: 2, count: 1}, "zintercard": {first: 2, count: 1},
	"sintercard": {first: 2, count: 1}, "lmpop": {first: 2, count: 1}, "zmpop": {first: 2, count: 1},
	"zunionstore": {first: 3, count: 2}, "zinterstore": {first: 3, count: 2}, "zdiffstore": {first: 3, count: 2},
	"object": {first: 2, last: 2, step: 1}, "memory": {first: 2, last: 2, step: 1},
	"xgroup": {first: 2, last: 2, step: 1}, "xinfo": {first: 2, last: 2, step: 1},
	"xread": {}, "xreadgroup": {}, // the server looks at these
	"ping": {}, "echo": {}, "publish": {}, "time": {}, "script": {}, "function": {}, "config": {}, "client": {},
	"info": {}, "dbsize": {}, "randomkey": {}, "keys": {}, "scan": {}, "wait": {}, "select": {}, "command": {}, "cluster": {},
}

// destFirst are the commands with a count that name a destination before it.
var destFirst = map[string]bool{"zunionstore": true, "zinterstore": true, "zdiffstore": true}

// keysOf are the keys that a command names, as far as keyRules knows.
func keysOf(cmd redis.Cmder) []string {
	args := cmd.Args()
	arg := func(i int) string {
		s, _ := encode(args[i]) // go-redis will say what it cannot encode
		return s
	}
	name := strings.ToLower(cmd.Name())
	rule, known := keyRules[name]
	if !known {
		rule = keyRule{first: 1, last: 1, step: 1}
	}
	if rule.first == 0 || len(args) <= rule.first && rule.count == 0 {
		return nil
	}
	var keys []string
	if rule.count > 0 {
		if len(args) <= rule.count {
			return nil
		}
		n, err := strconv.Atoi(arg(rule.count))
		if err != nil || n < 0 {
			return nil
		}
		rule.last, rule.step = rule.first+n-1, 1
		if destFirst[name] {
			keys = append(keys, arg(1))
		}
	}
	if rule.last < 0 || rule.last >= len(args) {
		rule.last = len(args) - 1
	}
	for i := rule.first; i <= rule.last; i += rule.step {
		keys = append(keys, arg(i))
	}
	return keys
}

// checkSlots returns an error when a command names a key outside the slot, or
// would end the transaction before its time.
func checkSlots(tag string, cmds []redis.Cmder) error {
	slot := Slot(tag)
	for i, cmd := range cmds {
		switch name := strings.ToLower(cmd.Name()); name {
		case "multi", "exec", "discard", "watch":
			return fmt.Errorf("command %d, %s, cannot be queued: Tx sends MULTI and EXEC itself, and Watch watches keys", i+1, name)
		}
		for _, key := range keysOf(cmd) {
			if s := Slot(key); s != slot {
				return fmt.Errorf("command %d, %s, names key %q in slot %d, and the transaction is in slot %d of %q: build the key with Key: %w",
					i+1, cmd.Name(), key, s, slot, tag, redis.ErrCrossSlot)
			}
		}
	}
	return nil
}

// A queueOnly is a pipeline that is not executed by the function that fills
// it: what it would send has not been checked, and might be sent twice.
type queueOnly struct{ redis.Pipeliner }

var errQueueOnly = errors.New("the function of Tx queues commands, Tx executes them when it has returned")

func (queueOnly) Exec(context.Context) ([]redis.Cmder, error) { return nil, errQueueOnly }

func (queueOnly) Pipelined(context.Context, func(redis.Pipeliner) error) ([]redis.Cmder, error) {
	return nil, errQueueOnly
}

func (queueOnly) TxPipelined(context.Context, func(redis.Pipeliner) error) ([]redis.Cmder, error) {
	return nil, errQueueOnly
}

func (q queueOnly) Pipeline() redis.Pipeliner   { return q }
func (q queueOnly) TxPipeline() redis.Pipeliner { return q }
