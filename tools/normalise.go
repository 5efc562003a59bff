package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/suggest"
)

// IncludeFields is the argument, taken by every action, that names the result
// fields to keep.
const IncludeFields = "include_fields"

// prepared is a call's arguments made ready to run.
type prepared struct {
	args     Args // canonical names, defaults applied
	fields   []string
	warnings []string
	problems []Problem
}

// prepare normalises and validates the arguments of a call of e. It changes
// args.
func (e *Entry) prepare(args Args) prepared {
	var p prepared
	dropNulls(args)
	p.takeFields(e, args)
	p.judgeNames(e, args)
	p.validate(e, args)
	if len(p.problems) == 0 {
		p.args = e.complete(args)
	}
	return p
}

// dropNulls takes null for absent: strict hosts send one for every parameter
// that a call does not use.
func dropNulls(args Args) {
	for name, value := range args {
		if value == nil {
			delete(args, name)
		}
	}
}

// takeFields removes include_fields from args and checks it.
func (p *prepared) takeFields(e *Entry, args Args) {
	value, ok := args[IncludeFields]
	if !ok {
		return
	}
	delete(args, IncludeFields)
	if single, ok := value.(string); ok {
		value = []any{single}
	}
	list, ok := value.([]any)
	if !ok {
		p.problems = append(p.problems, Problem{Path: "/" + IncludeFields, Kind: ProblemType, Want: "array", Got: TypeName(value)})
		return
	}
	for i, item := range list {
		if problem, ok := fieldProblem(e.Action, i, item); ok {
			p.problems = append(p.problems, problem)
			continue
		}
		p.fields = append(p.fields, item.(string))
	}
}

func fieldProblem(a *ActionSpec, i int, item any) (problem Problem, bad bool) {
	path := pointer("/"+IncludeFields, strconv.Itoa(i))
	name, ok := item.(string)
	if !ok {
		return Problem{Path: path, Kind: ProblemType, Want: "string", Got: TypeName(item)}, true
	}
	if a.open() || Declares(a.Returns, name) {
		return Problem{}, false
	}
	allowed := FieldPaths(a.Returns)
	return Problem{Path: path, Kind: ProblemEnum, Got: Shorten(name), Allowed: allowed, Suggest: suggest.Nearest(name, allowed)}, true
}

// judgeNames removes parameters that the action does not have: silently where
// they say nothing, with a warning where that is safe, else as a problem.
func (p *prepared) judgeNames(e *Entry, args Args) {
	params := e.Params()
	for _, name := range sortedNames(args) {
		if _, ok := find(params, name); ok {
			continue
		}
		value := args[name]
		delete(args, name)
		owners := e.owners(name)
		switch {
		case len(owners) > 0 && (saysNothing(value) || isDefault(owners, name, value)):
		case e.Old != nil:
			p.warn("%s has no parameter %q: ignored", e.Title(), Shorten(name))
		case len(owners) > 0 && e.Action.Effect == Reads:
			p.warn("%s has no parameter %q: ignored (it belongs to %s)", e.Title(), name, strings.Join(verbs(owners), ", "))
		case len(owners) > 0:
			p.problems = append(p.problems, Problem{Path: pointer("", name), Kind: ProblemStray, BelongsTo: verbs(owners)})
		default:
			p.problems = append(p.problems, Problem{Path: pointer("", name), Kind: ProblemUnknown, Suggest: suggest.Nearest(name, absent(params, args))})
		}
	}
}

// maxWarnings is how many warnings a result carries: enough to see that the
// call was meant for something else.
const maxWarnings = 8

