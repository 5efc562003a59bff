// Package component writes the interface of a component and the skeleton of its implementation in a
// programming language. Together, the two texts are a source file that compiles. The same model
// gives the same text.
//
// It is not a stable API: see docs/stability.md.
package component

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/tools/design/text"
)

// Model is a component.
type Model struct {
	Name         string   `json:"name"`
	Type         string   `json:"type"`
	Description  string   `json:"description"`
	Inputs       []Input  `json:"inputs"`
	Outputs      []Output `json:"outputs"`
	Dependencies []string `json:"dependencies"`
	Patterns     []string `json:"patterns"`
}

// Input is an input value of a component.
type Input struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
	Required    *bool  `json:"required"` // nil = true
}

// Output is an output value of a component.
type Output struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
}

// Code is a component in a language.
type Code struct {
	Interface, Implementation string

	gap string // text between interface and implementation
}

// File returns the whole source file.
func (c Code) File() string { return c.Interface + c.gap + c.Implementation }

// The types of a component decide its form: a function, a namespace with a
// function, or an object with methods.
var kinds = []kind{
	{name: "function", form: function},
	{name: "class", methods: []method{{words: []string{"run"}, takes: true, gives: true}}},
	{name: "module", form: module},
	{name: "service", methods: []method{{words: []string{"execute"}, takes: true, gives: true, waits: true}}},
	{name: "controller", methods: []method{{words: []string{"handle"}, takes: true, gives: true, waits: true}}},
	{name: "repository", methods: []method{
		{words: []string{"find"}, takes: true, gives: true, orNothing: true, waits: true},
		{words: []string{"save"}, takesOutput: true, waits: true},
		{words: []string{"remove"}, takes: true, waits: true},
	}},
	{name: "factory", methods: []method{{words: []string{"create"}, takes: true, gives: true}}},
	{name: "adapter", methods: []method{{words: []string{"adapt"}, takes: true, gives: true}}},
	{name: "hook", form: function},
	{name: "component", methods: []method{{words: []string{"render"}, takes: true, gives: true}}},
	{name: "other", methods: []method{{words: []string{"perform"}, takes: true, gives: true}}},
}

type kind struct {
	name    string
	form    form
	methods []method
}

type form int

const (
	object   form = iota // an interface with methods, and a class
	function             // a function and its type
	module               // a function called run in a namespace
	element              // an element of a page, in the form of its framework
)

// method is an action of an object.
type method struct {
	words       []string
	takes       bool // takes the inputs
	takesOutput bool // takes the result of another method
	gives       bool // returns the outputs
	orNothing   bool // returns the outputs or nothing
	waits       bool // waits for an external event
}

// Types lists the types of a component.
func Types() []string {
	list := make([]string, len(kinds))
	for i, k := range kinds {
		list[i] = k.name
	}
	return list
}

// Languages lists the languages of a component. Other has no generator and is rejected.
func Languages() []string {
	return []string{"typescript", "javascript", "python", "go", "rust", "java", "other"}
}

// Generate writes a component in a language. Problems name the parts that the language cannot
// express, with paths into the model; then there is no code.
func Generate(m Model, in string) (Code, []toolfold.Problem) {
	lang, known := languages()[in]
	if !known {
		return Code{}, []toolfold.Problem{{Path: "/language", Kind: toolfold.ProblemFormat,
			Want: "supported language: typescript, javascript, python, go, rust, java"}}
	}
	if m.Type == "component" {
		switch named := frameworksOf(m, in); len(named) {
		case 0:
		case 1:
			lang = named[0]
		default:
			return Code{}, []toolfold.Problem{{Path: "/patterns", Kind: toolfold.ProblemFormat, Want: "list with react or vue, not both"}}
		}
	}
	v, problems := lang.view(m)
	if len(problems) > 0 {
		return Code{}, problems
	}
	return lang.render(v), nil
}

