// Package consolidate projects families onto consolidated tools: one or two per
// family, with an action argument.
//
// It is not a stable API: see docs/stability.md.
package consolidate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/schema"
)

// Fold decides which actions of a family make up one tool.
type Fold string

// The folds.
const (
	ByFamily Fold = "family" // all of them
	ByEffect Fold = "effect" // actions that only read, and actions that do more
	None     Fold = "none"   // one tool per action
)

// Folds lists the folds, the default first.
func Folds() []Fold { return []Fold{ByFamily, ByEffect, None} }

// toolOf returns the name of the tool that has an action.
func (f Fold) toolOf(a *toolfold.Action) string {
	switch {
	case a.Apart:
		return entry.Select(a).Tool
	case f == ByEffect:
		return a.ToolByEffect()
	case f == None && !a.Family.Bare:
		return a.Joined()
	}
	return a.Family.Name
}

// alone reports whether an action has its own tool, without an action argument.
func (f Fold) alone(a *toolfold.Action) bool { return a.Apart || f == None }

// entry returns the way to call an action.
func (f Fold) entry(a *toolfold.Action) *entry.Entry {
	if f.alone(a) {
		return entry.New(a, f.toolOf(a))
	}
	e := entry.Select(a)
	e.Tool = f.toolOf(a)
	return e
}

