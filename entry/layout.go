package entry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/call/schema"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// layout is the way a call of an entry is written.
type layout struct {
	tool         string
	fixed, value string // a member that always has the same value; empty = no such member
	nest         string // the member that holds the parameters; empty = they stand beside
	besides      bool   // required parameters stand beside the member nest
	text         bool   // nest is JSON text
}

func (e *Entry) layout() layout {
	l := layout{tool: e.Tool, text: e.Form == FormText}
	switch {
	case e.through != "":
		l.tool, l.fixed, l.value, l.nest = e.through, callctx.ForwardName, e.Title(), callctx.ForwardArguments
		return l
	case e.Selector != "":
		l.fixed, l.value = callctx.ArgAction, e.Selector
	default:
		l.besides = true
	}
	if e.Nests() {
		l.nest = callctx.ArgParams
	}
	return l
}

// Nests reports whether calls of the entry are shown with the member params.
// They are not where an action of a tool of its own has a parameter of that name, or one of ours.
func (e *Entry) Nests() bool {
	own := e.Selector == "" || e.Action.Input == nil
	return e.Form != "" && e.Form != FormFlat && !(own && e.Takes(callctx.ArgParams))
}

// Nested reports whether calls of the entry are shown with the parameter in the
// member params.
func (e *Entry) Nested(name string) bool {
	is := func(p toolfold.Param) bool { return p.Name == name }
	inside := e.Selector != "" || !slices.ContainsFunc(e.Required(), is)
	return e.layout().nest == callctx.ArgParams && inside && (name != callctx.ArgAction || e.Takes(callctx.ArgAction))
}

// Takes reports whether the entry has a parameter, as it is spelt here.
func (e *Entry) Takes(name string) bool {
	if e.Action.Input != nil && !e.Legacy { // as it was written elsewhere
		required, optional := e.Action.ParamNames()
		return slices.Contains(required, name) || slices.Contains(optional, name)
	}
	is := func(p toolfold.Param) bool { return p.Name == name }
	return slices.ContainsFunc(e.Required(), is) || slices.ContainsFunc(e.Optional(), is)
}

// In returns the entry in another form.
func (e *Entry) In(form Form) *Entry {
	other := *e
	other.Form = form
	return &other
}

// Through returns the entry as it is called by way of a tool that runs others
// by name, with [callctx.ForwardName] and [callctx.ForwardArguments].
func (e *Entry) Through(tool string) *Entry {
	other := *e
	other.through = tool
	return &other
}

// CalledBy returns the name that calls of the entry are sent to.
func (e *Entry) CalledBy() string { return e.layout().tool }

// Usage returns the shape of a call in one line: where all parameters stand
// beside the action the verb and these, store(key: string, namespace?: string),
// else the whole call. Bounds are printed without what costs tokens and says
// little, spaces and the type string: name,limit?:1..100=10. The optional
// parameters of which a call needs one come first: get(key or keys, namespace?).
func (e *Entry) Usage(d Detail) string {
	required, optional := withType, withType
	if e.Action.Family.Apiece {
		required, optional = withShape, withShape
	}
	switch d {
	case DetailNames:
		optional = bare
	case DetailBounds:
		return tight.Replace(e.usage(bounded, bounded))
	}
	if e.layout().nest == "" && d < DetailCall {
		either, others := e.alternatives(e.Optional(), optional)
		return e.Verb() + "(" + comma(signature(e.Required(), nil, required), either, others) + ")"
	}
	return e.usage(required, optional)
}

// alternatives shows optional parameters: those of which a call needs one, and the others. There
// are no alternatives under a legacy name that requires one of them.
func (e *Entry) alternatives(optional []toolfold.Param, show func(name string, p toolfold.Param) string) (either, others string) {
	choice := func(p toolfold.Param) bool {
		return slices.ContainsFunc(e.Action.Either.Params(), func(q toolfold.Param) bool { return e.Spelling(q.Name) == p.Name })
	}
	if slices.ContainsFunc(e.Required(), choice) {
		return "", signature(nil, optional, show)
	}
	var shown []string
	var rest []toolfold.Param
	for _, p := range optional {
		if choice(p) {
			shown = append(shown, show(p.Name, p))
		} else {
			rest = append(rest, p)
		}
	}
	if e.Action.Together {
		return "any of " + strings.Join(shown, ", "), signature(nil, rest, show)
	}
	return strings.Join(shown, " or "), signature(nil, rest, show)
}

var tight = strings.NewReplacer(": ", ":", ", ", ",", " = ", "=")

func (e *Entry) usage(required, optional func(name string, p toolfold.Param) string) string {
	l := e.layout()
	fixed := ""
	if l.fixed != "" {
		fixed = l.fixed + ": '" + l.value + "'" // JSON escapes double ones
	}
	beside, inside := e.Required(), []toolfold.Param(nil)
	if l.nest != "" && !l.besides {
		beside, inside = nil, e.Required()
	}
	either, others := e.alternatives(e.ListedParams()[len(e.Required()):], optional)
	if l.nest == "" {
		return l.tool + "(" + comma(fixed, signature(beside, nil, required), either, others) + ")"
	}
	nested := comma(signature(inside, nil, required), either, others)
	if nested != "" {
		name := l.nest
		if len(inside) == 0 && either == "" {
			name += "?"
		}
		if l.text {
			nested = name + ": JSON text {" + nested + "}"
		} else {
			nested = name + ": {" + nested + "}"
		}
	}
	return l.tool + "(" + comma(fixed, signature(beside, nil, required), nested) + ")"
}

