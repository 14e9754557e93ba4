package engine

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// A scriptRunner runs the Lua scripts of all nodes in one interpreter, which
// is started at the first script. Cluster.mu guards it.
type scriptRunner struct {
	l        *lua.LState
	compiled map[string]*lua.LFunction
	x        *call // the EVAL that runs
	sha      string
	proto    int // redis.setresp
	readOnly bool
	// lastErr is the last error of redis.call, which was counted already.
	lastErr string
}

func newScriptRunner() *scriptRunner { return &scriptRunner{} }

func (r *scriptRunner) close() {
	if r.l != nil {
		r.l.Close()
	}
}

// open starts the interpreter with the libraries that Redis offers.
func (r *scriptRunner) open() {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	r.l, r.compiled = l, map[string]*lua.LFunction{}
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
		lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	l.Push(l.NewFunction(luajson.Loader))
	l.Call(0, 1)
	l.SetGlobal("cjson", l.Get(-1))
	l.Pop(1)
	// A caught error of redis.call is its text, as in Redis.
	pcall := l.G.Global.RawGetString("pcall")
	l.G.Global.RawSetString("pcall", l.NewFunction(func(l *lua.LState) int {
		n := l.GetTop()
		l.Insert(pcall, 1)
		l.Call(n, lua.MultRet)
		if l.Get(1) == lua.LFalse {
			if t, ok := l.Get(2).(*lua.LTable); ok && t.RawGetString("err") != lua.LNil {
				l.Replace(2, t.RawGetString("err"))
			}
		}
		return l.GetTop()
	}))
	l.SetGlobal("redis", r.library())
	l.SetGlobal("bit", l.SetFuncs(l.NewTable(), bitLibrary))
	l.SetGlobal("os", l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{
		"clock": func(l *lua.LState) int { l.Push(lua.LNumber(float64(r.x.now.UnixNano()) / 1e9)); return 1 },
	}))
	for _, name := range []string{"print", "dofile", "loadfile", "require", "module", "newproxy", "_printregs", "collectgarbage"} {
		l.G.Global.RawSetString(name, lua.LNil)
	}
	l.SetGlobal("KEYS", l.NewTable())
	l.SetGlobal("ARGV", l.NewTable())
	meta := l.NewTable()
	meta.RawSetString("__newindex", l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Attempt to modify a readonly table")
		return 0
	}))
	meta.RawSetString("__index", l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.ToString(2))
		return 0
	}))
	l.SetMetatable(l.G.Global, meta)
}

// library is the table "redis".
func (r *scriptRunner) library() *lua.LTable {
	l := r.l
	redis := l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{
		"call":  func(l *lua.LState) int { return r.call(true) },
		"pcall": func(l *lua.LState) int { return r.call(false) },
		"error_reply": func(l *lua.LState) int {
			msg := strings.TrimPrefix(l.CheckString(1), "-")
			if !strings.Contains(msg, " ") {
				msg = "ERR " + msg
			}
			l.Push(oneField(l, "err", msg))
			return 1
		},
		"status_reply":       func(l *lua.LState) int { l.Push(oneField(l, "ok", l.CheckString(1))); return 1 },
		"sha1hex":            func(l *lua.LState) int { l.Push(lua.LString(sha1Hex(l.CheckString(1)))); return 1 },
		"log":                func(l *lua.LState) int { return 0 },
		"set_repl":           func(l *lua.LState) int { return 0 },
		"breakpoint":         func(l *lua.LState) int { l.Push(lua.LFalse); return 1 },
		"replicate_commands": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 },
		"setresp": func(l *lua.LState) int {
			if r.proto = l.CheckInt(1); r.proto != 2 && r.proto != 3 {
				l.RaiseError("RESP version must be 2 or 3.")
			}
			return 0
		},
	})
	for name, v := range map[string]int{"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3,
		"REPL_NONE": 0, "REPL_SLAVE": 1, "REPL_REPLICA": 1, "REPL_AOF": 2, "REPL_ALL": 3} {
		redis.RawSetString(name, lua.LNumber(v))
	}
	return redis
}

func oneField(l *lua.LState, name, value string) *lua.LTable {
	t := l.NewTable()
	t.RawSetString(name, lua.LString(value))
	return t
}

