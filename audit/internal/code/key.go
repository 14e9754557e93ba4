package code

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"strconv"
	"strings"
)

// A Part of a key is constant text, or a variable known by its Text.
type Part struct {
	Const bool
	// Text is the constant, or the canonical name of the variable.
	Text string
	// Name is the last word of the variable's expression: ID for user.ID.
	Name string
	// Number is true for a variable whose text cannot hold a brace.
	Number bool
}

// A Key is a key's expression taken apart.
type Key []Part

// Key takes a key's expression apart: constants, +, fmt.Sprintf with plain
// verbs, strconv, hashtag.Key, and variables that are assigned once.
func (f *Func) Key(e ast.Expr) Key { return f.key(e, 0).joined() }

func (f *Func) key(e ast.Expr, depth int) Key {
	if s, ok := f.Const(e); ok {
		return Key{{Const: true, Text: s}}
	}
	v, index := f.Value(e)
	if index < 0 && depth < 8 {
		switch x := v.(type) {
		case *ast.BinaryExpr:
			if isString(f.Type(x)) {
				return append(f.key(x.X, depth+1), f.key(x.Y, depth+1)...)
			}
		case *ast.CallExpr:
			if k := f.callKey(x, depth); k != nil {
				return k
			}
		}
		if v != e && f.IsConst(v) {
			return f.key(v, depth+1)
		}
	}
	if index >= 0 {
		v = e
	}
	return Key{f.variable(v)}
}

func (f *Func) variable(e ast.Expr) Part {
	p := Part{Text: f.Canon(e), Number: isNumber(f.Type(e))}
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			p.Name = id.Name
		}
		return true
	})
	return p
}

var plainVerb = regexp.MustCompile(`%[-+0-9.]*[a-zA-Z%]`)

func (f *Func) callKey(call *ast.CallExpr, depth int) Key {
	switch {
	case f.Is(call, "fmt", "Sprintf"):
		format, ok := f.Const(call.Args[0])
		if !ok {
			return nil
		}
		return f.formatKey(format, call.Args[1:], depth)
	case f.Is(call, "strconv", "Itoa", "FormatInt", "FormatUint"):
		p := f.variable(call.Args[0])
		p.Number = true
		return Key{p}
	case f.Is(call, "github.com/rcctl/rcctl/hashtag", "Key"):
		k := Key{{Const: true, Text: "{"}}
		k = append(append(k, f.key(call.Args[0], depth+1)...), Part{Const: true, Text: "}"})
		for _, a := range call.Args[1:] {
			k = append(append(k, Part{Const: true, Text: ":"}), f.key(a, depth+1)...)
		}
		return k
	case len(call.Args) == 1 && f.info().Types[call.Fun].IsType() && isString(f.Type(call)):
		return f.key(call.Args[0], depth+1)
	}
	return nil
}

func (f *Func) formatKey(format string, args []ast.Expr, depth int) Key {
	var k Key
	last, n := 0, 0
	for _, m := range plainVerb.FindAllStringIndex(format, -1) {
		k = append(k, Part{Const: true, Text: format[last:m[0]]})
		last = m[1]
		if format[m[1]-1] == '%' {
			k = append(k, Part{Const: true, Text: "%"})
			continue
		}
		if n >= len(args) {
			return nil
		}
		a := args[n]
		n++
		if isString(f.Type(a)) {
			k = append(k, f.key(a, depth+1)...)
		} else {
			k = append(k, f.variable(a))
		}
	}
	return append(k, Part{Const: true, Text: format[last:]})
}

// joined merges neighbouring constants.
func (k Key) joined() Key {
	var out Key
	for _, p := range k {
		if n := len(out); p.Const && n > 0 && out[n-1].Const {
			out[n-1].Text += p.Text
		} else if !p.Const || p.Text != "" {
			out = append(out, p)
		}
	}
	return out
}

// String is the same for two keys that are built the same way from the same
// variables.
func (k Key) String() string {
	var b strings.Builder
	for _, p := range k {
		if p.Const {
			b.WriteString(strconv.Quote(p.Text))
		} else {
			fmt.Fprintf(&b, "<%s>", p.Text)
		}
	}
	return b.String()
}

// Pattern is the constant text with * for the variables.
func (k Key) Pattern() string {
	var b strings.Builder
	for _, p := range k {
		if p.Const {
			b.WriteString(p.Text)
		} else {
			b.WriteByte('*')
		}
	}
	return b.String()
}

// Text is the whole key when it is constant.
func (k Key) Text() (string, bool) {
	switch {
	case len(k) == 0:
		return "", true
	case len(k) == 1 && k[0].Const:
		return k[0].Text, true
	}
	return "", false
}

// Tag is the key's hash tag when its constant parts show one: the part between
// the first brace and the one that closes it, as a canonical text. ok is false
// when there is none to see.
func (k Key) Tag() (tag string, ok bool) {
	var b strings.Builder
	open := false
	for _, p := range k {
		if !p.Const {
			if open {
				fmt.Fprintf(&b, "<%s>", p.Text)
			}
			continue
		}
		text := p.Text
		if !open {
			_, after, found := strings.Cut(text, "{")
			if !found {
				continue
			}
			open, text = true, after
		}
		inside, _, closed := strings.Cut(text, "}")
		b.WriteString(inside)
		if closed {
			return b.String(), b.Len() > 0
		}
	}
	return "", false
}

// Canon is a text that is equal for two expressions in one package when they
// name the same thing: the same variable, field path, constant or call.
func (f *Func) Canon(e ast.Expr) string {
	e = ast.Unparen(e)
	if tv, ok := f.info().Types[e]; ok && tv.Value != nil {
		return tv.Value.ExactString()
	}
	switch e := e.(type) {
	case *ast.Ident:
		o := f.info().ObjectOf(e)
		if o == nil {
			return e.Name
		}
		if f.isReceiver(o) {
			return "recv." + types.TypeString(deref(o.Type()), nil)
		}
		return fmt.Sprintf("%s@%d", e.Name, o.Pos())
	case *ast.SelectorExpr:
		return f.Canon(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		args := make([]string, len(e.Args))
		for i, a := range e.Args {
			args[i] = f.Canon(a)
		}
		return f.Canon(e.Fun) + "(" + strings.Join(args, ",") + ")"
	case *ast.IndexExpr:
		return f.Canon(e.X) + "[" + f.Canon(e.Index) + "]"
	case *ast.StarExpr:
		return f.Canon(e.X)
	case *ast.UnaryExpr:
		return e.Op.String() + f.Canon(e.X)
	case *ast.BinaryExpr:
		return f.Canon(e.X) + e.Op.String() + f.Canon(e.Y)
	}
	return fmt.Sprintf("%T@%d", e, e.Pos())
}

func (f *Func) isReceiver(o types.Object) bool {
	return f.Obj != nil && f.Obj.Signature().Recv() != nil && types.Object(f.Obj.Signature().Recv()) == o
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

func isNumber(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsInteger|types.IsFloat|types.IsBoolean) != 0
}
