package js

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"github.com/toolfold/toolfold/internal/call/jsapi"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// Reference is a place of a source that names an action: object.key, object["key"], with or without a
// call, or tools.call("name").
type Reference struct {
	Object, Key  string // as written; Object is empty for tools.call, whose Key is the full name, and for functions
	Function     bool   // Key is that of a function that the source does not declare, of the language or an action
	Free         bool   // nothing in the source can define Object, or the function: it fails unless the name is a global
	Caught       bool   // it stands in a try statement
	Line, Column int    // from 1
	Args         []Argument
	Complete     bool   // Args has all names of arguments
	OfPromise    string // a member that is read of the call's promise instead of its value; empty = none
}

// Argument is an argument with a literal name.
type Argument struct {
	Name  string
	Value json.RawMessage // nil unless it is plain JSON
}

// Names returns the actions that references mean. The second is false for a name that means none.
func Names(names []string) func(Reference) (name string, ok bool) {
	of := map[[2]string]string{}
	for _, name := range names {
		of[[2]string{"", name}] = name
	}
	for _, s := range jsapi.Spaces(names) {
		for _, m := range s.Members {
			of[[2]string{s.Name, m.Key}] = m.Name
		}
	}
	return func(r Reference) (string, bool) {
		name, ok := of[[2]string{r.Object, r.Key}]
		return name, ok
	}
}

// Calls returns the references of a source in their order. Objects of the language and those that the
// source declares are left out. The error is that of a source which the reader, which is not the engine,
// cannot read.
func Calls(source string) (list []Reference, err error) {
	text := make([]byte, 0, len(opener)+len(source)+len(closer)+1) // with room, or the reader copies it
	text = append(append(append(text, opener...), source...), closer...)
	tree, err := js.Parse(parse.NewInputBytes(text), js.Options{})
	if err != nil {
		return nil, fmt.Errorf("reading the script: %w", err)
	}
	c := &collector{
		text: text, own: map[string]bool{}, called: map[js.IExpr]*js.CallExpr{}, named: map[string]int{}, used: map[string]int{},
		promises: map[*js.Var]*js.CallExpr{}, members: map[*js.CallExpr]string{},
	}
	js.Walk(c, tree)
	defines := definesNames().MatchString(source)
	c.list = slices.DeleteFunc(c.list, func(f occurrence) bool { return c.own[f.Object] || f.Function && c.own[f.Key] })
	slices.SortStableFunc(c.list, func(a, b occurrence) int { return a.at - b.at })
	for _, f := range c.list {
		name := f.Object
		if f.Function {
			name = f.Key
		}
		f.Free = f.Free && !defines && c.named[name] == c.used[name] && !strings.Contains(source, "this."+name)
		f.OfPromise = c.members[f.call]
		f.Line, f.Column = position(source, f.at-len(opener))
		list = append(list, f.Reference)
	}
	return list, nil
}

// definesNames matches what can define any global by a name that the source does not show.
var definesNames = regex.Lazy(`\bglobalThis\b|\beval\b|\bFunction\b|\bwith\s*\(|\bthis\s*\[|Object\.assign|defineProperty`)

// collector collects the references of a tree.
type collector struct {
	text   []byte
	own    map[string]bool // names that the source assigns without declaration
	called map[js.IExpr]*js.CallExpr
	named  map[string]int // how often a name stands that the source does not declare
	used   map[string]int // how often of these it is called, or a member of it is read
	tries  int            // statements around that may catch an error
	list   []occurrence

	promises map[*js.Var]*js.CallExpr // calls of constants that have their promise
	members  map[*js.CallExpr]string  // what is read of the promise of a call
}

type occurrence struct {
	Reference
	at   int          // in text
	call *js.CallExpr // nil without a call
}