// view is a component for the template of a language: every name is an unused identifier of the
// language, and every type is in its syntax.
type view struct {
	Doc     []string // description, type and patterns
	Package string   // lower-case name of the component

	Opaque []opaque // types declared elsewhere
	Input  *recordView
	Output *recordView
	Deps   []depView

	Name string // the interface, the type of the function, or the element

	// Of an object.
	Impl    string // the class
	Methods []methodView
	Shared  string // function that returns the single instance; empty = no such function
	Create  string // factory function; empty = no such function
	Inner   bool   // the first dependency is a wrapped component of the same type, to which methods delegate

	// Of a function or module.
	Func      string
	FuncClass string      // class of the function, in languages without free functions
	Module    string      // namespace; empty = no namespace
	DepsType  *recordView // record of the dependencies; nil = no record

	Message string // text of the error in the unwritten function

	uses map[shape]bool // shapes of all types, for imports
}

// Params lists the parameters of a function.
func (v *view) Params() []depView {
	var params []depView
	if v.Input != nil {
		params = append(params, depView{"input", v.Input.Name})
	}
	if v.DepsType != nil {
		params = append(params, depView{"deps", v.DepsType.Name})
	}
	return params
}

// Uses reports whether a type has the shape with that name, for templates.
func (v *view) Uses(name string) bool {
	return v.uses[map[string]shape{
		"any": anything, "callback": callback, "moment": moment, "list": list, "set": set, "dict": dict, "maybe": maybe,
	}[name]]
}

type opaque struct {
	Name string
	Doc  []string
	Dep  bool // a dependency, not a value
}

type recordView struct {
	Name   string
	Fields []fieldView

	taken text.Scope // used names of fields
}

type fieldView struct {
	Name, Type, Key string // Key: the name that the caller gave; empty in records that nothing encodes
	Optional        bool
	Doc             []string
}

// Tag returns the Go struct tag with the caller's name of the field. It is empty if a tag cannot
// contain the name, for records that are never encoded, and for functions.
func (f fieldView) Tag() string {
	if !tagged().MatchString(f.Key) {
		return ""
	}
	if strings.HasPrefix(f.Type, "func(") { // functions cannot be encoded
		return " `json:\"-\"`"
	}
	option := ""
	if f.Optional {
		option = ",omitempty"
	}
	return " `json:\"" + f.Key + option + "\"`"
}

var tagged = regex.Lazy(`^[A-Za-z0-9_.-]*[A-Za-z0-9_.]$`)

type depView struct {
	Name, Type string
}

type methodView struct {
	Name     string
	Arg      string // name of the parameter; empty = no parameter
	ArgType  string
	Result   string // type; empty = no result
	Optional bool
	Waits    bool
	Message  string // text of the error in the unwritten method
}

// view checks a model and converts it to the names and types of the language.
func (l language) view(m Model) (*view, []toolfold.Problem) {
	words := l.words(m.Name)
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == m.Type })
	if at < 0 {
		return nil, []toolfold.Problem{{Path: "/type", Kind: toolfold.ProblemEnum, Got: m.Type, Allowed: Types()}}
	}
	if words == nil {
		return nil, []toolfold.Problem{{Path: "/name", Kind: toolfold.ProblemFormat, Want: noLetters}}
	}
	w := &writer{
		language: l, view: &view{uses: map[shape]bool{}}, kind: kinds[at], base: text.Pascal(words),
		types: text.NewScope(l.takenTypes...), opaques: map[string]string{},
	}
	if l.framework != "" {
		w.kind = kind{name: w.kind.name, form: element}
	}
	// The component claims its names first, so that they stay unchanged.
	w.nameIt(words)
	given, made, properties := "Input", "Output", len(m.Inputs)
	if w.kind.form == element {
		given, made, properties = "Props", "Emits", properties+len(m.Dependencies)
	}
	if l.event != nil {
		properties += len(m.Outputs)
	}
	if properties > 0 {
		w.Input = w.record(given)
		for i, in := range m.Inputs {
			w.addField(w.Input, fmt.Sprintf("/inputs/%d", i), Output{in.Name, in.Type, in.Description}, in.Required != nil && !*in.Required)
		}
	}
	switch {
	case l.event != nil:
		for i, out := range m.Outputs {
			w.addEvent(fmt.Sprintf("/outputs/%d", i), out)
		}
	case len(m.Outputs) > 0:
		w.Output = w.record(made)
		for i, out := range m.Outputs {
			w.addField(w.Output, fmt.Sprintf("/outputs/%d", i), out, false)
		}
	}
	if m.Type == "repository" && w.Output == nil {
		w.refuse("/outputs", "list that is not empty: the fields of the repository's records")
	}
	patterns := w.applyPatterns(m.Patterns, words)
	w.addMembers(m.Dependencies)
	w.Doc = l.comment(m.Description)
	if len(w.Doc) == 0 {
		w.Doc = []string{w.Name + ", of type " + m.Type + "."}
	}
	if len(patterns) > 0 {
		w.Doc = append(w.Doc, "", l.comment("Patterns: " + strings.Join(patterns, ", ") + ".")[0])
	}
	return w.view, w.problems
}

