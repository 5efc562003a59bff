package engine

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/expression"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Names resolves names, and lists all actions in the order of listings.
// *call.Runner implements it.
type Names interface {
	entry.Names
	Actions() []*toolfold.Action

	// Absence returns an error with the code [toolfold.UpstreamError] for an unknown name that may be a
	// tool of a server without tools at the moment. It returns nil for other names.
	Absence(name string) *toolfold.Error
}

// mayCome reports whether an unknown name may be a tool of a server that offers none now.
func mayCome(known Names, name string) bool {
	err := known.Absence(name)
	return err != nil && err.Code == toolfold.UpstreamError
}

// ToolUses are the tool calls of a definition. They are checked separately,
// because the set of tools changes while the definition stays.
type ToolUses []toolUse

type toolUse struct {
	step      string // its stepId
	at        string // JSON pointer of the step's config
	name      string // of the tool
	action    string // the argument of that name, if hasAction
	arguments any    // as they are written
	hasAction bool
	open      bool // the arguments are an expression, evaluated when the step runs
	offered   bool // name is a pattern of actions for a model, and at its own JSON pointer
	inline    bool // the step's type selects the tool, and the config has its arguments
}

// Pointers lists where [ToolUses.Check] may find faults.
func (uses ToolUses) Pointers() []string {
	var list []string
	for _, u := range uses {
		list = append(list, u.toolPointer())
		if !u.offered {
			list = append(list, u.actionPointer())
		}
	}
	return list
}

func (u toolUse) toolPointer() string {
	if u.offered {
		return u.at
	}
	if u.inline {
		return strings.TrimSuffix(u.at, "/config") + "/type"
	}
	return jsonx.Pointer(u.at, "tool")
}

func (u toolUse) argumentsPointer() string {
	if u.inline {
		return u.at
	}
	return jsonx.Pointer(u.at, "arguments")
}

func (u toolUse) actionPointer() string {
	return jsonx.Pointer(u.argumentsPointer(), callctx.ArgAction)
}

// Code is the source of a script in a definition.
type Code struct {
	Step, At string // At is the JSON pointer of the source
	Source   string
}

// Codes lists the scripts whose source a definition has.
func (uses ToolUses) Codes() (list []Code) {
	for _, u := range uses {
		arguments, _ := u.arguments.(map[string]any)
		if source, written := arguments["code"].(string); written && u.inline {
			list = append(list, Code{u.step, jsonx.Pointer(u.at, "code"), source})
		}
	}
	return list
}

// matches reports whether a pattern matches an action that models may be offered.
func (u toolUse) matches(known Names) bool {
	return slices.ContainsFunc(offerable(known), func(a *toolfold.Action) bool { return a.AllowedBy(u.name) })
}

// Check returns a fault for each unknown tool, and for each action that its tool
// lacks. Tools of a server without tools at the moment are accepted. If known is
// nil, Check returns nil.
func (uses ToolUses) Check(known Names) Faults {
	if known == nil {
		return nil
	}
	var faults Faults
	for _, u := range uses {
		if u.offered {
			if !u.matches(known) && !mayCome(known, u.name) {
				faults = append(faults, Fault{Step: u.step, Problem: toolfold.Problem{
					Path: u.at, Kind: toolfold.ProblemFormat, Want: "pattern that an action matches, such as memory.search or memory.*",
					Got: shorten.Quoted(u.name), Suggest: known.Nearest(u.name),
				}})
			}
			continue
		}
		entries := known.Lookup(u.name)
		if len(entries) == 0 && mayCome(known, u.name) {
			continue
		}
		if len(entries) == 0 {
			faults = append(faults, Fault{Step: u.step, Problem: toolfold.Problem{
				Path: u.toolPointer(), Kind: toolfold.ProblemEnum, Got: shorten.Quoted(u.name), Suggest: known.Nearest(u.name),
			}})
			continue
		}
		if entries[0].Selector == "" || u.open {
			continue
		}
		var allowed []string
		for _, e := range entries {
			allowed = append(allowed, e.Selector)
		}
		switch {
		case !u.hasAction:
			faults = append(faults, Fault{Step: u.step, Problem: toolfold.Problem{Path: u.actionPointer(), Kind: toolfold.ProblemMissing}})
		case !strings.Contains(u.action, expression.Opening) && !slices.Contains(allowed, u.action):
			faults = append(faults, Fault{Step: u.step, Problem: toolfold.Problem{
				Path: u.actionPointer(), Kind: toolfold.ProblemEnum, Got: shorten.Quoted(u.action), Allowed: allowed,
				Suggest: suggest.Nearest(u.action, allowed),
			}})
		}
	}
	return faults
}
