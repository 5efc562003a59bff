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

// Account says what a description has beside usage, result fields and effect.
type Account struct {
	Examples bool // an example call
	Schema   bool // the JSON Schema of the arguments
}

// ActionDoc is the full account of one action.
type ActionDoc struct {
	Description string          `json:"description"`
	Usage       string          `json:"usage"`            // the call with the types of all parameters
	Params      json.RawMessage `json:"params,omitempty"` // what usage does not tell, by parameter
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	Output      json.RawMessage `json:"outputSchema,omitempty"` // of a tool declared elsewhere, beside inputSchema
	Returns     string          `json:"returns,omitempty"`      // result fields; inner ones in brackets
	Effect      string          `json:"effect,omitempty"`       // absent if it only reads
	Example     json.RawMessage `json:"example,omitempty"`
	Server      *ServerDoc      `json:"server,omitempty"` // with its instructions, if the action is all that the name of its server leads to
}

// ToolDoc is the account of a tool with several actions.
type ToolDoc struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Usage       string      `json:"usage"` // the call of any of its actions
	Actions     []ActionRow `json:"actions"`
	Server      *ServerDoc  `json:"server,omitempty"` // if the name of the server leads to the tool, or another has that name
}

// ServerDoc is the account of another server: its whole instructions and the tools that its own are folded to.
type ServerDoc struct {
	Name         string    `json:"name"`
	Instructions string    `json:"instructions,omitempty"`
	Tools        []ToolRow `json:"tools"`
}

// ToolRow is a tool in the account of its server.
type ToolRow struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// ActionRow is an action in the account of its tool.
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

// Describe returns the account of a tool, an action, another server or a legacy name, as
// JSON. An unknown name is an error that has the nearest one.
func (v *View) Describe(name string, with Account) (json.RawMessage, *toolfold.Error) {
	if server := v.serverDoc(name); server != nil && v.names.Lookup(name) == nil {
		return ordered.MustJSON(server), nil
	}
	return v.render(fmt.Sprint(with), name, func(entries []*entry.Entry) any {
		family := entries[0].Action.Family
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

// serverOf returns the account of the server of a family that a name leads to, if it belongs into the account of the
// family: the name is the server's, or it is the name of the server's first family and what has the server's name
// is not of the server. It is nil for other names.
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

// namesake reports whether the name of a server leads to a tool or action that is not the server's.
func (v *View) namesake(server string) bool {
	entries := v.names.Lookup(server)
	return len(entries) > 0 && entries[0].Action.Family.Server != server
}

// serverDoc returns the account of the server with a name; nil if there is none.
func (v *View) serverDoc(name string) *ServerDoc {
	families := v.servers[name]
	if len(families) == 0 {
		return nil
	}
	doc := &ServerDoc{Name: name, Instructions: families[0].Instructions}
	for _, t := range v.tools {
		if slices.Contains(families, t.Entries[0].Action.Family) {
			doc.Tools = append(doc.Tools, ToolRow{t.Name, t.Summary})
		}
	}
	return doc
}

// notAnnotated is the effect of a tool whose server does not say what the tool does. Hosts and rules take the
// worst of it.
const notAnnotated = "not annotated"

func effectOf(a *toolfold.Action) string {
	if a.Unstated {
		return notAnnotated
	}
	return a.Effect.String()
}

// Define returns the whole definition of a tool, an action or a legacy name,
// as JSON, with an output schema only where results are structured.
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
			shown, _ := unseen.JSON(came)
			return renamed(shown, e.Action.FullName())
		}
		definition := Definition{Name: e.Tool, Description: account(e.Action), InputSchema: inputSchema(e)}
		if structured {
			definition.OutputSchema = schema.Output(e.Action)
		}
		return definition
	})
}

// renamed returns the definition of a tool as it came, under another name.
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

// memberOf returns a member of a JSON object; nil without it.
func memberOf(object json.RawMessage, name string) (value json.RawMessage) {
	ordered.Scan(object, func(member []byte, start, end int) {
		if string(member) == name {
			value = object[start:end:end]
		}
	})
	return value
}