func (p *prepared) warn(format string, args ...any) {
	if len(p.warnings) == maxWarnings {
		p.warnings = append(p.warnings, "there are more")
	}
	if len(p.warnings) > maxWarnings {
		return
	}
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// owners are the sibling actions that have a parameter of that name.
func (e *Entry) owners(name string) []*ActionSpec {
	var list []*ActionSpec
	for _, a := range e.Action.Family.Actions {
		if _, ok := find(a.Params(), name); ok && a != e.Action {
			list = append(list, a)
		}
	}
	return list
}

func verbs(actions []*ActionSpec) []string {
	list := make([]string, len(actions))
	for i, a := range actions {
		list[i] = a.Name
	}
	return list
}

// absent lists the parameters a misspelt name could have meant: those that
// the call does not have yet.
func absent(params []Param, args Args) []string {
	var list []string
	for _, name := range append(names(params), IncludeFields) {
		if _, ok := args[name]; !ok {
			list = append(list, name)
		}
	}
	return list
}

func saysNothing(value any) bool {
	switch v := value.(type) {
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func isDefault(owners []*ActionSpec, name string, value any) bool {
	sent := ordered.MustJSON(value)
	for _, a := range owners {
		p, _ := find(a.Params(), name)
		if p.Default != nil && bytes.Equal(sent, ordered.MustJSON(p.Default)) {
			return true
		}
	}
	return false
}

// validate checks args, coercing what could not validate otherwise.
func (p *prepared) validate(e *Entry, args Args) {
	check := e.checker()
	found := check.problems(args)
	// A single text may become a list, and then a list of numbers.
	for range 2 {
		if !p.coerce(e, args, found) {
			break
		}
		found = check.problems(args)
	}
	p.problems = append(p.problems, found...)
}

// coerce mends args where a problem leaves only one reading, and tells
// whether it changed anything.
func (p *prepared) coerce(e *Entry, args Args, problems []Problem) bool {
	changed := false
	for _, problem := range problems {
		value, _ := lookup(map[string]any(args), problem.Path)
		if problem.Kind == ProblemUnknown && e.Old != nil {
			remove(args, problem.Path)
			p.warn("%s has no parameter %q: ignored", e.Title(), Shorten(problem.name()))
			changed = true
			continue
		}
		if problem.Kind != ProblemType {
			continue
		}
		for _, want := range strings.Split(problem.Want, typeOr) {
			if mended, ok := convert(value, want); ok {
				replace(args, problem.Path, mended)
				changed = true
				break
			}
		}
	}
	return changed
}

// convert reads value as the wanted JSON type where it can only mean that.
func convert(value any, want string) (mended any, ok bool) {
	text, isText := value.(string)
	switch {
	case want == "array" && !isText:
		return []any{value}, true
	case !isText:
		return nil, false
	}
	var parsed any
	if err := decode([]byte(strings.TrimSpace(text)), &parsed); err == nil {
		kind := TypeName(parsed)
		if kind == want || kind == "number" && want == "integer" {
			return parsed, true
		}
	}
	if want == "array" {
		return []any{value}, true
	}
	return nil, false
}

// replace puts value at path, whose holder exists.
func replace(args Args, path string, value any) {
	holder, last := holderOf(args, path)
	switch h := holder.(type) {
	case map[string]any:
		h[last] = value
	case []any:
		if i, err := strconv.Atoi(last); err == nil {
			h[i] = value
		}
	}
}

func remove(args Args, path string) {
	holder, last := holderOf(args, path)
	if object, ok := holder.(map[string]any); ok {
		delete(object, last)
	}
}

func holderOf(args Args, path string) (holder any, last string) {
	cut := strings.LastIndex(path, "/")
	holder, _ = lookup(map[string]any(args), path[:cut])
	return holder, unescapePointer(path[cut+1:])
}

// complete spells args canonically, writes whole numbers as such and applies
// the action's defaults.
func (e *Entry) complete(args Args) Args {
	done := make(Args, len(args))
	for name, value := range args {
		done[e.canonical(name)] = value
	}
	settle(done, e.Action.Params())
	return done
}

func settle(object map[string]any, params []Param) {
	for _, p := range params {
		value, ok := object[p.Name]
		if !ok && p.Default != nil {
			object[p.Name] = p.Default
		}
		if ok {
			object[p.Name] = settleValue(value, p)
		}
	}
}

func settleValue(value any, p Param) any {
	switch v := value.(type) {
	case json.Number:
		if p.Kind == KindInteger {
			return whole(v)
		}
	case []any:
		if p.Items != nil {
			for i := range v {
				v[i] = settleValue(v[i], *p.Items)
			}
		}
	case map[string]any:
		settle(v, slices.Concat(p.Required, p.Optional))
	}
	return value
}

// whole writes 10.0 and 1e1, which are valid integers in JSON Schema, as 10.
func whole(n json.Number) json.Number {
	f, err := n.Float64()
	if err != nil || !strings.ContainsAny(n.String(), ".eE") {
		return n
	}
	return json.Number(strconv.FormatFloat(f, 'f', 0, 64))
}

func sortedNames(args Args) []string {
	list := make([]string, 0, len(args))
	for name := range args {
		list = append(list, name)
	}
	sort.Strings(list)
	return list
}