// noLetters is the requirement for a name that becomes an identifier.
const noLetters = "name with letters a-z, to make an identifier of"

// writer builds a view.
type writer struct {
	language
	*view
	kind kind
	base string // the component's name as a type name

	types    text.Scope        // declared types
	opaques  map[string]string // placeholder types by the caller's name
	problems []toolfold.Problem
}

func (w *writer) refuse(path, want string) {
	w.problems = append(w.problems, toolfold.Problem{Path: path, Kind: toolfold.ProblemFormat, Want: want})
}

// nameIt claims the names of the component's declarations.
func (w *writer) nameIt(words []string) {
	if w.kind.name == "hook" && !strings.EqualFold(words[0], "use") {
		words = append([]string{"use"}, words...)
	}
	w.Package = text.Lower(words)
	if slices.Contains(w.reserved, w.Package) || slices.Contains(w.takenPackages, w.Package) {
		w.Package += "pkg"
	}
	switch w.kind.form {
	case object:
		w.Name = w.types.Claim(w.base)
		w.Impl = w.types.Claim("Default" + w.base)
	case function:
		w.Name = w.types.Claim(w.base + "Function")
		w.Func = w.claim(w.types, w.function(words))
		w.FuncClass = w.types.Claim("Default" + w.base)
	case module:
		w.Name = w.types.Claim(w.base + "Run")
		w.Func = w.claim(w.types, w.function([]string{"run"}))
		if w.namespace != nil {
			w.Module = w.claim(w.types, w.namespace(words))
		}
	}
	w.Message = strings.TrimPrefix(w.Module+"."+w.Func, ".") + " is not implemented"
	if w.kind.form == element {
		w.Name = w.types.Claim(w.base)
		w.Message = w.Name + " is not implemented"
	}
}

func (w *writer) record(suffix string) *recordView {
	return &recordView{Name: w.types.Claim(w.base + suffix), taken: text.NewScope()}
}

// addField adds a field to a record; path leads to it in the model.
func (w *writer) addField(r *recordView, path string, f Output, optional bool) {
	words := w.words(f.Name)
	if words == nil {
		w.refuse(path+"/name", noLetters)
		return
	}
	id := w.field(words)
	if slices.Contains(w.reserved, id) && !w.freeFields {
		id += "_" // a suffix that no other name gets
	}
	if r.taken[id] {
		w.refuse(path+"/name", fmt.Sprintf("name other than %s, which another one becomes in %s", id, w.title))
	}
	if slices.Contains(w.reservedFields, id) {
		w.refuse(path+"/name", fmt.Sprintf("name other than %s, which %s keeps for itself", id, text.Pascal([]string{w.framework})))
	}
	r.taken.Claim(id)
	t, err := parseType(f.Type)
	if err != nil {
		w.refuse(path+"/type", fmt.Sprintf("type such as string, number, User, list<T>, map<string, T> or T?; %v", err))
		return
	}
	if t.shape == maybe {
		optional, t = true, t.of[0]
	}
	spelt := w.spellOut(t)
	if optional {
		spelt = w.optional(spelt, t)
		w.uses[maybe] = true
	}
	r.Fields = append(r.Fields, fieldView{Name: id, Type: spelt, Key: f.Name, Optional: optional, Doc: w.comment(f.Description)})
}