// Enter implements [js.IVisitor].
func (c *collector) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.TryStmt:
		c.tries++
	case *js.VarDecl:
		for _, variable := range n.List {
			if call, ok := variable.Default.(*js.CallExpr); ok {
				c.bind(variable.Binding, call, n.TokenType == js.ConstToken)
			}
		}
	case *js.Var:
		if !declared(n) {
			c.named[string(n.Name())]++
		}
	case *js.CallExpr:
		c.called[n.X] = n
		c.toolsCall(n)
		c.use(n.X)
		if v, ok := n.X.(*js.Var); ok && !declared(v) {
			f := occurrence{Reference{Key: string(v.Name()), Function: true, Free: true, Caught: c.tries > 0}, c.offset(v.Data), n}
			f.Args, f.Complete = arguments(n.Args.List)
			c.list = append(c.list, f)
		}
	case *js.DotExpr:
		c.use(n.X)
		if key, ok := n.Y.(js.LiteralExpr); ok {
			c.add(n.X, string(key.Data), c.offset(key.Data), c.called[n])
			c.read(n.X, string(key.Data))
		}
	case *js.IndexExpr:
		c.use(n.X)
		if key, ok := n.Y.(*js.LiteralExpr); ok && key.TokenType == js.StringToken {
			if name, err := text(key); err == nil {
				c.add(n.X, name, c.offset(key.Data), c.called[n])
				c.read(n.X, name)
			}
		}
	case *js.BinaryExpr:
		if n.Op != js.EqToken {
			break
		}
		if v, ok := n.X.(*js.Var); ok {
			c.own[string(v.Name())] = true
		} else if member, ok := n.X.(*js.DotExpr); ok {
			if v, ok := member.X.(*js.Var); ok {
				delete(c.promises, origin(v)) // it gives the promise members of its own
			}
		}
	}
	return c
}

// Exit implements [js.IVisitor].
func (c *collector) Exit(n js.INode) {
	if _, is := n.(*js.TryStmt); is {
		c.tries--
	}
}

// use counts a name that is called, or of which a member is read.
func (c *collector) use(x js.IExpr) {
	if v, ok := x.(*js.Var); ok && !declared(v) {
		c.used[string(v.Name())]++
	}
}

// bind notes what a declaration reads of the promise of a call, and the constant that has it.
func (c *collector) bind(binding js.IBinding, call *js.CallExpr, constant bool) {
	switch b := binding.(type) {
	case *js.Var:
		if constant {
			c.promises[origin(b)] = call
		}
	case *js.BindingObject:
		for _, item := range b.List {
			if item.Key != nil && item.Key.Computed == nil {
				c.read(call, string(item.Key.Literal.Data))
			} else if v, ok := item.Value.Binding.(*js.Var); ok && item.Key == nil {
				c.read(call, string(v.Name()))
			}
		}
	}
}

// read notes a member that is read of the promise of a call.
func (c *collector) read(x js.IExpr, member string) {
	call, ok := x.(*js.CallExpr)
	if v, isVar := x.(*js.Var); isVar {
		call, ok = c.promises[origin(v)]
	}
	if ok && !slices.Contains([]string{"then", "catch", "finally"}, member) {
		c.members[call] = member
	}
}

// add adds the reference to a key of an object that nothing declares. call is nil without a call.
func (c *collector) add(x js.IExpr, key string, at int, call *js.CallExpr) {
	v, ok := x.(*js.Var)
	if !ok || declared(v) || slices.Contains(jsapi.BuiltIn, string(v.Name())) {
		return
	}
	object := string(v.Name())
	if object == "tools" && key == "call" {
		return
	}
	if start := strings.LastIndex(string(c.text[:at]), object); start >= 0 { // the tree has only the place of the key
		at = start
	}
	f := occurrence{Reference{Object: object, Key: key, Free: true, Caught: c.tries > 0}, at, call}
	if call != nil {
		f.Args, f.Complete = arguments(call.Args.List)
	}
	c.list = append(c.list, f)
}

