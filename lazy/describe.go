package lazy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/call/schema"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/unseen"
	"github.com/toolfold/toolfold/legacy"
)

// Account selects the optional parts of a description, which always has usage, result fields and
// effect.
type Account struct {
	Examples bool // an example call, if usage leaves its form open
	Always   bool // an example call, also of another server's tool
	Schema   bool // the JSON Schema of the arguments

	TypeScript bool // only signatures in TypeScript, as [SignatureDoc] and [SignaturesDoc]
}

// typeScript is the value of the parameter as for [Account.TypeScript].
const typeScript = "ts"

// SignatureDoc is an action in TypeScript.
type SignatureDoc struct {
	Name        string `json:"name,omitempty"`
	Signature   string `json:"signature"`
	Description string `json:"description,omitempty"`
	Effect      string `json:"effect"`
}

// SignaturesDoc is a tool or a server in TypeScript. Its actions have no description.
type SignaturesDoc struct {
	Name         string         `json:"name"`
	Description  string         `json:"description,omitempty"`
	Instructions string         `json:"instructions,omitempty"` // of a server
	Actions      []SignatureDoc `json:"actions"`
}

// ActionDoc is the full description of an action.
type ActionDoc struct {
	Description string          `json:"description"`
	Usage       string          `json:"usage"`            // the call with the types of all parameters
	Params      json.RawMessage `json:"params,omitempty"` // parameters that usage does not explain, by name
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	Output      json.RawMessage `json:"outputSchema,omitempty"` // of another server's tool, together with inputSchema
	Returns     string          `json:"returns,omitempty"`      // result fields; inner ones in brackets
	Effect      string          `json:"effect,omitempty"`       // empty if the action only reads
	Example     json.RawMessage `json:"example,omitempty"`
	Server      *ServerDoc      `json:"server,omitempty"` // if the name stands for a server with instructions too
}

// ToolDoc is the description of a tool with several actions.
type ToolDoc struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Usage       string      `json:"usage"` // the call of any of its actions
	Actions     []ActionRow `json:"actions"`
	Server      *ServerDoc  `json:"server,omitempty"` // set if the name also stands for the server; see serverOf
}

// ServerDoc is the description of another server: its whole instructions, and the tools of the
// surface that contain its tools.
type ServerDoc struct {
	Name         string    `json:"name"`
	Instructions string    `json:"instructions,omitempty"`
	Tools        []ToolRow `json:"tools"`
}

// ToolRow is a tool in the description of its server.
type ToolRow struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// ActionRow is an action in the description of its tool.
type ActionRow struct {
	Usage   string `json:"usage"`
	Summary string `json:"summary"`
	Effect  string `json:"effect"`
}

// Definition is a tool as the protocol defines one.
type Definition struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// Describe returns the description of a tool, an action, another server or a legacy name, as JSON.
// The error for an unknown name suggests similar names.
func (v *View) Describe(name string, with Account) (json.RawMessage, *toolfold.Error) {
	if server := v.serverDoc(name); server != nil && v.options.Names.Lookup(name) == nil {
		if with.TypeScript {
			return ordered.MustJSON(v.serverSignatures(server)), nil
		}
		return ordered.MustJSON(server), nil
	}
	return v.render(fmt.Sprint(with), name, func(entries []*entry.Entry) any {
		family := entries[0].Action.Family
		switch a := entries[0].Action; {
		case with.TypeScript && entries[0].Selector == "":
			return SignatureDoc{a.FullName(), v.signature(a), account(a), effectOf(a)}
		case with.TypeScript && name == family.Server:
			return v.serverSignatures(v.serverDoc(name))
		case with.TypeScript:
			doc := SignaturesDoc{Name: entries[0].Tool, Description: join(family.Summary+".", family.Doc)}
			for _, e := range entries {
				doc.Actions = append(doc.Actions, SignatureDoc{Signature: v.signature(e.Action), Effect: effectOf(e.Action)})
			}
			return doc
		}
		server := v.serverOf(name, family)
		if entries[0].Selector != "" {
			doc := ToolDoc{
				Name: entries[0].Tool, Description: join(family.Summary+".", family.Doc),
				Usage: v.callable(v.entry(entries[0])).Pattern(), Server: server,
			}
			for _, e := range entries {
				doc.Actions = append(doc.Actions, ActionRow{e.In(entry.FormFlat).Usage(entry.DetailNames), e.Action.Summary,
					effectOf(e.Action)})
			}
			return doc
		}
		doc := actionDoc(v.callable(v.entry(entries[0])), with)
		if server != nil && server.Instructions != "" {
			doc.Server = server
		}
		return doc
	})
}

// serverOf returns the server's description if it must be part of the family's description under
// this name. That is so if the name is the server's name. It is also so if the name is the server's
// first family and its server's name belongs to a tool or action that is not the server's. It is
// nil otherwise.
func (v *View) serverOf(name string, family *toolfold.Family) *ServerDoc {
	families := v.servers[family.Server]
	switch {
	case len(families) == 0:
		return nil
	case name != family.Server && (name != family.Name || family != families[0] || !v.namesake(family.Server)):
		return nil
	}
	return v.serverDoc(family.Server)
}

