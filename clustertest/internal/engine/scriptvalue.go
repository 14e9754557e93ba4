package engine

import (
	"math"
	"math/bits"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

// toLua converts a reply for the script.
func (r *scriptRunner) toLua(raw []byte) lua.LValue {
	v, _, err := resp.Decode(raw)
	if err != nil {
		return lua.LFalse
	}
	return r.luaValue(v)
}

func (r *scriptRunner) luaValue(v resp.Value) lua.LValue {
	l := r.l
	if v.Null {
		if r.proto == 3 {
			return lua.LNil
		}
		return lua.LFalse
	}
	switch v.Kind {
	case ':':
		return lua.LNumber(v.Int())
	case '+':
		return oneField(l, "ok", v.Str)
	case '-':
		return oneField(l, "err", v.Str)
	case '#':
		return lua.LBool(v.Str == "t")
	case ',':
		f, _ := strconv.ParseFloat(v.Str, 64)
		t := l.NewTable()
		t.RawSetString("double", lua.LNumber(f))
		return t
	case '*', '>':
		t := l.CreateTable(len(v.Elems), 0)
		for i, e := range v.Elems {
			t.RawSetInt(i+1, r.luaValue(e))
		}
		return t
	case '%', '~':
		inner := l.NewTable()
		name, step := "set", 1
		if v.Kind == '%' {
			name, step = "map", 2
		}
		for i := 0; i+step <= len(v.Elems); i += step {
			val := lua.LValue(lua.LTrue)
			if step == 2 {
				val = r.luaValue(v.Elems[i+1])
			}
			inner.RawSet(r.luaValue(v.Elems[i]), val)
		}
		t := l.NewTable()
		t.RawSetString(name, inner)
		return t
	}
	return lua.LString(v.Str)
}

// reply converts what the script returned.
func (r *scriptRunner) reply(b []byte, v lua.LValue, proto, depth int) []byte {
	if depth > 50 {
		return resp.AppendError(b, "ERR reached lua stack limit")
	}
	switch t := v.(type) {
	case lua.LString:
		return resp.AppendBulk(b, string(t))
	case lua.LNumber:
		return resp.AppendInt(b, int64(t))
	case lua.LBool:
		switch {
		case r.proto == 3 && proto == 3:
			return resp.AppendBool(b, bool(t), proto)
		case bool(t):
			return resp.AppendInt(b, 1)
		}
		return resp.AppendNull(b, proto)
	case *lua.LTable:
		return r.replyTable(b, t, proto, depth)
	}
	return resp.AppendNull(b, proto)
}

func (r *scriptRunner) replyTable(b []byte, t *lua.LTable, proto, depth int) []byte {
	if e := t.RawGetString("err"); e.Type() == lua.LTString {
		return resp.AppendError(b, e.String())
	}
	if e := t.RawGetString("ok"); e.Type() == lua.LTString {
		return resp.AppendSimple(b, e.String())
	}
	if e, ok := t.RawGetString("double").(lua.LNumber); ok {
		return resp.AppendDouble(b, float64(e), proto)
	}
	if m, ok := t.RawGetString("map").(*lua.LTable); ok {
		n := 0
		m.ForEach(func(_, _ lua.LValue) { n++ })
		b = resp.AppendMap(b, n, proto)
		m.ForEach(func(k, v lua.LValue) {
			b = r.reply(b, k, proto, depth+1)
			b = r.reply(b, v, proto, depth+1)
		})
		return b
	}
	if m, ok := t.RawGetString("set").(*lua.LTable); ok {
		n := 0
		m.ForEach(func(_, _ lua.LValue) { n++ })
		b = resp.AppendSet(b, n, proto)
		m.ForEach(func(k, _ lua.LValue) { b = r.reply(b, k, proto, depth+1) })
		return b
	}
	n := 0
	for t.RawGetInt(n+1) != lua.LNil {
		n++
	}
	b = resp.AppendArray(b, n)
	for i := range n {
		b = r.reply(b, t.RawGetInt(i+1), proto, depth+1)
	}
	return b
}

// bitLibrary is the part of Lua BitOp that scripts use.
var bitLibrary = map[string]lua.LGFunction{
	"tobit":   func(l *lua.LState) int { return pushBit(l, bitArg(l, 1)) },
	"bnot":    func(l *lua.LState) int { return pushBit(l, ^bitArg(l, 1)) },
	"band":    bitFold(func(a, b uint32) uint32 { return a & b }),
	"bor":     bitFold(func(a, b uint32) uint32 { return a | b }),
	"bxor":    bitFold(func(a, b uint32) uint32 { return a ^ b }),
	"lshift":  func(l *lua.LState) int { return pushBit(l, bitArg(l, 1)<<(bitArg(l, 2)&31)) },
	"rshift":  func(l *lua.LState) int { return pushBit(l, bitArg(l, 1)>>(bitArg(l, 2)&31)) },
	"arshift": func(l *lua.LState) int { return pushBit(l, uint32(int32(bitArg(l, 1))>>(bitArg(l, 2)&31))) },
	"rol":     func(l *lua.LState) int { return pushBit(l, bits.RotateLeft32(bitArg(l, 1), int(bitArg(l, 2)&31))) },
	"ror":     func(l *lua.LState) int { return pushBit(l, bits.RotateLeft32(bitArg(l, 1), -int(bitArg(l, 2)&31))) },
	"bswap":   func(l *lua.LState) int { return pushBit(l, bits.ReverseBytes32(bitArg(l, 1))) },
	"tohex": func(l *lua.LState) int {
		s := strconv.FormatUint(uint64(bitArg(l, 1))|1<<32, 16)[1:]
		if n := l.OptInt(2, 8); n < 8 && n > 0 {
			s = s[8-n:]
		}
		l.Push(lua.LString(s))
		return 1
	},
}

func bitArg(l *lua.LState, i int) uint32 {
	return uint32(int64(math.RoundToEven(math.Mod(float64(l.CheckNumber(i)), 1<<32))))
}

func pushBit(l *lua.LState, v uint32) int {
	l.Push(lua.LNumber(int32(v)))
	return 1
}

func bitFold(f func(a, b uint32) uint32) lua.LGFunction {
	return func(l *lua.LState) int {
		v := bitArg(l, 1)
		for i := 2; i <= l.GetTop(); i++ {
			v = f(v, bitArg(l, i))
		}
		return pushBit(l, v)
	}
}
