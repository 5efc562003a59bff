package everyaction_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// Environment variables of TestRandomAnswersFitOutputSchemas: the number of calls on each surface,
// and the file for answers and their schemas, which another validator (e2e) checks.
const (
	typedCalls   = "TOOLFOLD_TYPED_CALLS"
	typedAnswers = "TOOLFOLD_TYPED_ANSWERS"
)

// typedSample is the default number of calls.
const typedSample = 300

// answerLine is one line of the file of answers.
type answerLine struct {
	Surface string          `json:"surface"`
	Tool    string          `json:"tool"`
	Schema  json.RawMessage `json:"schema,omitempty"` // in lines without an answer, the first of a tool
	Answer  json.RawMessage `json:"answer,omitempty"`
}

// Random calls of all actions, most of them valid, return results that fit the listed output
// schema, or errors without structured content.
func TestRandomAnswersFitOutputSchemas(t *testing.T) {
	t.Parallel()
	calls := typedSample
	if text := os.Getenv(typedCalls); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", typedCalls, err)
		}
		calls = n
	}
	out := io.Discard
	if path := os.Getenv(typedAnswers); path != "" {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		buffered := bufio.NewWriter(file)
		defer buffered.Flush()
		out = buffered
	}
	write := func(line answerLine) {
		if _, err := out.Write(append(ordered.MustJSON(line), '\n')); err != nil {
			t.Fatal(err)
		}
	}
	for name, o := range map[string]surface.Options{"granular": typed, "legacy": {Mode: surface.Legacy, Level: lazy.Full, Structured: true}} {
		s := serveBench(t, o)
		g := &typedCaller{Rand: rand.New(rand.NewPCG(1, uint64(len(name)))), learned: map[string][]any{}}
		schemas, tools := map[string]*jsonschema.Schema{}, s.typedTools(t, name, write)
		for tool, item := range tools {
			schemas[tool] = compiled(t, tool, item.schema)
		}
		names, right := slices.Sorted(maps.Keys(tools)), map[string]int{}
		for i := range calls {
			tool := names[i%len(names)] // all equally often
			result := s.callTool(t, tool, ordered.MustJSON(g.arguments(tools[tool])))
			if result.IsError {
				if result.StructuredContent != nil {
					t.Errorf("%s %s: an error has structured content: %s", name, tool, result.StructuredContent)
				}
				continue
			}
			right[tool]++
			write(answerLine{Surface: name, Tool: tool, Answer: result.StructuredContent})
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(result.StructuredContent))
			if err != nil {
				t.Fatalf("%s %s: %v", name, tool, err)
			}
			if err := schemas[tool].Validate(value); err != nil {
				t.Errorf("%s %s answers %.500s: %v", name, tool, result.StructuredContent, err)
			}
			g.learn(value)
		}
		answered := 0
		for _, n := range right {
			answered += n
		}
		t.Logf("%s: %d calls of %d tools, %d answered by %d tools", name, calls, len(names), answered, len(right))
		if answered < calls/2 || len(right) < len(names)*3/4 {
			t.Errorf("%s: too few calls are right; never answered: %v", name,
				slices.DeleteFunc(names, func(tool string) bool { return right[tool] > 0 }))
		}
	}
}

// typedTool is a tool that lists an output schema.
type typedTool struct {
	params   []toolfold.Param // as the tool spells them
	required int              // number of required params, which are first
	example  json.RawMessage
	schema   json.RawMessage
}

// typedTools returns the tools of the list that have output schemas, and writes these.
func (s *servedBench) typedTools(t *testing.T, name string, write func(answerLine)) map[string]typedTool {
	t.Helper()
	var list struct {
		Tools []struct {
			Name         string
			OutputSchema json.RawMessage
		}
	}
	s.post(t, "tools/list", "", fmt.Sprintf(modern, "tools/list", ""), &list)
	tools := map[string]typedTool{}
	for _, l := range list.Tools {
		if l.OutputSchema == nil {
			continue
		}
		entries := s.Runner.Lookup(l.Name)
		if len(entries) != 1 {
			t.Fatalf("%s %s stands for %d actions", name, l.Name, len(entries))
		}
		e := entries[0]
		tools[l.Name] = typedTool{e.Params(), len(e.Required()), e.Example(), l.OutputSchema}
		write(answerLine{Surface: name, Tool: l.Name, Schema: l.OutputSchema})
	}
	return tools
}

// typedCaller generates arguments that are valid by their declarations, with ids and names from
// earlier answers.
type typedCaller struct {
	*rand.Rand
	learned map[string][]any // by member name
}

// arguments returns arguments based on the example or on the required parameters only.
func (g *typedCaller) arguments(tool typedTool) map[string]any {
	args := map[string]any{}
	if g.IntN(3) > 0 {
		_ = json.Unmarshal(tool.example, &args)
	}
	for i, p := range tool.params {
		known := g.learned[p.Name]
		if p.Kind != toolfold.KindString || p.Enum != nil || p.Name == toolfold.Cursor.Name {
			known = nil
		}
		switch _, set := args[p.Name]; {
		case len(known) > 0 && (set || i < tool.required) && g.IntN(3) > 0:
			args[p.Name] = known[g.IntN(len(known))]
		case !set && p.Name != toolfold.Cursor.Name && (i < tool.required || g.IntN(8) == 0):
			args[p.Name] = g.value(p)
		}
	}
	return args
}

// value returns a valid value of a parameter.
func (g *typedCaller) value(p toolfold.Param) any {
	switch {
	case len(p.Enum) > 0:
		return p.Enum[g.IntN(len(p.Enum))]
	case len(g.learned[p.Name]) > 0 && p.Kind == toolfold.KindString:
		return g.learned[p.Name][g.IntN(len(g.learned[p.Name]))]
	case p.Format == "uuid":
		return workbench.Session
	case p.Format == "date-time":
		return "2026-07-28T09:00:00Z"
	case p.Format == "uri":
		return "https://example.com/"
	}
	switch p.Kind {
	case toolfold.KindInteger, toolfold.KindNumber:
		low, high := 0.0, 20.0
		if p.Min != nil {
			low, high = *p.Min, *p.Min+20
		}
		if p.Max != nil {
			high = min(high, *p.Max)
		}
		return int(low) + g.IntN(int(high-low)+1)
	case toolfold.KindBoolean:
		return g.IntN(2) == 0
	case toolfold.KindArray:
		list := make([]any, max(p.MinItems, g.IntN(3)))
		for i := range list {
			list[i] = g.value(*p.Items)
		}
		return list
	case toolfold.KindObject:
		object := map[string]any{}
		for _, m := range p.Required {
			object[m.Name] = g.value(m)
		}
		for _, m := range p.Optional {
			if g.IntN(4) == 0 {
				object[m.Name] = g.value(m)
			}
		}
		return object
	case toolfold.KindAny:
		return []any{"text", 1.5, true, []any{1, "a", nil}, map[string]any{"a": nil, "b": []any{}}}[g.IntN(5)]
	}
	return []string{"alpha", "team/rules", "Ünïcode ✓", "a longer text with several words"}[g.IntN(4)]
}

// learn stores the texts of an answer by member name and keeps the newest few.
func (g *typedCaller) learn(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			g.learn(item)
		}
	case map[string]any:
		for name, member := range v {
			if text, ok := member.(string); ok && text != "" && len(text) < 200 {
				known := append(g.learned[name], text)
				g.learned[name] = known[max(0, len(known)-8):]
			}
			g.learn(member)
		}
	}
}