// namesake reports whether a tool or action that is not the server's has the server's name.
func (v *View) namesake(server string) bool {
	entries := v.options.Names.Lookup(server)
	return len(entries) > 0 && entries[0].Action.Family.Server != server
}

// serverDoc returns the description of the server with this name, or nil if there is no such
// server.
func (v *View) serverDoc(name string) *ServerDoc {
	families := v.servers[name]
	if len(families) == 0 {
		return nil
	}
	doc := &ServerDoc{Name: name, Instructions: families[0].Instructions}
	for _, t := range v.options.Tools {
		if slices.Contains(families, t.Entries[0].Action.Family) {
			doc.Tools = append(doc.Tools, ToolRow{t.Name, t.Summary})
		}
	}
	return doc
}

// serverSignatures returns the actions of a server in TypeScript.
func (v *View) serverSignatures(server *ServerDoc) SignaturesDoc {
	doc := SignaturesDoc{Name: server.Name, Instructions: server.Instructions}
	for _, family := range v.servers[server.Name] {
		for _, a := range family.Actions {
			if v.byID[a.FullName()] != nil {
				doc.Actions = append(doc.Actions, SignatureDoc{Signature: v.signature(a), Effect: effectOf(a)})
			}
		}
	}
	return doc
}

// notAnnotated is the effect of a tool whose server does not annotate it. Hosts and rules assume
// the worst effect.
const notAnnotated = "not annotated"

func effectOf(a *toolfold.Action) string {
	if a.Unstated {
		return notAnnotated
	}
	return a.Effect.String()
}

// Define returns the whole definition of a tool, an action or a legacy name, as JSON. It has an
// output schema only if structured is set.
func (v *View) Define(name string, structured bool) (json.RawMessage, *toolfold.Error) {
	return v.render(fmt.Sprint("definition ", structured), name, func(entries []*entry.Entry) any {
		if entries[0].Selector != "" {
			family := entries[0].Action.Family
			definition := Definition{
				Name: entries[0].Tool, Description: family.Summary + ": " + signatures(entries, entry.DetailNames),
				InputSchema: consolidate.Schema(actionsOf(entries)),
			}
			if structured {
				definition.OutputSchema = ordered.MustJSON(object(ordered.Map{}, nil)) // it depends on the action
			}
			return definition
		}
		e := v.entry(entries[0]).In(entry.FormFlat)
		if came := e.Action.Definition; came != nil {
			definition, _ := unseen.JSON(came)
			return renamed(definition, e.Action.FullName())
		}
		definition := Definition{Name: e.Tool, Description: account(e.Action), InputSchema: inputSchema(e)}
		if structured {
			definition.OutputSchema = schema.Output(e.Action)
		}
		return definition
	})
}

// renamed returns a tool definition with another name and otherwise unchanged.
func renamed(definition json.RawMessage, name string) json.RawMessage {
	out := append([]byte(`{"name":`), ordered.MustJSON(name)...)
	ordered.Scan(definition, func(member []byte, start, end int) {
		if string(member) != "name" {
			out = append(append(append(out, ','), ordered.MustJSON(string(member))...), ':')
			out = append(out, definition[start:end]...)
		}
	})
	return append(out, '}')
}

// memberOf returns a member of a JSON object, or nil if it is missing.
func memberOf(object json.RawMessage, name string) (value json.RawMessage) {
	ordered.Scan(object, func(member []byte, start, end int) {
		if string(member) == name {
			value = object[start:end:end]
		}
	})
	return value
}

// combining are the schema keywords that a usage cannot express: such as alternatives, conditions,
// constants and references.
var combining = []string{
	"$ref", "anyOf", "oneOf", "allOf", "not", "if", "const", "patternProperties", "prefixItems", "dependentRequired",
}

// combines reports whether a schema of another server has rules that a usage cannot express.
// References that a usage follows do not count.
func combines(input json.RawMessage) bool {
	var schema ordered.Map
	if json.Unmarshal(input, &schema) != nil {
		return false
	}
	if slices.ContainsFunc(schema, func(m ordered.Member) bool { return slices.Contains(combining, m.Key) }) {
		return true
	}
	input = ordered.MustJSON(slices.DeleteFunc(judge.Plain(schema), func(m ordered.Member) bool { // unused definitions do not count
		return m.Key == "$defs" || m.Key == "definitions"
	}))
	return slices.ContainsFunc(combining, func(keyword string) bool { return bytes.Contains(input, []byte(`"`+keyword+`":`)) })
}

// maxPatterns limits the list of patterns in a description, in characters.
const maxPatterns = 120