// comma joins the parts that are not empty.
func comma(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// Pattern returns the shape of the calls of all actions of the entry's tool.
func (e *Entry) Pattern() string {
	switch l := e.layout(); {
	case e.through != "":
		return fmt.Sprintf("%s(%s: '%s', %s: {PARAMETERS})", l.tool, l.fixed, e.Action.Family.Name+".ACTION", l.nest)
	case l.text:
		return fmt.Sprintf("%s(%s: ACTION, %s: JSON text {PARAMETERS})", l.tool, l.fixed, l.nest)
	case l.nest != "":
		return fmt.Sprintf("%s(%s: ACTION, %s: {PARAMETERS})", l.tool, l.fixed, l.nest)
	default:
		return fmt.Sprintf("%s(%s: ACTION, PARAMETERS)", l.tool, l.fixed)
	}
}

// Example returns the declared example as a call of this entry, with the
// parameters as they are spelt, in its form.
func (e *Entry) Example() json.RawMessage {
	return e.FromCanonical(json.RawMessage(e.Action.Example))
}

// FromCanonical writes the action's own arguments as a call of this entry.
// Arguments that are not a JSON object come back as they are.
func (e *Entry) FromCanonical(args json.RawMessage) json.RawMessage {
	var members ordered.Map
	if err := json.Unmarshal(args, &members); err != nil {
		return args
	}
	l := e.layout()
	call, nested := ordered.Map{}, ordered.Map{}
	if l.fixed != "" {
		call.Set(l.fixed, l.value)
	}
	for _, m := range members {
		name := e.Spelling(m.Key)
		required := slices.ContainsFunc(e.Required(), func(p toolfold.Param) bool { return p.Name == name })
		if l.nest == "" || l.besides && required {
			call.Set(name, m.Value)
		} else {
			nested.Set(name, m.Value)
		}
	}
	switch {
	case len(nested) == 0:
	case l.text:
		call.Set(l.nest, string(ordered.MustJSON(nested)))
	default:
		call.Set(l.nest, nested)
	}
	return ordered.MustJSON(call)
}

// InputSchema returns the schema of the arguments of a call of this entry,
// texts included. Of a foreign tool it is its own schema, with a root that hosts
// take: they refuse combinators there. Arguments are held to the original.
func (e *Entry) InputSchema() json.RawMessage { return ordered.MustJSON(e.inputSchema()) }

func (e *Entry) inputSchema() ordered.Map {
	l := e.layout()
	foreign, _, ok := judge.Object(e.Action.Input)
	if ok && l.nest == "" {
		schema, _ := judge.ListedSchema(foreign) // the gateway says where it is not whole
		return schema
	}
	beside, inside := e.Required(), []toolfold.Param(nil)
	if l.nest != "" && !l.besides {
		beside, inside = nil, e.Required()
	}
	style := schema.Style{Describe: schema.Always}
	if l.nest == "" {
		return l.withFixed(schema.Members(beside, e.Optional(), style))
	}
	nested := schema.Members(inside, e.Optional(), style)
	if ok && !l.besides {
		below := "/properties/" + l.nest
		if l.text {
			below += "/contentSchema"
		}
		schema, _ := judge.ListedSchema(foreign)
		nested = judge.Nested(schema, below)
	}
	if l.text {
		// The words of JSON Schema for a text that holds JSON.
		nested = ordered.Map{
			{Key: "type", Value: string(toolfold.KindString)},
			{Key: "contentMediaType", Value: "application/json"}, {Key: "contentSchema", Value: nested},
		}
	}
	whole := schema.Members(beside, nil, style)
	properties, _ := whole.Get("properties")
	whole.Set("properties", append(properties.(ordered.Map), ordered.Member{Key: l.nest, Value: nested}))
	if len(inside) > 0 {
		required, _ := whole.Get("required")
		list, _ := required.([]string)
		whole.Set("required", append(list, l.nest))
	}
	return l.withFixed(whole)
}

func (l layout) withFixed(object ordered.Map) ordered.Map {
	if l.fixed == "" {
		return object
	}
	return schema.InFront(object, l.fixed, ordered.Map{{Key: "const", Value: l.value}})
}

// Checker checks the arguments of a call, the action argument left out.
type Checker struct {
	Problems func(object map[string]any) []toolfold.Problem
	Warnings func(object map[string]any) []string // about arguments without problems
}

// Checker returns what checks the arguments of a call of this entry. Which names a call may have is
// judged before: it takes others. A schema written elsewhere is compiled.
func (e *Entry) Checker() (Checker, error) {
	silent := func(map[string]any) []string { return nil }
	if e.Action.Input == nil {
		return Checker{toolfold.Param{Kind: toolfold.KindObject, Required: e.Required(), Optional: e.Optional()}.CheckMembers, silent}, nil
	}
	tool, err := validate.Compile(e.Title(), e.Action.Input)
	switch {
	case err == nil:
		return Checker{tool.Problems, tool.Warnings}, nil
	case e.Action.Unchecked():
		return Checker{func(map[string]any) []toolfold.Problem { return nil }, silent}, nil
	}
	return Checker{}, err
}
