package engine

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"strings"
	"sync"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

//go:generate go run gen.go

//go:embed recorded/command.resp3.gz
var recordedCommands []byte

type commandFlags uint16

const (
	flagWrite commandFlags = 1 << iota
	flagReadonly
	flagNoScript
	flagPubSub
	flagNoMulti
	flagMovable
	flagBlocking
	flagNoAuth
	flagDenyOOM
	flagMayReplicate
)

var flagNames = map[string]commandFlags{
	"write": flagWrite, "readonly": flagReadonly, "noscript": flagNoScript, "pubsub": flagPubSub,
	"no_multi": flagNoMulti, "movablekeys": flagMovable, "blocking": flagBlocking,
	"no_auth": flagNoAuth, "denyoom": flagDenyOOM, "may_replicate": flagMayReplicate,
}

// A command is one entry of the table, or a subcommand.
type command struct {
	name   string // lower case, subcommands as "config|get"
	arity  int
	flags  commandFlags
	specs  []keySpec
	subs   map[string]*command
	id     int // index of its counters
	value  resp.Value
	run    handler
	native bool // the data engine runs it as it is
}

// A keySpec says where a command names keys.
type keySpec struct {
	write   bool
	unknown bool
	// begin: an index, or a keyword searched from an index.
	index   int
	keyword string
	from    int
	// find: a range, or a number of keys.
	numKeys                   bool
	last, step, limit         int
	numIdx, firstKey, numStep int
}

type commandTable struct {
	byName map[string]*command
	count  int // with subcommands
	raw    [4][]byte
	order  []*command
}

var table = sync.OnceValue(func() *commandTable {
	zr, err := gzip.NewReader(bytes.NewReader(recordedCommands))
	if err != nil {
		panic("clustertest: recorded commands: " + err.Error())
	}
	raw, err := io.ReadAll(zr)
	if err != nil {
		panic("clustertest: recorded commands: " + err.Error())
	}
	list, _, err := resp.Decode(raw)
	if err != nil {
		panic("clustertest: recorded commands: " + err.Error())
	}
	t := &commandTable{byName: make(map[string]*command, len(list.Elems))}
	t.raw[3] = raw
	t.raw[2] = appendValue(nil, list, 2)
	for _, v := range list.Elems {
		c := t.add(v)
		t.byName[c.name] = c
		t.order = append(t.order, c)
	}
	t.bind()
	return t
})

func (t *commandTable) add(v resp.Value) *command {
	c := &command{name: v.Elems[0].Str, arity: int(v.Elems[1].Int()), id: t.count, value: v}
	t.count++
	for _, f := range v.Elems[2].Elems {
		c.flags |= flagNames[f.Str]
	}
	for _, s := range v.Elems[8].Elems {
		c.specs = append(c.specs, parseKeySpec(s))
	}
	if subs := v.Elems[9].Elems; len(subs) > 0 {
		c.subs = make(map[string]*command, len(subs))
		for _, sv := range subs {
			s := t.add(sv)
			_, short, _ := strings.Cut(s.name, "|")
			c.subs[short] = s
		}
	}
	return c
}

func parseKeySpec(v resp.Value) keySpec {
	var s keySpec
	for name, val := range pairs(v) {
		switch name {
		case "flags":
			for _, f := range val.Elems {
				switch f.Str {
				case "RW", "OW", "RM":
					s.write = true
				case "not_key":
					s.unknown = true
				}
			}
		case "begin_search":
			m := toMap(val)
			spec := toMap(m["spec"])
			switch m["type"].Str {
			case "index":
				s.index = int(spec["index"].Int())
			case "keyword":
				s.keyword, s.from = spec["keyword"].Str, int(spec["startfrom"].Int())
			default:
				s.unknown = true
			}
		case "find_keys":
			m := toMap(val)
			spec := toMap(m["spec"])
			switch m["type"].Str {
			case "range":
				s.last, s.step, s.limit = int(spec["lastkey"].Int()), int(spec["keystep"].Int()), int(spec["limit"].Int())
			case "keynum":
				s.numKeys = true
				s.numIdx, s.firstKey, s.numStep = int(spec["keynumidx"].Int()), int(spec["firstkey"].Int()), int(spec["keystep"].Int())
			default:
				s.unknown = true
			}
		}
	}
	return s
}

func toMap(v resp.Value) map[string]resp.Value {
	m := make(map[string]resp.Value, len(v.Elems)/2)
	for k, val := range pairs(v) {
		m[k] = val
	}
	return m
}

// pairs ranges over a map, or over an array of alternating keys and values.
func pairs(v resp.Value) func(yield func(string, resp.Value) bool) {
	return func(yield func(string, resp.Value) bool) {
		for i := 0; i+1 < len(v.Elems); i += 2 {
			if !yield(v.Elems[i].Str, v.Elems[i+1]) {
				return
			}
		}
	}
}

// appendValue writes a decoded reply again, for the given protocol.
func appendValue(b []byte, v resp.Value, proto int) []byte {
	switch v.Kind {
	case '*', '~', '%', '>':
		if v.Null {
			return resp.AppendNullArray(b, proto)
		}
		switch v.Kind {
		case '~':
			b = resp.AppendSet(b, len(v.Elems), proto)
		case '%':
			b = resp.AppendMap(b, len(v.Elems)/2, proto)
		case '>':
			b = resp.AppendPush(b, len(v.Elems), proto)
		default:
			b = resp.AppendArray(b, len(v.Elems))
		}
		for _, e := range v.Elems {
			b = appendValue(b, e, proto)
		}
		return b
	case '+':
		return resp.AppendSimple(b, v.Str)
	case '-':
		return resp.AppendError(b, v.Str)
	case ':':
		return resp.AppendInt(b, v.Int())
	case '$':
		if v.Null {
			return resp.AppendNull(b, proto)
		}
		return resp.AppendBulk(b, v.Str)
	case '_':
		return resp.AppendNull(b, proto)
	}
	return resp.AppendBulk(b, v.Str)
}

// lookup finds the command, or the subcommand, that args name. parent is set
// when the container exists but the subcommand does not.
func (t *commandTable) lookup(args []string) (cmd, parent *command) {
	c := t.byName[args[0]]
	if c == nil {
		c = t.byName[strings.ToLower(args[0])]
	}
	if c == nil || c.subs == nil || len(args) == 1 {
		return c, nil
	}
	if s := c.subs[strings.ToLower(args[1])]; s != nil {
		return s, nil
	}
	return nil, c
}

// arityOK reports whether the number of arguments fits.
func (c *command) arityOK(args []string) bool {
	return c.arity == 0 || c.arity > 0 && len(args) == c.arity || c.arity < 0 && len(args) >= -c.arity
}
