package engine

import (
	"bytes"
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

// appendNative appends a reply of the data engine in the form that Redis 7.0
// gives it.
func (x *call) appendNative(b, reply []byte) []byte {
	if rest, ok := bytes.CutPrefix(reply, []byte("-ERR invalid expire time in ")); ok && rest[0] != '\'' {
		return resp.AppendError(b, "ERR invalid expire time in '"+x.cmd.name+"' command")
	}
	if x.proto != 3 || reply[0] != '*' {
		return append(b, reply...)
	}
	switch name := x.cmd.name; {
	case name == "xread" || name == "xreadgroup":
		return appendStreams(b, reply)
	case name[0] == 'z' && hasOption(x.args, "WITHSCORES"),
		(name == "zpopmin" || name == "zpopmax") && len(x.args) > 2,
		name == "hrandfield" && hasOption(x.args, "WITHVALUES"):
		return appendPairs(b, reply)
	}
	return append(b, reply...)
}

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
	x.out = append(x.out, x.ds.raw(x.proto, append([]string{"GETRANGE"}, x.args[1:]...)...)...)
}