// toolsCall adds a call such as tools.call("name", {…}).
func (c *collector) toolsCall(call *js.CallExpr) {
	dot, ok := call.X.(*js.DotExpr)
	if !ok || len(call.Args.List) == 0 {
		return
	}
	v, isVar := dot.X.(*js.Var)
	key, isLiteral := dot.Y.(js.LiteralExpr)
	first, isText := call.Args.List[0].Value.(*js.LiteralExpr)
	if !isVar || !isLiteral || !isText || declared(v) || string(v.Name()) != "tools" || string(key.Data) != "call" {
		return
	}
	name, err := text(first)
	if err != nil {
		return
	}
	f := occurrence{Reference{Key: name}, c.offset(first.Data), call}
	f.Args, f.Complete = arguments(call.Args.List[1:])
	c.list = append(c.list, f)
}

// declared reports whether the source declares a variable.
func declared(v *js.Var) bool { return origin(v).Decl != js.NoDecl }

// origin returns the variable that a use of it means.
func origin(v *js.Var) *js.Var {
	for v.Link != nil {
		v = v.Link
	}
	return v
}

// Returns reports whether a source returns something: itself, or a function in it. Both are false for a source that
// the reader cannot read.
func Returns(source string) (itself, within bool) {
	tree, err := js.Parse(parse.NewInputString(opener+source+closer), js.Options{})
	if err != nil {
		return false, false
	}
	r := &returns{}
	js.Walk(r, tree)
	return r.itself, r.within
}

// returns looks for return statements. The source is a function, too.
type returns struct {
	depth          int
	itself, within bool
}

// Enter implements [js.IVisitor].
func (r *returns) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.FuncDecl, *js.ArrowFunc, *js.MethodDecl:
		r.depth++
	case *js.ReturnStmt:
		if n.Value != nil {
			r.itself = r.itself || r.depth == 1
			r.within = r.within || r.depth > 1
		}
	}
	return r
}

// Exit implements [js.IVisitor].
func (r *returns) Exit(n js.INode) {
	switch n.(type) {
	case *js.FuncDecl, *js.ArrowFunc, *js.MethodDecl:
		r.depth--
	}
}

// arguments returns the arguments of a call, and whether these are all.
func arguments(list []js.Arg) (args []Argument, complete bool) {
	if len(list) == 0 {
		return nil, true
	}
	object, ok := list[0].Value.(*js.ObjectExpr)
	if !ok || list[0].Rest {
		return nil, false
	}
	complete = true
	for _, p := range object.List {
		name, err := propertyName(p)
		if err != nil {
			complete = false
			continue
		}
		args = append(args, Argument{name, plain(p.Value)})
	}
	return args, complete
}

var errNoText = errors.New("not a literal")

// propertyName returns the literal name of a property.
func propertyName(p js.Property) (string, error) {
	switch v, isVar := p.Value.(*js.Var); {
	case p.Spread || p.Name != nil && p.Name.Computed != nil:
		return "", errNoText
	case p.Name == nil && isVar:
		return string(v.Name()), nil
	case p.Name == nil:
		return "", errNoText
	case p.Name.Literal.TokenType == js.StringToken:
		return text(&p.Name.Literal)
	}
	return string(p.Name.Literal.Data), nil
}

// text returns the value of a literal text without escapes that JSON does not have.
func text(l *js.LiteralExpr) (s string, err error) {
	value := plain(l)
	if value == nil {
		return "", errNoText
	}
	return s, json.Unmarshal(value, &s)
}

// plain returns the JSON of an expression, or nil if it is not plain JSON.
func plain(e js.IExpr) json.RawMessage {
	var out strings.Builder
	if v, ok := e.(js.JSONer); !ok || v.JSON(&out) != nil || !json.Valid([]byte(out.String())) {
		return nil
	}
	return json.RawMessage(out.String())
}

// offset returns where a part of the text begins.
func (c *collector) offset(part []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(c.text))))
}

// position returns the line and column of an offset, from 1.
func position(source string, at int) (line, column int) {
	before := source[:min(max(at, 0), len(source))]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}
