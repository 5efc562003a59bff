package lazy

import (
	"encoding/json"
	"strings"

	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/tools"
)

// ActionDoc is the full account of one action.
type ActionDoc struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema ordered.Map     `json:"inputSchema"`
	Returns     string          `json:"returns,omitempty"` // result fields; inner ones in brackets
	Effect      string          `json:"effect"`
	Examples    json.RawMessage `json:"examples,omitempty"`
	Related     string          `json:"related,omitempty"`
}

// ToolDoc is the account of a tool with several actions.
type ToolDoc struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Actions     []ActionRow `json:"actions"`
}

// ActionRow is an action in the account of its tool.
type ActionRow struct {
	Usage   string `json:"usage"`
	Summary string `json:"summary"`
	Effect  string `json:"effect"`
}

// Definition is a tool as the protocol defines one.
type Definition struct {
	Name         string      `json:"name"`
	Description  string      `json:"description"`
	InputSchema  ordered.Map `json:"inputSchema"`
	OutputSchema ordered.Map `json:"outputSchema"`
}

// Describe returns the account of a tool, an action or a legacy name, as
// JSON. An unknown name is an error that has the nearest one.
func (d *Discovery) Describe(name string, examples bool) (json.RawMessage, *tools.Error) {
	key := "doc " + name
	if examples {
		key = "doc+examples " + name
	}
	return d.cached(key, name, func(state *state, entries []*tools.Entry) any {
		if len(entries) > 1 || entries[0].Action.Family.Name == name && !entries[0].Action.Family.Bare {
			return toolDoc(entries)
		}
		return actionDoc(state.shown(entries[0]), examples)
	})
}

// Define returns the whole definition of a tool, an action or a legacy name,
// as JSON.
func (d *Discovery) Define(name string) (json.RawMessage, *tools.Error) {
	return d.cached("definition "+name, name, func(state *state, entries []*tools.Entry) any {
		if len(entries) > 1 {
			return toolDefinition(entries)
		}
		return actionDefinition(state.shown(entries[0]))
	})
}

// cached renders the account of a name on its first use. What is cached is
// what everybody may see: permissions are the same for all callers.
func (d *Discovery) cached(key, name string, render func(*state, []*tools.Entry) any) (json.RawMessage, *tools.Error) {
	text, generation, ok := d.cache.get(key)
	if ok {
		return text, nil
	}
	entries, err := d.lookup(name)
	if err != nil {
		return nil, err
	}
	text = ordered.MustJSON(render(d.state.Load(), entries))
	d.cache.keep(key, text, generation)
	return text, nil
}

// lookup finds the permitted entries that a name stands for.
func (d *Discovery) lookup(name string) ([]*tools.Entry, *tools.Error) {
	var permitted []*tools.Entry
	for _, e := range d.options.Names.Lookup(name) {
		if d.refusal(e.Action) == nil {
			permitted = append(permitted, e)
		}
	}
	if len(permitted) == 0 {
		return nil, d.unknown(name)
	}
	return permitted, nil
}

func (d *Discovery) unknown(name string) *tools.Error {
	err := tools.UnknownName(name)
	if near := d.options.Names.Nearest(name); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	var names []string
	for _, hit := range d.Find(name, 3) {
		names = append(names, hit.Name)
	}
	if len(names) > 0 {
		return err.WithHint("perhaps one of %v", names)
	}
	return err.WithHint("find tools by what they do")
}

// shown is the entry under which the surface calls the action: a legacy name
// is described as it is, any other the way it is listed.
func (s *state) shown(e *tools.Entry) *tools.Entry {
	if e.Old != nil || s.entries[e.Action] == nil {
		return e
	}
	return s.entries[e.Action]
}

func actionDoc(e *tools.Entry, examples bool) ActionDoc {
	doc := ActionDoc{
		Name: e.Title(), Description: join(e.Action.Summary, e.Action.Doc), InputSchema: e.InputSchema(),
		Returns: fieldNames(e.Action.Returns), Effect: e.Action.Effect.String(), Related: strings.Join(e.Action.Related, ", "),
	}
	if examples && len(e.Action.Example) > 0 {
		doc.Examples = ordered.MustJSON([]json.RawMessage{e.Example()})
	}
	return doc
}

// fieldNames names result fields, shorter than a schema does:
// count, results[key, score].
func fieldNames(params []tools.Param) string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
		if inner := tools.Inside(p); len(inner) > 0 {
			names[i] += "[" + fieldNames(inner) + "]"
		}
	}
	return strings.Join(names, ", ")
}

func toolDoc(entries []*tools.Entry) ToolDoc {
	family := entries[0].Action.Family
	doc := ToolDoc{Name: family.Name, Description: join(family.Summary+".", family.Doc)}
	for _, e := range entries {
		doc.Actions = append(doc.Actions, ActionRow{e.Usage(), e.Action.Summary, e.Action.Effect.String()})
	}
	return doc
}

func actionDefinition(e *tools.Entry) Definition {
	return Definition{
		Name: e.Tool, Description: join(e.Action.Summary, e.Action.Doc),
		InputSchema: e.InputSchema(), OutputSchema: e.Action.OutputSchema(),
	}
}

// toolDefinition leaves the result open: it depends on the action.
func toolDefinition(entries []*tools.Entry) Definition {
	family := entries[0].Action.Family
	actions := make([]*tools.ActionSpec, len(entries))
	for i, e := range entries {
		actions[i] = e.Action
	}
	return Definition{
		Name: family.Name, Description: family.Summary + ": " + signatures(entries, true),
		InputSchema: tools.FlatSchema(actions), OutputSchema: object(ordered.Map{}, nil),
	}
}

func join(summary, doc string) string {
	if doc == "" {
		return summary
	}
	return summary + " " + doc
}
