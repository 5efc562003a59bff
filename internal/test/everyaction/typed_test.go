package everyaction_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// typed is a surface of tools that list output schemas.
var typed = surface.Options{Fold: consolidate.None, Level: lazy.Full}

// A tool that is one action and lists its whole schema also lists an output schema. Its answers
// fit: on an empty workbench, on a full one, and after all examples.
func TestAnswersFitOutputSchemas(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*workbench.Bench{"empty": workbench.New(t, typed), "full": workbench.Crammed(t, typed)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schemas := map[string]*jsonschema.Schema{}
			for _, l := range b.Discovery.List(t.Context()) {
				if l.OutputSchema != nil {
					schemas[l.Name] = compiled(t, l.Name, l.OutputSchema)
				}
			}
			answered := 0
			for _, f := range b.Families() {
				for _, a := range f.Actions {
					tool := f.Name + "_" + a.Name
					if f.Bare {
						tool = f.Name
					}
					if schemas[tool] == nil && !a.OpenResult() {
						t.Errorf("%s lists no output schema", tool)
					}
					if schemas[tool] == nil {
						continue
					}
					for _, args := range []string{a.Example, withoutOptional(a)} {
						answer := b.Client.Call(t.Context(), tool, json.RawMessage(args))
						if answer.Err != nil {
							continue
						}
						answered++
						if !answer.Typed {
							t.Errorf("%s is not sent as structured content", tool)
						}
						value, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer.Content))
						if err != nil {
							t.Fatal(err)
						}
						if err := schemas[tool].Validate(value); err != nil {
							t.Errorf("%s %s answers %.500s: %v", tool, args, answer.Content, err)
						}
					}
				}
			}
			if answered < 60 {
				t.Errorf("only %d calls were answered", answered)
			}
		})
	}
}

// withoutOptional returns the example of an action with only the required parameters.
func withoutOptional(a *toolfold.Action) string {
	var args map[string]json.RawMessage
	if err := json.Unmarshal([]byte(a.Example), &args); err != nil {
		panic(err)
	}
	for name := range args {
		if !isRequired(a, name) {
			delete(args, name)
		}
	}
	text, _ := json.Marshal(args)
	return string(text)
}

func compiled(t *testing.T, name string, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(name, value); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// Every value in an output schema declares its shape if it has one.
func TestOutputSchemasHaveShapes(t *testing.T) {
	t.Parallel()
	for _, l := range workbench.New(t, typed).Discovery.List(t.Context()) {
		var schema any
		if l.OutputSchema != nil && json.Unmarshal(l.OutputSchema, &schema) != nil {
			t.Errorf("%s: %s", l.Name, l.OutputSchema)
		}
		shapeless(l.Name, schema, func(path string) {
			if !anyValues[path[strings.LastIndex(path, ".")+1:]] && !nested[path] {
				t.Errorf("%s may be anything", path)
			}
		})
	}
}

// anyValues are result fields with data of callers, results of runs, or values with a schema of
// their own.
var anyValues = map[string]bool{
	"value": true, "oldValue": true, "newValue": true, "metadata": true, "details": true, "input": true, "output": true, "answer": true,
	"config": true, "inputSchema": true, "tools": true, "definitions": true, "got": true, "result": true, "arguments": true,
}

// nested are lists of steps within steps, which have the shape of the enclosing list.
var nested = map[string]bool{
	"workflow_run.dryRun.plan.steps": true, "workflow_run.dryRun.plan.then": true, "workflow_run.dryRun.plan.else": true,
}

func shapeless(path string, schema any, report func(path string)) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	properties, _ := s["properties"].(map[string]any)
	if s["type"] == nil {
		report(path)
	}
	if s["type"] == "object" && properties == nil && s["additionalProperties"] == true {
		report(path)
	}
	for name, p := range properties {
		shapeless(path+"."+name, p, report)
	}
	shapeless(path, s["items"], report)
	shapeless(path, s["additionalProperties"], report)
}

// A tool with an output schema returns all of its answer, or how to read on.
func TestTypedAnswersAreWhole(t *testing.T) {
	t.Parallel()
	o := typed
	o.ResultLimit = 12_000
	b := workbench.Crammed(t, o)
	answer := b.Client.Call(t.Context(), "memory_get", json.RawMessage(`{"key":"text","include_fields":["key"]}`))
	if answer.Err == nil || answer.Err.Code != toolfold.InvalidInput || !strings.Contains(answer.Err.Hint, "tool_call") {
		t.Errorf("include_fields is answered %s", answer.Content)
	}
	answer = b.Client.Call(t.Context(), "memory_get", json.RawMessage(`{"key":"text"}`))
	if answer.Err == nil || answer.Err.Code != "RESULT_TOO_LONG" || !strings.Contains(answer.Err.Hint, "memory.get") {
		t.Errorf("a long entry is answered %.300s", answer.Content)
	}
	for _, call := range []string{
		`{"name":"memory.get","arguments":{"key":"text"},"include_fields":["value[:100]"]}`,
		`{"name":"memory_get","arguments":{"key":"text","include_fields":["key"]}}`,
	} {
		answer := b.Client.Call(t.Context(), "tool_call", json.RawMessage(call))
		if answer.Err != nil || answer.Typed || len(answer.Content) > 1000 {
			t.Errorf("%s is answered %.300s", call, answer.Content)
		}
	}
	for _, f := range b.Families() {
		for _, a := range f.Actions {
			if a.OpenResult() || f.Bare {
				continue
			}
			answer := b.Client.Call(t.Context(), f.Name+"_"+a.Name, json.RawMessage(a.Example))
			cut := answer.Err == nil && strings.Contains(string(answer.Content), "ask for it with "+callctx.ArgFields)
			if cut || len(answer.Content) > o.ResultLimit {
				t.Errorf("%s answers %d bytes: %.200s", a.FullName(), len(answer.Content), answer.Content)
			}
		}
	}
}

// Folded tools, lower levels and the recorded legacy list have no output schemas.
func TestNoOutputSchemas(t *testing.T) {
	t.Parallel()
	for _, o := range []surface.Options{
		{Level: lazy.Full}, {Fold: consolidate.None, Level: lazy.Signature},
		{Mode: surface.Legacy}, {Mode: surface.Legacy, Structured: true},
	} {
		b := workbench.New(t, o)
		want := o.Structured
		for _, l := range b.Discovery.List(t.Context()) {
			if has := l.OutputSchema != nil; has != want && l.Name != "telemetry_summary" && l.Name != "tool_call" {
				t.Errorf("%+v: %s has an output schema: %v", o, l.Name, has)
			}
		}
	}
}