// Tools returns the consolidated surface. For each family in order, it has the family's tools, the
// read-only one first, then one tool for each separate action.
func Tools(families []*toolfold.Family, fold Fold) []entry.Tool {
	var list []entry.Tool
	for _, f := range families {
		folded := map[string][]*toolfold.Action{}
		for _, a := range f.Actions {
			if !fold.alone(a) {
				folded[fold.toolOf(a)] = append(folded[fold.toolOf(a)], a)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(folded)) {
			t := entry.Tool{
				Name: name, Summary: f.Summary, Doc: f.Doc, Category: f.Category, Tier: f.Tier,
				Entries: entries(folded[name], fold), Hints: FoldHints(folded[name]),
				Schema: func() json.RawMessage { return Schema(folded[name]) },
			}
			switch {
			case f.Bare && f.Apiece && f.Doc != "": // as received
				t.Summary, t.Doc, t.Schema, t.Whole = f.Doc, "", t.Entries[0].InputSchema, true
			case f.Bare && f.Apiece:
				t.Summary, t.Doc, t.Schema = f.Actions[0].Summary, f.Actions[0].Doc, t.Entries[0].InputSchema
			}
			list = append(list, t)
		}
		for _, a := range f.Actions {
			if fold.alone(a) {
				e := fold.entry(a)
				whole := e.InputSchema
				if a.Input == nil {
					whole = func() json.RawMessage {
						return schema.Object(e.Required(), e.Optional(), schema.Style{Describe: func(toolfold.Param) bool { return !a.Apart }})
					}
				}
				subject := ""
				if !a.Apart && !f.Bare && a.Input == nil {
					subject = f.Summary
				}
				list = append(list, entry.Tool{
					Name: e.Tool, Subject: subject, Summary: a.Summary, Doc: a.Doc, Category: f.Category, Tier: f.Tier,
					Entries: []*entry.Entry{e}, Schema: whole, Hints: a.Hints(), Whole: a.Apart,
				})
			}
		}
	}
	return list
}

// Entries returns the ways to call a family's actions: by the action argument, or by their own
// tool.
func Entries(f *toolfold.Family, fold Fold) []*entry.Entry { return entries(f.Actions, fold) }

func entries(actions []*toolfold.Action, fold Fold) []*entry.Entry {
	list := make([]*entry.Entry, len(actions))
	for i, a := range actions {
		list[i] = fold.entry(a)
	}
	return list
}

// Schema returns the flat schema of a tool with these actions: the action argument and every
// parameter of every action, in order of first use. Limits, formats, defaults and required members
// of objects differ between actions and are checked per action. An enum of at most [listedValues]
// values is listed once, at its first use. Only unclear parameters have texts.
func Schema(actions []*toolfold.Action) json.RawMessage {
	unclear := func(p toolfold.Param) bool { return p.Unclear }
	var union []toolfold.Param
	if !actions[0].Family.Apiece {
		union = Union(actions)
	}
	listEnumsOnce(union, map[string]bool{})
	var names []string
	for _, a := range actions {
		if !a.Family.Bare {
			names = append(names, a.Name)
		}
	}
	return schema.Object(nil, union, schema.Style{Describe: unclear, Listed: true, Actions: names})
}

// Union lists the parameters of all actions, each once, in order of first use. Enums are united;
// limits and defaults are dropped. If one action takes a single value and another a list, the
// result is the single value.
func Union(actions []*toolfold.Action) []toolfold.Param {
	var union []toolfold.Param
	at := map[string]int{}
	for _, a := range actions {
		for _, p := range a.Params() {
			p = unbound(p)
			i, seen := at[p.Name]
			if !seen {
				at[p.Name] = len(union)
				union = append(union, p)
				continue
			}
			union[i] = unite(union[i], p)
		}
	}
	return union
}

// listedValues is the maximum length of an enum in a folded schema. Longer enums cost more in every
// request than they save in calls.
const listedValues = 9

// listEnumsOnce removes enums that are long or were listed before. A model finds them at the first
// use, in a description or in the error about a wrong value.
func listEnumsOnce(params []toolfold.Param, seen map[string]bool) {
	for i := range params {
		p := &params[i]
		if values := strings.Join(p.Enum, " "); len(p.Enum) > 0 {
			if seen[values] || len(p.Enum) > listedValues {
				p.Enum = nil
			}
			seen[values] = true
		}
		for _, inner := range []*toolfold.Param{p.Items, p.Values} {
			if inner != nil {
				element := []toolfold.Param{*inner}
				listEnumsOnce(element, seen)
				*inner = element[0]
			}
		}
		listEnumsOnce(p.Required, seen)
		listEnumsOnce(p.Optional, seen)
	}
}

// unbound returns a parameter without limits, formats, defaults and required members, also in its
// parts.
func unbound(p toolfold.Param) toolfold.Param {
	if p.Items != nil {
		p.Items = new(unbound(*p.Items))
	}
	if p.Values != nil {
		p.Values = new(unbound(*p.Values))
	}
	members := slices.Concat(p.Required, p.Optional)
	for i, m := range members {
		members[i] = unbound(m)
	}
	p.Required, p.Optional = nil, members
	p.MinLen, p.MaxLen, p.Min, p.Max, p.MinItems, p.MaxItems, p.Format, p.Default = 0, 0, nil, nil, 0, 0, "", nil
	return p
}

func unite(a, b toolfold.Param) toolfold.Param {
	if a.Kind == toolfold.KindArray && b.Kind != toolfold.KindArray {
		a, b = b, a
	}
	if b.Kind == toolfold.KindArray && a.Kind != toolfold.KindArray {
		b = unbound(*b.Items)
	}
	if len(a.Enum) == 0 || len(b.Enum) == 0 {
		a.Enum = nil
		return a
	}
	a.Enum = slices.Clone(a.Enum)
	for _, value := range b.Enum {
		if !slices.Contains(a.Enum, value) {
			a.Enum = append(a.Enum, value)
		}
	}
	return a
}

// FoldHints returns hints that are true for a tool with these actions: read-only if all of them
// are, destructive if one of them is.
func FoldHints(actions []*toolfold.Action) toolfold.Hints {
	fold := toolfold.Hints{ReadOnly: true, Idempotent: true}
	for _, a := range actions {
		h := a.Hints()
		fold.ReadOnly = fold.ReadOnly && h.ReadOnly
		fold.Destructive = fold.Destructive || h.Destructive
		fold.Idempotent = fold.Idempotent && h.Idempotent
		fold.OpenWorld = fold.OpenWorld || h.OpenWorld
	}
	return fold
}
