package tools

import (
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"github.com/toolfold/toolfold/internal/ordered"
)

// ActionParam is the argument that picks the action of a consolidated tool.
const ActionParam = "action"

// Entry is one way to call an action: the name that is called, and the
// parameters as they are spelt there. Make entries once; they compile their
// schema on first use.
type Entry struct {
	Action *ActionSpec
	Tool   string // the name that is called

	// Selector is the value of the action argument that leads here. Empty
	// when the tool's name alone does.
	Selector string

	// Old is set for legacy names: parameters are spelt as they were, and
	// unknown ones are dropped with a warning, as old callers expect.
	Old *OldName

	compile sync.Once
	schema  *checker
}

// Consolidated returns the entry under the family's name.
func Consolidated(a *ActionSpec) *Entry {
	e := &Entry{Action: a, Tool: a.Family.Name}
	if !a.Family.Bare {
		e.Selector = a.Name
	}
	return e
}

// Named returns the entry under a name of its own with today's parameters,
// such as the action's full name.
func Named(a *ActionSpec, name string) *Entry {
	return &Entry{Action: a, Tool: name}
}

// Legacy returns the entry under one of the action's old names.
func Legacy(a *ActionSpec, old OldName) *Entry {
	return &Entry{Action: a, Tool: old.Name, Old: &old}
}

// Required lists the required parameters as they are spelt here.
func (e *Entry) Required() []Param { return e.spelt(e.Action.Required) }

// Optional lists the optional parameters as they are spelt here.
func (e *Entry) Optional() []Param { return e.spelt(e.Action.Optional) }

// Params lists the parameters as they are spelt here, required ones first.
func (e *Entry) Params() []Param { return e.spelt(e.Action.Params()) }

// Title names the action the way the caller did: memory.store, memory_store.
func (e *Entry) Title() string {
	if e.Selector == "" {
		return e.Tool
	}
	return e.Tool + "." + e.Selector
}

// verb is the action's name in usage lines and signatures.
func (e *Entry) verb() string {
	if e.Selector == "" {
		return e.Tool
	}
	return e.Selector
}

// Usage is the action's shape in one line, with types.
func (e *Entry) Usage() string {
	return e.verb() + "(" + signature(e.Required(), e.Optional(), typed) + ")"
}

// shortUsage is Usage without the types of what may be left out.
func (e *Entry) shortUsage() string {
	required := signature(e.Required(), nil, typed)
	optional := signature(nil, e.Optional(), bare)
	if required != "" && optional != "" {
		required += ", "
	}
	return e.verb() + "(" + required + optional + ")"
}

// CallUsage is the shape of a whole call: the name to call, the action
// argument with its value, the parameters with their types.
func (e *Entry) CallUsage() string {
	params := signature(e.Required(), e.Listed()[len(e.Required()):], typed)
	if e.Selector == "" {
		return e.Tool + "(" + params + ")"
	}
	selector := ActionParam + ": " + strconv.Quote(e.Selector)
	if params != "" {
		selector += ", "
	}
	return e.Tool + "(" + selector + params + ")"
}

// Example is the declared example as a call of this entry: with the action
// argument, or with the parameters as they were spelt.
func (e *Entry) Example() json.RawMessage {
	return e.FromCanonical(e.Action.Example)
}

// FromCanonical spells the action's own arguments the way this entry takes
// them. Arguments that are not a JSON object come back as they are.
func (e *Entry) FromCanonical(args json.RawMessage) json.RawMessage {
	var members ordered.Map
	if err := json.Unmarshal(args, &members); err != nil {
		return args
	}
	call := ordered.Map{}
	if e.Selector != "" {
		call.Set(ActionParam, e.Selector)
	}
	for _, m := range members {
		call.Set(e.spell(m.Key), m.Value)
	}
	return ordered.MustJSON(call)
}

// ToCanonical is the reverse of FromCanonical: arguments of this entry as the
// action itself spells them. Nothing and null are no arguments.
func (e *Entry) ToCanonical(args json.RawMessage) (json.RawMessage, error) {
	var members ordered.Map
	if len(args) > 0 {
		if err := json.Unmarshal(args, &members); err != nil {
			return nil, err
		}
	}
	canonical := ordered.Map{}
	for _, m := range members {
		if e.Selector == "" || m.Key != ActionParam {
			canonical.Set(e.canonical(m.Key), m.Value)
		}
	}
	return ordered.MustJSON(canonical), nil
}

// spell returns today's parameter name as this entry spells it.
func (e *Entry) spell(name string) string {
	if e.Old == nil {
		return name
	}
	for _, r := range e.Old.Renames {
		if r.Field.Param().Name == name {
			return r.Was
		}
	}
	return name
}

// canonical is the reverse of spell.
func (e *Entry) canonical(name string) string {
	if e.Old == nil {
		return name
	}
	for _, r := range e.Old.Renames {
		if r.Was == name {
			return r.Field.Param().Name
		}
	}
	return name
}

func (e *Entry) spelt(params []Param) []Param {
	spelt := slices.Clone(params)
	for i := range spelt {
		spelt[i].Name = e.spell(spelt[i].Name)
	}
	return spelt
}

func (e *Entry) checker() *checker {
	e.compile.Do(func() {
		e.schema = mustCompile(e.Title(), e.strictSchema())
	})
	return e.schema
}

// strictSchema is what a call's arguments must satisfy, the action argument
// left out. Unknown parameters are judged before it, so it is open.
func (e *Entry) strictSchema() any {
	if e.Action.input != nil {
		return e.Action.input
	}
	return objectSchema(e.Required(), e.Optional(), strict)
}
