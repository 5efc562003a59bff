// Package jsapi has the form of actions in scripts: their names, and their signatures in TypeScript.
package jsapi

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// Space is an object of functions, and Member the function Key of one, which calls the action Name.
type (
	Space struct {
		Name    string   `json:"name"`
		Members []Member `json:"members"`
	}
	Member struct {
		Key  string `json:"key"`
		Name string `json:"name"`
	}
)

// place is where a program finds a function.
type place struct{ object, key string }

// Spaces returns the objects of a program, with tools, which is always there. The object without a name
// has the functions without an object, of names without a dot. A name that is not an identifier also has
// the form with underscores, unless this means several actions.
func Spaces(names []string) []Space {
	meaning := map[place]string{} // "" = several
	for _, name := range names {
		for _, p := range places(name) {
			if was, taken := meaning[p]; taken && was != name {
				meaning[p] = ""
			} else {
				meaning[p] = name
			}
		}
	}
	for _, name := range names {
		if family, action, ok := strings.Cut(name, "."); ok { // the exact form wins
			meaning[place{family, action}] = name
		}
	}
	delete(meaning, place{"tools", "call"})
	list, at := []Space{{"tools", []Member{}}}, map[string]int{"tools": 0}
	for _, name := range names {
		for _, p := range places(name) {
			if meaning[p] != name {
				continue
			}
			delete(meaning, p) // names may repeat
			if _, ok := at[p.object]; !ok {
				at[p.object] = len(list)
				list = append(list, Space{Name: p.object})
			}
			members := &list[at[p.object]].Members
			*members = append(*members, Member{p.key, name})
		}
	}
	return list
}

// places returns where an action could be.
func places(name string) (list []place) {
	family, action, ok := strings.Cut(name, ".")
	if !ok {
		family, action = "", name
	}
	for _, object := range forms(family) {
		for _, key := range forms(action) {
			list = append(list, place{object, key})
		}
	}
	return list
}

// forms returns a name and, if it is no identifier, its form with underscores.
func forms(name string) []string {
	identifier := strings.Map(func(r rune) rune {
		if r == '_' || r == '$' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
	if identifier == name {
		return []string{name}
	}
	return []string{name, identifier}
}

// BuiltIn are the objects that every program has. Families of these names are only callable by tools.call.
var BuiltIn = strings.Fields(`AggregateError Array ArrayBuffer BigInt BigInt64Array BigUint64Array Boolean DataView Date Error
EvalError Float16Array Float32Array Float64Array Function Int16Array Int32Array Int8Array InternalError Iterator JSON Map Math
NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set String Symbol SyntaxError ToolError TypeError
URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakSet arguments console globalThis input undefined`)

// taken are further names that a program cannot use for an action's object or function: functions that every
// program has, members of all objects, and words of the language.
var taken = strings.Fields(`Infinity clearTimeout decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval isFinite
isNaN parseFloat parseInt queueMicrotask setTimeout sleep unescape
__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ __proto__ constructor hasOwnProperty isPrototypeOf
propertyIsEnumerable toLocaleString toString valueOf
async await break case catch class const continue debugger default delete do else enum export extends false finally for
function if implements import in instanceof interface let new null of package private protected public return static super
switch this throw true try typeof var void while with yield`)

// Global reports whether every program has a name, as an object, a function or a word of the language.
func Global(name string) bool {
	return name == "tools" || name == "scripts" || slices.Contains(BuiltIn, name) || slices.Contains(taken, name)
}

var identifier = regex.Lazy(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// Names returns the names by which programs call the actions that allow holds, nil for all. A tool of
// another server has also server.tool, which does not depend on how its tools are folded, unless another
// action has that name.
func Names(actions []*toolfold.Action, allow func(*toolfold.Action) bool) (names []string) {
	also := func(a *toolfold.Action) (list []string) {
		for _, alias := range a.Aliases {
			if server := a.Family.Server; server != "" && alias != a.FullName() && strings.HasPrefix(alias, server+".") {
				list = append(list, alias)
			}
		}
		return list
	}
	count := map[string]int{}
	for _, a := range actions {
		count[a.FullName()]++
		for _, alias := range also(a) {
			count[alias]++
		}
	}
	for _, a := range actions {
		if allow != nil && !allow(a) {
			continue
		}
		names = append(names, a.FullName())
		for _, alias := range also(a) {
			if count[alias] == 1 {
				names = append(names, alias)
			}
		}
	}
	return names
}

// Spelling returns a function that returns how a program calls the actions of these names: family.action, or a
// name alone. It returns an empty text for an action that is only callable by tools.call with its exact name.
func Spelling(names []string) func(name string) string {
	spelt := map[string]string{}
	for _, s := range Spaces(names) {
		if s.Name != "" && (!identifier().MatchString(s.Name) || slices.Contains(BuiltIn, s.Name) || slices.Contains(taken, s.Name)) {
			continue
		}
		for _, m := range s.Members {
			call := strings.TrimPrefix(s.Name+"."+m.Key, ".")
			reserved := s.Name == "" && (m.Key == "tools" || slices.Contains(BuiltIn, m.Key) || slices.Contains(taken, m.Key))
			if spelt[m.Name] == "" && identifier().MatchString(m.Key) && !reserved {
				spelt[m.Name] = call
			}
		}
	}
	return func(name string) string { return spelt[name] }
}
