package tools

import (
	"context"
	"encoding/json"
	"slices"
)

// Spec is a family as plain data, free of its service's type. Specs are made
// once and must not be changed.
type Spec struct {
	Name, Summary, Doc string
	Words              string
	Category           Category
	Tier               Tier
	OpenWorld          bool
	Bare               bool
	Actions            []*ActionSpec

	service *service // nil until mounted
}

// ActionSpec is an action as plain data.
type ActionSpec struct {
	Family                      *Spec
	Name, Summary, Doc          string
	Words, Changed              string
	Legacy                      OldNames
	Required, Optional, Returns []Param
	Effect                      Effect
	Example                     json.RawMessage
	Related                     []string

	// input is the schema of a tool that was declared elsewhere, as it came;
	// nil for our own. The result of such a tool is not declared either.
	input json.RawMessage

	run      runner
	forwards bool // its result is a [Forward]
}

// runner calls the typed method behind an action.
type runner func(ctx context.Context, service any, args []byte) (any, error)

// Spec returns the family as plain data.
func (f Family[S]) Spec() *Spec {
	spec := &Spec{
		Name: f.Name, Summary: f.Summary, Doc: f.Doc, Words: f.Words, Category: f.Category,
		Tier: f.Tier, OpenWorld: f.OpenWorld, Bare: f.Bare,
	}
	for _, a := range f.Actions {
		spec.Actions = append(spec.Actions, a.spec(spec))
	}
	return spec
}

func (a Action[S]) spec(family *Spec) *ActionSpec {
	return &ActionSpec{
		Family: family, Name: a.Name, Legacy: a.Legacy,
		Summary: a.Summary, Doc: a.Doc, Words: a.Words, Changed: a.Changed,
		Required: a.Required.Params(), Optional: a.Optional.Params(), Returns: a.Returns.Params(),
		Effect: a.Effect, Example: json.RawMessage(a.Example), Related: a.Related,
		run: a.Run.run, forwards: a.Run.out == forwardType,
	}
}

// Action returns the action called name, nil when there is none.
func (s *Spec) Action(name string) *ActionSpec {
	for _, a := range s.Actions {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// ActionNames lists the actions in order.
func (s *Spec) ActionNames() []string {
	names := make([]string, len(s.Actions))
	for i, a := range s.Actions {
		names[i] = a.Name
	}
	return names
}

// FullName is family.action, the name that permissions, describe and logs use;
// that of a bare family's action is the family's.
func (a *ActionSpec) FullName() string {
	if a.Family.Bare {
		return a.Family.Name
	}
	return a.Family.Name + "." + a.Name
}

// Forwards tells whether the action stands for another call, so that its
// result is that call's.
func (a *ActionSpec) Forwards() bool { return a.forwards }

// open tells whether the result may have any fields.
func (a *ActionSpec) open() bool { return a.forwards || a.input != nil }

// Hints returns the MCP annotations of the action alone.
func (a *ActionSpec) Hints() Hints {
	h := a.Effect.Hints()
	h.OpenWorld = a.Family.OpenWorld
	return h
}

// Params lists the parameters, required ones first.
func (a *ActionSpec) Params() []Param {
	return slices.Concat(a.Required, a.Optional)
}

// find returns the parameter called name.
func find(params []Param, name string) (Param, bool) {
	for _, p := range params {
		if p.Name == name {
			return p, true
		}
	}
	return Param{}, false
}

// names lists the names of params.
func names(params []Param) []string {
	list := make([]string, len(params))
	for i, p := range params {
		list[i] = p.Name
	}
	return list
}