// addEvent adds a property that is called with an output.
func (w *writer) addEvent(path string, out Output) {
	before := len(w.Input.Fields)
	w.addField(w.Input, path, Output{"on " + out.Name, out.Type, out.Description}, false)
	for i := range w.Input.Fields[before:] { // empty if the field was rejected
		f := &w.Input.Fields[before+i]
		f.Type, f.Optional = w.event(f.Type, f.Optional), true
	}
}

// spellOut returns a type in the language's syntax. Types of the caller are declared once as
// placeholders.
func (w *writer) spellOut(t typ) string {
	w.uses[t.shape] = true
	of := make([]string, len(t.of))
	for i := range t.of {
		of[i] = w.spellOut(t.of[i])
	}
	if t.shape != named {
		return w.typeOf(t, of)
	}
	name := text.Pascal(t.words)
	if w.opaques[name] == "" {
		w.opaques[name] = w.types.Claim(name)
		w.Opaque = append(w.Opaque, standIn(w.opaques[name], name, false))
	}
	return w.opaques[name]
}

func (l language) referTo(name string) string {
	return strings.ReplaceAll(cmp.Or(l.reference, "$1"), "$1", name)
}

func standIn(declared, name string, dep bool) opaque {
	return opaque{Name: declared, Doc: []string{"Stands for " + name + ": import it in place of this."}, Dep: dep}
}

// addMembers adds the methods and then the dependencies of an object or function. They share a
// scope.
func (w *writer) addMembers(dependencies []string) {
	members := text.NewScope(w.takenMembers...)
	if w.kind.form == element && w.Input != nil { // its inputs include the dependencies
		members = w.Input.taken
	}
	for _, method := range w.kind.methods {
		signature := methodView{Name: members.Claim(w.function(method.words)), Waits: method.waits}
		switch {
		case method.takes && w.Input != nil:
			signature.Arg, signature.ArgType = "input", w.Input.Name
		case method.takesOutput && w.Output != nil:
			signature.Arg, signature.ArgType = "output", w.Output.Name
		}
		if method.gives && w.Output != nil {
			signature.Result, signature.Optional = w.Output.Name, method.orNothing
			w.uses[maybe] = w.uses[maybe] || method.orNothing
		}
		signature.Message = w.Impl + "." + signature.Name + " is not implemented"
		w.Methods = append(w.Methods, signature)
	}
	if w.Inner {
		w.Deps = append(w.Deps, depView{w.claim(members, w.member([]string{"inner"})), w.referTo(w.Name)})
	}
	named := w.member
	if w.kind.form != object { // dependencies of a function are in a record
		named = w.field
	}
	seen := map[string]bool{}
	for i, name := range dependencies {
		path := fmt.Sprintf("/dependencies/%d", i)
		words := w.words(name)
		if words == nil {
			w.refuse(path, noLetters)
			continue
		}
		pascal := text.Pascal(words)
		if seen[pascal] {
			w.refuse(path, "name that is not in the list before")
			continue
		}
		seen[pascal] = true
		declared := w.types.Claim(pascal)
		w.Opaque = append(w.Opaque, standIn(declared, pascal, true))
		w.Deps = append(w.Deps, depView{w.claim(members, named(words)), w.referTo(declared)})
	}
	if w.kind.form == object || len(w.Deps) == 0 {
		return
	}
	into := w.Input
	if w.kind.form != element {
		into = w.record("Deps")
		w.DepsType = into
	}
	for _, d := range w.Deps {
		into.Fields = append(into.Fields, fieldView{Name: d.Name, Type: d.Type})
	}
}

// applyPatterns applies the patterns that change the code of an object. It returns all patterns,
// for the comment.
func (w *writer) applyPatterns(list, words []string) []string {
	var named []string
	for _, p := range list {
		if p = text.Line(p); p == "" {
			continue
		}
		named = append(named, p)
		switch p = strings.ToLower(p); {
		case w.kind.form != object:
		case p == "singleton" && w.Shared == "":
			w.uses[maybe] = true
			w.Shared = w.claim(w.types, w.function(append([]string{"shared"}, words...)))
		case p == "factory" && w.Create == "":
			w.Create = w.claim(w.types, w.function(append([]string{"create"}, words...)))
		case p == "decorator", p == "proxy":
			w.Inner = true
		}
	}
	return named
}
