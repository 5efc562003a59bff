// Package toolfoldtest tests families. A family's own test has three parts:
//
//	func TestDeclaration(t *testing.T) { toolfoldtest.Run(t, notes) }
//
//	func TestExamples(t *testing.T) { toolfoldtest.Examples(t, toolfoldtest.Mount(t, notes, &Service{})) }
//
//	func TestAdd(t *testing.T) {
//		talk := toolfoldtest.Over(t, toolfoldtest.Mount(t, notes, &Service{}))
//		talk.Expect("note.add", `{"text": "a"}`, `{"count":1}`)
//		talk.Refuse("note.add", `{}`, toolfold.InvalidInput, "text is missing", "")
//	}
//
// [Run] compares everything that follows from a declaration with one golden file,
// testdata/<family>.txtar, that a reviewer reads as a model would. go test -update
// writes it.
package toolfoldtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/test/golden"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/legacy"
	"github.com/toolfold/toolfold/migration"
	"github.com/toolfold/toolfold/surface"
)

// Run tests the declaration of a family: it is valid, every schema that follows
// from it is legal for all known hosts, and all of it equals the golden file.
func Run(t *testing.T, family toolfold.Family) {
	t.Helper()
	if err := family.Validate(); err != nil {
		t.Fatal(err)
	}
	spec := family.Declared()
	for _, mode := range surface.Modes() {
		for _, level := range lazy.Levels() {
			for _, form := range entry.Forms() {
				for _, l := range surface.List([]*toolfold.Family{spec}, surface.Options{Mode: mode, Level: level, Params: form}) {
					CheckSchema(t, l.Name, l.InputSchema)
				}
			}
		}
	}
	golden.Compare(t, "testdata/"+spec.Name+".txtar", Derived(t, spec))
}

// Derived returns everything that follows from a declaration, as a txtar archive.
func Derived(t *testing.T, s *toolfold.Family) string {
	t.Helper()
	var b strings.Builder
	section := func(name string, lines ...string) {
		fmt.Fprintf(&b, "-- %s --\n%s\n", name, strings.Join(lines, "\n"))
	}
	for _, level := range lazy.Levels() {
		section("consolidated "+string(level), lines(surface.List([]*toolfold.Family{s}, surface.Options{Level: level}))...)
	}
	section("legacy full", lines(lazy.List(legacy.Tools([]*toolfold.Family{s}), lazy.Full))...)
	section("usage", usages(s)...)
	section("hints", hints(s)...)
	section("migration", rewrites(t, s)...)
	return b.String()
}

func lines(list []lazy.ListedTool) []string {
	var lines []string
	for _, l := range list {
		lines = append(lines, string(ordered.MustJSON(l)))
	}
	return lines
}

func usages(s *toolfold.Family) []string {
	var lines []string
	for _, a := range s.Actions {
		lines = append(lines, entry.Select(a).In(entry.FormObject).Usage(entry.DetailCall))
	}
	return lines
}

func hints(s *toolfold.Family) []string {
	lines := []string{fmt.Sprintf("%s %s", s.Name, ordered.MustJSON(consolidate.FoldHints(s.Actions)))}
	for _, a := range s.Actions {
		lines = append(lines, fmt.Sprintf("%s %s", a.FullName(), a.Effect))
	}
	return lines
}

func rewrites(t *testing.T, s *toolfold.Family) []string {
	t.Helper()
	rewriter := migration.NewRewriter([]*toolfold.Family{s})
	var lines []string
	for _, a := range s.Actions {
		for _, old := range a.Legacy {
			call := migration.Call{Name: old.Name, Arguments: entry.Spell(a, old).Example()}
			now, _, err := rewriter.Rewrite(call)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(ordered.MustJSON(call)), string(ordered.MustJSON(now)))
		}
	}
	return lines
}

// CheckSchema fails the test if a known host would reject or change an input schema. The root must be an
// object with properties and without combinators. No type is an array, no schema is a boolean, every value has
// a type, and every list has items.
func CheckSchema(t *testing.T, name string, schema json.RawMessage) {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(schema, &root); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if root["type"] != "object" || root["properties"] == nil {
		t.Errorf("%s: the root of the schema is not an object with properties: %s", name, schema)
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "if", "not", "$ref"} {
		if _, ok := root[keyword]; ok {
			t.Errorf("%s: %s at the root of the schema", name, keyword)
		}
	}
	checkPart(t, name, root)
}

func checkPart(t *testing.T, where string, schema map[string]any) {
	t.Helper()
	if word, ok := schema["type"]; ok {
		if _, text := word.(string); !text {
			t.Errorf("%s: the type is not one word: %v", where, word)
		}
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		for name, p := range properties {
			checkMember(t, where+"."+name, p)
		}
	}
	items, ok := schema["items"]
	if ok {
		checkMember(t, where+"[]", items)
	} else if schema["type"] == "array" {
		t.Errorf("%s: a list without items", where)
	}
}

func checkMember(t *testing.T, where string, schema any) {
	t.Helper()
	object, ok := schema.(map[string]any)
	if !ok {
		t.Errorf("%s: the schema is not an object: %v", where, schema)
		return
	}
	if alternatives, ok := object["anyOf"].([]any); ok {
		for _, alternative := range alternatives {
			checkMember(t, where, alternative)
		}
	} else if object["type"] == nil {
		t.Errorf("%s: no type", where)
	}
	checkPart(t, where, object)
}
