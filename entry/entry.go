// Package entry declares the ways to call an action: its names, the spelling of its parameters
// under each name, and the text of such a call.
//
// It is not a stable API: see docs/stability.md.
package entry

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Form is the place in a call for the parameters that a brief listing does not declare. Every form
// is accepted everywhere: it only decides listings, usage and examples. Empty counts as [FormFlat].
type Form string

// The forms.
const (
	FormObject Form = "object" // in the object params
	FormText   Form = "text"   // in params, as JSON text
	FormFlat   Form = "flat"   // next to the other parameters
)

// Forms lists the forms, the default of surfaces first.
func Forms() []Form { return []Form{FormObject, FormText, FormFlat} }

// Entry is one way to call an action: a name, with the spelling of its parameters. Entries are
// shared and not changed.
type Entry struct {
	Action *toolfold.Action
	Tool   string // the name to call
	Form   Form   // the form in which its calls are shown

	// Selector is the value of the action argument for this action. Empty if the tool's name is
	// enough.
	Selector string

	// Legacy reports that Tool is a legacy name. Unknown parameters are then dropped with a
	// warning, as old callers expect.
	Legacy bool

	// Typed reports that the tool of the entry lists an output schema, so that answers are complete
	// and structured.
	Typed bool

	// inputs returns the parameters in the spelling of this entry.
	inputs func() (required, optional []toolfold.Param)

	spelling map[string]string // of renamed parameters, by current name

	through string // the tool to call it with; empty = its own
}

// New returns the entry of an action with its own name, such as its full name.
func New(a *toolfold.Action, tool string) *Entry {
	inputs := a.Inputs
	if a.Input == nil { // else the action caches them
		inputs = sync.OnceValues(inputs)
	}
	return &Entry{Action: a, Tool: tool, inputs: inputs}
}

// Select returns the entry of an action as a value of the action argument of its family's tool. A
// bare family's tool has no such argument, and an Apart action has its own tool.
func Select(a *toolfold.Action) *Entry {
	if a.Apart {
		return New(a, a.Legacy[0].Name)
	}
	e := New(a, a.Family.Name)
	if !a.Family.Bare {
		e.Selector = a.Name
	}
	return e
}

// Spell returns the entry of one of the action's legacy names, with the legacy spelling of its
// parameters.
func Spell(a *toolfold.Action, old toolfold.OldName) *Entry {
	e := New(a, old.Name)
	e.Legacy = true
	e.spelling = map[string]string{}
	for _, r := range old.Renames {
		e.spelling[r.Field.Param().Name] = r.Was
	}
	e.inputs = sync.OnceValues(func() (required, optional []toolfold.Param) { return e.spell(old) })
	return e
}

// spell returns the action's parameters in the spelling of a legacy name.
func (e *Entry) spell(old toolfold.OldName) (required, optional []toolfold.Param) {
	required, optional = e.Action.Inputs()
	required, optional = slices.Clone(required), slices.Clone(optional)
	for _, p := range old.Required.Params() {
		same := func(q toolfold.Param) bool { return q.Name == p.Name }
		optional = slices.DeleteFunc(optional, same)
		if i := slices.IndexFunc(required, same); i >= 0 {
			required[i] = p
		} else {
			required = append(required, p)
		}
	}
	for _, params := range [][]toolfold.Param{required, optional} {
		for i := range params {
			p := &params[i]
			p.Name = e.Spelling(p.Name)
			if len(p.OldEnum) > 0 {
				p.Enum = p.OldEnum
			}
		}
	}
	return required, optional
}

// Required returns the required parameters in the spelling of this entry. The slice must not be
// changed.
func (e *Entry) Required() []toolfold.Param {
	required, _ := e.inputs()
	return required
}

// Optional returns the optional parameters in the same way.
func (e *Entry) Optional() []toolfold.Param {
	_, optional := e.inputs()
	return optional
}

// Params lists the parameters in the spelling of this entry, required ones first.
func (e *Entry) Params() []toolfold.Param { return slices.Concat(e.inputs()) }

// ListedParams lists the parameters that a listing of this entry shows. For a legacy name these are the
// parameters of the legacy tool.
func (e *Entry) ListedParams() []toolfold.Param {
	params := e.Params()
	if e.Legacy {
		params = slices.DeleteFunc(params, func(p toolfold.Param) bool { return p.Added })
	}
	return params
}

// Title names the action: by its full name, or by a name that means only this action, such as
// memory_store.
func (e *Entry) Title() string {
	if e.Selector == "" {
		return e.Tool
	}
	return e.Action.FullName()
}

// Verb is the name of the action in usage lines and signatures.
func (e *Entry) Verb() string {
	if e.Selector == "" {
		return e.Tool
	}
	return e.Selector
}

// Spelling returns the name of a parameter in this entry, given its current name.
func (e *Entry) Spelling(name string) string {
	if was, ok := e.spelling[name]; ok {
		return was
	}
	return name
}

// Canonical returns the current name of a parameter, given its name in this entry.
func (e *Entry) Canonical(name string) string {
	for now, was := range e.spelling {
		if was == name {
			return now
		}
	}
	return name
}

