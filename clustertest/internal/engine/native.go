package engine

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

// strict refuses what the data engine lets pass and Redis does not.
func strict(x *call) string {
	switch x.cmd.name {
	case "set":
		if hasOption(x.args[3:], "NX") && hasOption(x.args[3:], "XX") {
			return "ERR syntax error"
		}
		if hasOption(x.args[3:], "KEEPTTL") && slices.ContainsFunc(x.args[3:], func(a string) bool { return isOption(a, "EX", "PX", "EXAT", "PXAT") }) {
			return "ERR syntax error"
		}
	case "lpop", "rpop":
		if len(x.args) == 3 && strings.HasPrefix(x.args[2], "-") && isNumber(x.args[2]) {
			return "ERR value is out of range, must be positive"
		}
	case "bitpos":
		if isNumber(x.args[2]) && x.args[2] != "0" && x.args[2] != "1" {
			return "ERR The bit argument must be 1 or 0."
		}
	case "zadd", "zincrby":
		return strictScores(x)
	case "sdiffstore", "sinterstore", "sunionstore", "zinterstore", "zunionstore":
		return strictCombine(x)
	case "mset", "msetnx":
		if len(x.args)%2 == 0 {
			return "ERR wrong number of arguments for '" + x.cmd.name + "' command"
		}
	case "copy":
		for i, a := range x.args[3:] {
			if strings.EqualFold(a, "DB") && i+4 < len(x.args) && x.args[i+4] != "0" {
				return "ERR Copying to another database is not allowed in cluster mode"
			}
		}
	}
	return ""
}

// combines are the commands that store a combination of sets.
var combines = map[string]bool{
	"sdiffstore": true, "sinterstore": true, "sunionstore": true, "zinterstore": true, "zunionstore": true,
}

const wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"

// allOfType reports whether the keys that exist are of one of the types.
func (x *call) allOfType(keys []string, types ...string) bool {
	for _, key := range keys {
		if kind := x.ds.value("TYPE", key).Str; kind != "none" && !slices.Contains(types, kind) {
			return false
		}
	}
	return true
}

// strictCombine refuses sources of another type, for which the data engine
// removes the destination first.
func strictCombine(x *call) string {
	types := []string{"set"}
	if x.cmd.name[0] == 'z' {
		types = append(types, "zset")
	}
	if keys := x.cmd.keys(nil, x.args); len(keys) > 0 && !x.allOfType(keys[1:], types...) {
		return wrongType
	}
	return ""
}

// strictScores refuses what is no score.
func strictScores(x *call) string {
	i := 2
	for x.cmd.name == "zadd" && i < len(x.args) && isOption(x.args[i], "NX", "XX", "GT", "LT", "CH", "INCR") {
		i++
	}
	if options := x.args[2:i]; hasOption(options, "NX") && hasOption(options, "XX") && i < len(x.args) && (len(x.args)-i)%2 == 0 {
		return "ERR XX and NX options at the same time are not compatible"
	}
	for ; i < len(x.args); i += 2 {
		if f, err := strconv.ParseFloat(x.args[i], 64); err == nil && math.IsNaN(f) {
			return "ERR value is not a valid float"
		}
	}
	return ""
}

func isOption(arg string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(arg, name) })
}

// native runs the command in the data engine, in words that it gets right.
func (x *call) native() []byte {
	args, proto := x.args, x.proto
	switch x.cmd.name {
	case "zscan":
		proto = 2 // RESP3 has the scores as strings, too
	case "getrange":
		args = emptyRange(args)
	case "bitcount":
		if len(args) == 5 && strings.EqualFold(args[4], "BYTE") {
			args = args[:4] // the default
		}
		if len(args) >= 4 {
			args = emptyRange(args)
		}
	case "setrange":
		if n, err := strconv.Atoi(args[2]); err == nil && n >= 0 && args[3] == "" {
			args = []string{"STRLEN", args[1]}
		}
	}
	return x.ds.raw(proto, args...)
}

// emptyRange replaces a range that ends before it begins.
func emptyRange(args []string) []string {
	first, err1 := strconv.Atoi(args[2])
	last, err2 := strconv.Atoi(args[3])
	if err1 == nil && err2 == nil && last < 0 && first > last && first < 0 {
		return append([]string{args[0], args[1], "1", "0"}, args[4:]...)
	}
	return args
}

// appendNative appends a reply of the data engine in the form that Redis 7.0
// gives it.
func (x *call) appendNative(b, reply []byte) []byte {
	if rest, ok := bytes.CutPrefix(reply, []byte("-ERR invalid expire time in ")); ok && rest[0] != '\'' {
		return resp.AppendError(b, "ERR invalid expire time in '"+x.cmd.name+"' command")
	}
	if x.proto != 3 || reply[0] != '*' {
		return append(b, reply...)
	}
	if string(reply) == nullArray {
		return resp.AppendNull(b, 3)
	}
	switch name := x.cmd.name; {
	case name == "sdiff" || name == "sinter" || name == "sunion":
		return append(append(b, '~'), reply[1:]...)
	case name == "geopos":
		return append(b, bytes.ReplaceAll(reply, []byte(nullArray), []byte("_\r\n"))...) // numbers besides
	case name == "xread" || name == "xreadgroup":
		return appendStreams(b, reply)
	case name[0] == 'z' && hasOption(x.args, "WITHSCORES"),
		(name == "zpopmin" || name == "zpopmax") && len(x.args) > 2,
		name == "hrandfield" && hasOption(x.args, "WITHVALUES"):
		return appendPairs(b, reply)
	}
	return append(b, reply...)
}

// nullArray is what the data engine says for nothing, in RESP3 too.
const nullArray = "*-1\r\n"

// appendPairs nests a flat list into pairs, which RESP3 wants.
func appendPairs(b, reply []byte) []byte {
	v, _, err := resp.Decode(reply)
	if err != nil || len(v.Elems)%2 != 0 || len(v.Elems) > 0 && v.Elems[0].Kind == '*' {
		return append(b, reply...)
	}
	b = resp.AppendArray(b, len(v.Elems)/2)
	at := bytes.IndexByte(reply, '\n') + 1
	for range len(v.Elems) / 2 {
		b = resp.AppendArray(b, 2)
		for range 2 {
			_, n, _ := resp.Decode(reply[at:])
			b = append(b, reply[at:at+n]...)
			at += n
		}
	}
	return b
}

// appendStreams makes a list of (stream, entries) a map, which RESP3 wants.
func appendStreams(b, reply []byte) []byte {
	v, _, err := resp.Decode(reply)
	if err != nil || v.Null {
		return append(b, reply...)
	}
	b = resp.AppendMap(b, len(v.Elems), 3)
	for _, s := range v.Elems {
		for _, e := range s.Elems {
			b = appendValue(b, e, 3)
		}
	}
	return b
}

// cmdSubstr is the old name of GETRANGE.
func cmdSubstr(x *call) {
	x.out = append(x.out, x.ds.raw(x.proto, emptyRange(append([]string{"GETRANGE"}, x.args[1:]...))...)...)
}