// account returns the text of an action's description, including whether its arguments are checked.
func account(a *toolfold.Action) string {
	text := join(a.Summary, a.Doc)
	patterns := a.UncheckedPatterns()
	if text != "" && (a.Unchecked() || a.Partial() || len(patterns) > 0) && !strings.ContainsAny(text[len(text)-1:], ".!?:") {
		text += "."
	}
	if len(patterns) > 0 {
		text = join(text, "Not checked here: the pattern "+shorten.To(strings.Join(patterns, " , "), maxPatterns)+".")
	}
	if a.Unchecked() {
		text = join(text, "Its schema does not compile, so arguments are passed on unchecked.")
	}
	if a.Partial() {
		text = join(text, judge.Cut)
	}
	return text
}

// inputSchema returns the schema of a call of an entry. For a legacy name it is the legacy tool's
// schema.
func inputSchema(e *entry.Entry) json.RawMessage {
	if e.Legacy {
		return legacy.Schema(e)
	}
	return e.InputSchema()
}

func actionDoc(e *entry.Entry, with Account) ActionDoc {
	doc := ActionDoc{
		Description: account(e.Action), Usage: e.Usage(entry.DetailBounds),
		Returns: fieldNames(e.Action.Results(), with.Schema),
	}
	if e.Action.Effect != toolfold.Reads {
		doc.Effect = effectOf(e.Action)
	}
	var params ordered.Map
	for _, p := range e.ListedParams() {
		if text := explanation(p); text != "" {
			params.Set(p.Name, text)
		}
	}
	if len(params) > 0 {
		doc.Params = ordered.MustJSON(params)
	}
	switch {
	case with.Schema && e.Selector == "" && len(e.Action.Input) > 0:
		doc.InputSchema = e.Action.Input // a listing may change its root
		if came := memberOf(e.Action.Definition, "inputSchema"); came != nil {
			doc.InputSchema = came // unchanged from its server
		}
	case with.Schema:
		doc.InputSchema = inputSchema(e)
	case combines(e.Action.Input), bytes.Contains(e.Action.Input, []byte(`"$ref"`)) && len(doc.Usage) > len(e.Action.Input):
		doc.Params, doc.InputSchema = nil, e.Action.Input // the schema replaces them
		if doc.Usage = e.Usage(entry.DetailNames); e.Selector != "" {
			doc.Usage = strings.Replace(e.Pattern(), "ACTION", "'"+e.Selector+"'", 1)
		}
	}
	if doc.InputSchema != nil {
		if doc.Output = memberOf(e.Action.Definition, "outputSchema"); !with.Schema {
			doc.Output, _ = unseen.JSON(doc.Output)
		}
	}
	if example := json.RawMessage(e.Action.Example); with.Always ||
		with.Examples && (with.Schema || slices.ContainsFunc(e.ListedParams(), hasForm)) {
		if len(example) == 0 && with.Always {
			example = judge.Example(e.Action.Input)
		}
		if len(example) > 0 {
			doc.Example = e.FromCanonical(example)
		}
	}
	return doc
}

// hasForm reports whether a parameter is an object or a list of objects. An example shows their
// form better than a usage.
func hasForm(p toolfold.Param) bool {
	for p.Kind == toolfold.KindArray {
		p = *p.Items
	}
	return p.Kind == toolfold.KindObject
}

// clearWords is the longest parameter description, in words, that is taken to add nothing to the
// name and type.
const clearWords = 6

// explanation returns the description of a parameter, unless its name and usage are clear, with its
// other names and forms.
func explanation(p toolfold.Param) string {
	var parts []string
	if p.Unclear || len(strings.Fields(p.Doc)) > clearWords {
		parts = append(parts, strings.TrimSuffix(p.Doc, "."))
	}
	if len(p.Also) > 0 {
		parts = append(parts, "also "+strings.Join(p.Also, ", "))
	}
	for member, value := range p.OfText {
		if value == nil {
			parts = append(parts, "a text is its "+member)
		}
	}
	return strings.Join(parts, "; ")
}

// mostFields limits the named result fields; the schema names all.
const mostFields = 8

// fieldNames names result fields and their members in short form: count, results[key, score]. After
// [mostFields] names it counts the rest, unless all is set.
func fieldNames(params []toolfold.Param, all bool) string {
	var names []string
	for _, p := range params {
		if p.Name == "hasMore" || p.Name == "message" {
			continue // nextCursor is absent on the last page; messages need no name to be read
		}
		name := p.Name
		var inner []string
		for _, member := range p.Members() {
			inner = append(inner, member.Name)
		}
		if len(inner) > 0 && p.Name != "broken" { // files, lines and reasons are for people
			name += "[" + strings.Join(inner, ", ") + "]"
		}
		names = append(names, name)
	}
	if more := len(names) - mostFields; more > 1 && !all { // a single name is as short as "… 1 more"
		names = append(names[:mostFields], fmt.Sprintf("… %d more", more))
	}
	return strings.Join(names, ", ")
}

// join puts a summary before doc. It returns only doc if the summary is a cut sentence that doc
// begins with.
func join(summary, doc string) string {
	if begin, long := strings.CutSuffix(summary, "…"); long && strings.HasPrefix(doc, begin) {
		return doc
	}
	if doc == "" {
		return summary
	}
	return summary + " " + doc
}