// combining are the keywords by which a schema says what no usage does: that one of several must
// hold, or what stands in another spot.
var combining = []string{
	"$ref", "anyOf", "oneOf", "allOf", "not", "if", "const", "patternProperties", "prefixItems", "dependentRequired",
}

// combines reports whether a schema that was written elsewhere says what no usage does, besides
// by references that a usage follows.
func combines(input json.RawMessage) bool {
	var schema ordered.Map
	if json.Unmarshal(input, &schema) != nil {
		return false
	}
	if slices.ContainsFunc(schema, func(m ordered.Member) bool { return slices.Contains(combining, m.Key) }) {
		return true
	}
	input = ordered.MustJSON(slices.DeleteFunc(judge.Plain(schema), func(m ordered.Member) bool { // what nothing refers to says nothing
		return m.Key == "$defs" || m.Key == "definitions"
	}))
	return slices.ContainsFunc(combining, func(keyword string) bool { return bytes.Contains(input, []byte(`"`+keyword+`":`)) })
}

// maxPatterns bounds the patterns that a description names, in characters.
const maxPatterns = 120

// account returns what an action does, and whether its arguments are checked.
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

// inputSchema returns the schema of a call of an entry, under a legacy name
// the one that the legacy tool had.
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
	for _, p := range e.Listed() {
		if text := explanation(p); text != "" {
			params.Set(p.Name, text)
		}
	}
	if len(params) > 0 {
		doc.Params = ordered.MustJSON(params)
	}
	switch {
	case with.Schema && e.Selector == "" && len(e.Action.Input) > 0:
		doc.InputSchema = e.Action.Input // lists may have another root
		if came := memberOf(e.Action.Definition, "inputSchema"); came != nil {
			doc.InputSchema = came // as its server has it
		}
	case with.Schema:
		doc.InputSchema = inputSchema(e)
	case combines(e.Action.Input), bytes.Contains(e.Action.Input, []byte(`"$ref"`)) && len(doc.Usage) > len(e.Action.Input):
		doc.Params, doc.InputSchema = nil, e.Action.Input // which says what usage would
		if doc.Usage = e.Usage(entry.DetailNames); e.Selector != "" {
			doc.Usage = strings.Replace(e.Pattern(), "ACTION", "'"+e.Selector+"'", 1)
		}
	}
	if doc.InputSchema != nil {
		if doc.Output = memberOf(e.Action.Definition, "outputSchema"); !with.Schema {
			doc.Output, _ = unseen.JSON(doc.Output)
		}
	}
	if with.Examples && e.Action.Example != "" && (with.Schema || slices.ContainsFunc(e.Listed(), hasForm)) {
		doc.Example = e.Example()
	}
	return doc
}

// hasForm reports whether a parameter has objects in it, whose form a usage does not show well:
// an example does.
func hasForm(p toolfold.Param) bool {
	for p.Kind == toolfold.KindArray {
		p = *p.Items
	}
	return p.Kind == toolfold.KindObject
}

// clearWords is the most words of a text that says no more of a parameter than
// its name and its type do.
const clearWords = 6

// explanation returns the text of a parameter whose name and usage do not say what is
// meant, with its other names.
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

// mostFields bounds the result fields that are named; the schema names all.
const mostFields = 8

// fieldNames names result fields and their members, shorter than a schema does:
// count, results[key, score]. Beyond the first [mostFields] it says how many there are,
// unless all are asked for.
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
	if more := len(names) - mostFields; more > 1 && !all { // one takes no more room than the words for it
		names = append(names[:mostFields], fmt.Sprintf("… %d more", more))
	}
	return strings.Join(names, ", ")
}

// join puts a summary before the rest of a text, unless that begins with it: a sentence that
// was too long for a summary is whole there.
func join(summary, doc string) string {
	if begin, long := strings.CutSuffix(summary, "…"); long && strings.HasPrefix(doc, begin) {
		return doc
	}
	if doc == "" {
		return summary
	}
	return summary + " " + doc
}