func sha1Hex(s string) string {
	h := sha1.Sum([]byte(s))
	return hex.EncodeToString(h[:])
}

var parsePlace = regexp.MustCompile(`^\S+ line:(\d+)\(column:\d+\) near ('.*?'):\s*(.*)`)

// compile returns the function of a script, or the error that Redis answers.
func (r *scriptRunner) compile(sha, body string) (*lua.LFunction, string) {
	if r.l == nil {
		r.open()
	}
	if f := r.compiled[sha]; f != nil {
		return f, ""
	}
	if strings.HasPrefix(body, "#!") {
		body = "--" + body
	}
	fail := func(err error) string {
		msg := strings.TrimSpace(err.Error())
		if strings.HasPrefix(msg, "user_script at EOF") {
			msg = "user_script:" + strconv.Itoa(1+strings.Count(body, "\n")) + ": unexpected symbol near '<eof>'"
		}
		if m := parsePlace.FindStringSubmatch(msg); m != nil {
			msg = "user_script:" + m[1] + ": " + m[3] + " near " + m[2]
		}
		return "ERR Error compiling script (new function): " + msg
	}
	chunk, err := parse.Parse(strings.NewReader(body), "user_script")
	if err != nil {
		return nil, fail(err)
	}
	proto, err := lua.Compile(chunk, "user_script")
	if err != nil {
		return nil, fail(err)
	}
	f := r.l.NewFunctionFromProto(proto)
	r.compiled[sha] = f
	return f, ""
}

// cmdEval is EVAL, EVALSHA and their read-only forms.
func cmdEval(x *call) {
	count, err := strconv.Atoi(x.args[2])
	switch {
	case err != nil:
		x.err("ERR value is not an integer or out of range")
		return
	case count > len(x.args)-3:
		x.err("ERR Number of keys can't be greater than number of args")
		return
	case count < 0:
		x.err("ERR Number of keys can't be negative")
		return
	}
	r := x.n.c.script
	body := x.args[1]
	sha := ""
	if strings.HasPrefix(x.cmd.name, "evalsha") {
		sha = strings.ToLower(body)
		known, ok := x.n.scripts[sha]
		if !ok {
			x.err("NOSCRIPT No matching script. Please use EVAL.")
			return
		}
		body = known
	} else {
		sha = sha1Hex(body)
	}
	f, msg := r.compile(sha, body)
	if f == nil {
		x.err(msg)
		return
	}
	x.n.scripts[sha] = body
	r.run(x, f, sha, x.args[3:3+count], x.args[3+count:])
}

func (r *scriptRunner) run(x *call, f *lua.LFunction, sha string, keys, argv []string) {
	l := r.l
	r.x, r.sha, r.proto, r.lastErr = x, sha, 2, ""
	r.readOnly = strings.HasSuffix(x.cmd.name, "_ro")
	l.G.Global.RawSetString("KEYS", stringTable(l, keys))
	l.G.Global.RawSetString("ARGV", stringTable(l, argv))
	l.SetTop(0)
	l.Push(f)
	err := l.PCall(0, 1, nil)
	if err == nil {
		v := l.Get(-1)
		x.out = r.reply(x.out, v, x.proto, 0)
		if t, ok := v.(*lua.LTable); ok {
			x.counted = t.RawGetString("ignore_error_stats_update") == lua.LTrue
		}
	} else {
		r.failed(x, err)
	}
	l.SetTop(0)
	r.x = nil
}

var errorLine = regexp.MustCompile(`^user_script:(\d+):`)

// failed answers an error that the script did not catch.
func (r *scriptRunner) failed(x *call, err error) {
	msg, line := err.Error(), "1"
	var api *lua.ApiError
	if errors.As(err, &api) {
		switch o := api.Object.(type) {
		case *lua.LTable:
			msg = lua.LVAsString(o.RawGetString("err"))
			if l := o.RawGetString("line"); l != lua.LNil {
				line = l.String()
			}
			x.counted = msg == r.lastErr
		case lua.LString:
			msg = string(o)
			if m := errorLine.FindStringSubmatch(msg); m != nil {
				line = m[1]
			}
			msg = "ERR " + msg
		}
	}
	x.err(msg + " script: " + r.sha + ", on @user_script:" + line + ".")
}