// bounded shows a parameter with its type, limits and default, such as limit?: 1..100 = 10. A
// default of false is omitted, and so is the type of a plain string.
func bounded(name string, p toolfold.Param) string {
	text := name
	if word := boundedWord(p); word != string(toolfold.KindString) {
		text += ": " + word
	}
	if p.Default != nil && p.Default != false {
		text += " = " + strings.ReplaceAll(string(ordered.MustJSON(p.Default)), `"`, "'")
	}
	return text
}

// Detail is how much [Entry.Signature] and [Entry.Usage] show of parameters.
type Detail int

// The levels of detail.
const (
	DetailRequired Detail = iota // a signature: the required parameters by name
	DetailNames                  // all by name; in a usage, the required ones with types
	DetailTypes                  // all with types; for another server's tool with the members of objects
	DetailCall                   // a usage: as DetailTypes, for the whole call with tool and action
	DetailBounds                 // a usage: as DetailCall, with limits, defaults and members of objects
)

// Signature returns the verb and its parameters like a function: store(key,value),
// store(key,value,namespace?) or list(limit?:integer).
func (e *Entry) Signature(d Detail, printed map[string]bool) string {
	return e.Verb() + e.Parameters(d, printed)
}

// Parameters returns the parameters of a signature in brackets, or an empty text.
//
// At [DetailRequired], the parameters in [toolfold.Action.Either] are one parameter behind the
// others: (name,agentId|workflowId|input). At [DetailNames], limit and cursor are omitted: very
// many lists have them, and they are in the schema next to the signature.
//
// With types, plain strings have no type, and an enum is printed once. printed holds the enums
// printed before, and may be nil below DetailTypes. For Apiece families every type is printed once,
// because their tools share many types.
func (e *Entry) Parameters(d Detail, printed map[string]bool) string {
	var required, optional []toolfold.Param
	if d == DetailRequired && !e.Legacy {
		names, _ := e.Action.ParamNames()
		for _, name := range names {
			required = append(required, toolfold.Param{Name: name})
		}
	} else {
		required, optional = e.Required(), e.Optional()
	}
	show := bare
	switch d {
	case DetailRequired:
		optional = nil
		if either := e.Either(); either != "" {
			required = append(slices.Clone(required), toolfold.Param{Name: either})
		}
	case DetailNames:
		optional = slices.DeleteFunc(slices.Clone(optional), func(p toolfold.Param) bool {
			return p.Name == callctx.ArgLimit || p.Name == toolfold.Cursor.Name
		})
	default:
		show = func(name string, p toolfold.Param) string {
			word := TypeWord(p)
			if e.Action.Family.Apiece {
				return withTypeOnce(name, p, shapeWord(p), printed)
			}
			if p.Kind == toolfold.KindString && word == string(toolfold.KindString) || printed[p.Name+word] {
				return name
			}
			printed[p.Name+word] = strings.Contains(word, "|")
			return name + ":" + word
		}
	}
	params := signature(required, optional, show)
	if params == "" {
		return ""
	}
	return "(" + strings.ReplaceAll(params, ", ", ",") + ")"
}

// Either returns the optional parameters of which a call needs one, in the spelling of this entry:
// key|keys. It is empty if there are no such parameters.
func (e *Entry) Either() string {
	var names []string
	for _, p := range e.Action.Either.Params() {
		names = append(names, e.Spelling(p.Name))
	}
	return strings.Join(names, "|")
}

// withTypeOnce shows a parameter with its type. It omits the first type that was printed for this
// name, and string if no type was printed for it.
func withTypeOnce(name string, p toolfold.Param, word string, printed map[string]bool) string {
	first, has := p.Name+":"+word, p.Name+":"
	switch {
	case printed[first], !printed[has] && word == string(toolfold.KindString):
		return name
	case !printed[has]:
		printed[has], printed[first] = true, true
	}
	return name + ":" + word
}

func signature(required, optional []toolfold.Param, show func(name string, p toolfold.Param) string) string {
	var parts []string
	for _, p := range required {
		parts = append(parts, show(p.Name, p))
	}
	for _, p := range optional {
		parts = append(parts, show(p.Name+"?", p))
	}
	return strings.Join(parts, ", ")
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func bare(name string, _ toolfold.Param) string { return name }

func withType(name string, p toolfold.Param) string { return name + ": " + TypeWord(p) }

func withShape(name string, p toolfold.Param) string { return name + ": " + shapeWord(p) }

// ToCanonical is the reverse of FromCanonical: it converts flat arguments of this entry to the
// action's own spelling. Empty and null mean no arguments.
func (e *Entry) ToCanonical(args json.RawMessage) (json.RawMessage, error) {
	var members ordered.Map
	if len(args) > 0 {
		if err := json.Unmarshal(args, &members); err != nil {
			return nil, err
		}
	}
	canonical := ordered.Map{}
	for _, m := range members {
		if e.Selector == "" || m.Key != callctx.ArgAction {
			canonical.Set(e.Canonical(m.Key), m.Value)
		}
	}
	return ordered.MustJSON(canonical), nil
}

// Names looks up names. *call.Runner implements it.
type Names interface {
	// Lookup returns the entries of a name: one, or all actions of a tool with an action argument.
	// It is empty for an unknown name.
	Lookup(name string) []*Entry
	// Nearest returns the known name closest to name; empty if there is no similar name.
	Nearest(name string) string
}

// Unknown returns the error for an unknown name.
func Unknown(name string) *toolfold.Error {
	return toolfold.Errorf(toolfold.UnknownTool, "there is no tool %q", shorten.Quoted(name))
}
