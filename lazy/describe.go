package lazy

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/legacy"
	"github.com/toolfold/toolfold/tools"
)

// Account says what a description has beside usage, result fields and effect.
type Account struct {
	Examples bool // an example call
	Schema   bool // the JSON Schema of the arguments
}

// ActionDoc is the full account of one action.
type ActionDoc struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Usage       string          `json:"usage"`            // the call with the types of all parameters
	Params      ordered.Map     `json:"params,omitempty"` // what the types do not tell, by parameter
	InputSchema ordered.Map     `json:"inputSchema,omitempty"`
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
func (v *View) Describe(name string, with Account) (json.RawMessage, *tools.Error) {
	return v.render(fmt.Sprint(with), name, func(entries []*tools.Entry) any {
		if len(entries) > 1 || entries[0].Action.Family.Name == name && !entries[0].Action.Family.Bare {
			family := entries[0].Action.Family
			doc := ToolDoc{Name: family.Name, Description: join(family.Summary+".", family.Doc)}
			for _, e := range entries {
				doc.Actions = append(doc.Actions, ActionRow{e.ShortUsage(), e.Action.Summary, e.Action.Effect.String()})
			}
			return doc
		}
		return actionDoc(v.entry(entries[0]), with)
	})
}

// Define returns the whole definition of a tool, an action or a legacy name,
// as JSON.
func (v *View) Define(name string) (json.RawMessage, *tools.Error) {
	return v.render("definition", name, func(entries []*tools.Entry) any {
		if len(entries) > 1 {
			family := entries[0].Action.Family
			actions := make([]*tools.Action, len(entries))
			for i, e := range entries {
				actions[i] = e.Action
			}
			return Definition{
				Name: family.Name, Description: family.Summary + ": " + signatures(entries, true),
				InputSchema:  consolidate.Schema(actions),
				OutputSchema: object(ordered.Map{}, nil), // it depends on the action
			}
		}
		e := v.entry(entries[0])
		return Definition{
			Name: e.Tool, Description: join(e.Action.Summary, e.Action.Doc),
			InputSchema: inputSchema(e), OutputSchema: e.Action.OutputSchema(),
		}
	})
}

// inputSchema returns the schema of a call of an entry, under a legacy name
// the one that the legacy tool had.
func inputSchema(e *tools.Entry) ordered.Map {
	if e.Legacy {
		return legacy.Schema(e)
	}
	return e.InputSchema()
}

func actionDoc(e *tools.Entry, with Account) ActionDoc {
	doc := ActionDoc{
		Name: e.Title(), Description: join(e.Action.Summary, e.Action.Doc), Usage: e.FullUsage(),
		Returns: fieldNames(e.Action.Results()), Effect: e.Action.Effect.String(), Related: strings.Join(e.Action.Related, ", "),
	}
	for _, p := range e.Listed() {
		if text := words(p); text != "" {
			doc.Params.Set(p.Name, text)
		}
	}
	if with.Schema {
		doc.InputSchema = inputSchema(e)
	}
	if with.Examples && len(e.Action.Example) > 0 {
		doc.Examples = ordered.MustJSON([]json.RawMessage{e.Example()})
	}
	return doc
}

// words says of a parameter what usage does not: its text, its bounds and its
// default.
func words(p tools.Param) string {
	var parts []string
	if p.Doc != "" {
		parts = append(parts, strings.TrimSuffix(p.Doc, "."))
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case p.Min != nil && p.Max != nil:
		parts = append(parts, number(*p.Min)+" to "+number(*p.Max))
	case p.Min != nil:
		parts = append(parts, "at least "+number(*p.Min))
	case p.Max != nil:
		parts = append(parts, "at most "+number(*p.Max))
	}
	if p.MaxLen > 0 {
		parts = append(parts, fmt.Sprintf("at most %d characters", p.MaxLen))
	}
	if p.MaxItems > 0 {
		parts = append(parts, fmt.Sprintf("at most %d", p.MaxItems))
	}
	if p.Default != nil {
		parts = append(parts, "default "+string(ordered.MustJSON(p.Default)))
	}
	return strings.Join(parts, "; ")
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

func join(summary, doc string) string {
	if doc == "" {
		return summary
	}
	return summary + " " + doc
}