func stringTable(l *lua.LState, list []string) *lua.LTable {
	t := l.CreateTable(len(list), 0)
	for _, s := range list {
		t.Append(lua.LString(s))
	}
	return t
}

// call is redis.call and redis.pcall.
func (r *scriptRunner) call(raise bool) int {
	l := r.l
	args := make([]string, 0, l.GetTop())
	for i := 1; i <= l.GetTop(); i++ {
		switch v := l.Get(i).(type) {
		case lua.LString:
			args = append(args, string(v))
		case lua.LNumber:
			args = append(args, formatLuaNumber(float64(v)))
		default:
			return r.raise(raise, "ERR Lua redis lib command arguments must be strings or integers", false)
		}
	}
	if len(args) == 0 {
		return r.raise(raise, "ERR Please specify at least one argument for this redis lib call", false)
	}
	cmd, why := r.allow(args)
	if why != "" {
		return r.raise(raise, why, false)
	}
	inner := r.x.invokeInner(cmd, args, call{proto: r.proto, inScript: true})
	v := r.toLua(inner.out)
	if t, ok := v.(*lua.LTable); ok {
		if e := t.RawGetString("err"); e != lua.LNil && len(inner.out) > 0 && inner.out[0] == '-' {
			return r.raise(raise, e.String(), true)
		}
	}
	l.Push(v)
	return 1
}

// allow checks what Redis checks before a script's command runs.
func (r *scriptRunner) allow(args []string) (*command, string) {
	cmd, _ := table().lookup(args)
	n, c := r.x.n, r.x.c
	switch {
	case cmd == nil:
		return nil, "ERR Unknown Redis command called from script"
	case !cmd.arityOK(args):
		return nil, "ERR Wrong number of args calling Redis command from script"
	case cmd.flags&flagNoScript != 0:
		return nil, "ERR This Redis command is not allowed from script"
	case cmd.flags&flagWrite != 0 && r.readOnly:
		return nil, "ERR Write commands are not allowed from read-only scripts."
	case cmd.flags&flagWrite != 0 && n.isReplica() && n.conf.replicaRO && n.frozen == nil:
		return nil, "READONLY You can't write against a read only replica."
	}
	q := request{keys: cmd.keys(nil, args), write: cmd.flags&flagWrite != 0}
	if to := n.route(q, c.asking, c.readonly); to != "" {
		switch to {
		case errDownState:
			return nil, "ERR Script attempted to access a slot not served"
		case errCrossSlot:
			return nil, "ERR Script attempted to access keys that do not hash to the same slot"
		}
		return nil, "ERR Script attempted to access a non local key in a cluster node"
	}
	return cmd, ""
}

// raise throws an error (redis.call) or returns it (redis.pcall).
func (r *scriptRunner) raise(raise bool, msg string, counted bool) int {
	if counted {
		r.lastErr = msg
	}
	t := oneField(r.l, "err", msg)
	t.RawSetString("ignore_error_stats_update", lua.LBool(counted))
	if !raise {
		r.l.Push(t)
		return 1
	}
	if m := errorLine.FindStringSubmatch(r.l.Where(1)); m != nil {
		t.RawSetString("line", lua.LString(m[1]))
	}
	r.l.Error(t, 1)
	return 0
}

func formatLuaNumber(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e17 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

func cmdScriptLoad(x *call) {
	sha := sha1Hex(x.args[2])
	if f, msg := x.n.c.script.compile(sha, x.args[2]); f == nil {
		x.err(msg)
		return
	}
	x.n.scripts[sha] = x.args[2]
	x.bulk(sha)
}

func cmdScriptExists(x *call) {
	x.array(len(x.args) - 2)
	for _, sha := range x.args[2:] {
		if _, ok := x.n.scripts[strings.ToLower(sha)]; ok {
			x.int(1)
		} else {
			x.int(0)
		}
	}
}

func cmdScriptFlush(x *call) {
	if len(x.args) > 3 || len(x.args) == 3 && !strings.EqualFold(x.args[2], "sync") && !strings.EqualFold(x.args[2], "async") {
		x.err("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
		return
	}
	clear(x.n.scripts)
	x.ok()
}

func cmdScriptKill(x *call) { x.err("NOTBUSY No scripts in execution right now.") }
