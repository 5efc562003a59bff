package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// script makes an endpoint answer with messages one after the other, the last of
// them again and again.
func (e *chatServer) script(messages ...string) {
	requests := 0
	e.answer = func(w http.ResponseWriter, _ *http.Request) {
		message := messages[min(requests, len(messages)-1)]
		requests++
		fmt.Fprintf(w, `{"model":"m","choices":[{"index":0,"finish_reason":"stop","message":%s}]}`, message)
	}
}

// textMessage and callMessage return messages of a model.
func textMessage(text string) string {
	return string(ordered.MustJSON(map[string]any{"role": "assistant", "content": text}))
}

func callMessage(pairs ...string) string {
	var calls []any
	for i := 0; i < len(pairs); i += 2 {
		calls = append(calls, map[string]any{"id": fmt.Sprint("c", i/2), "type": "function",
			"function": map[string]any{"name": pairs[i], "arguments": pairs[i+1]}})
	}
	return string(ordered.MustJSON(map[string]any{"role": "assistant", "content": "", "tool_calls": calls}))
}

// messages returns the messages of the nth request as role and content.
func (e *chatServer) messages(n int) []string {
	var list []string
	for _, m := range e.requests[n]["messages"].([]any) {
		m := m.(map[string]any)
		text := fmt.Sprint(m["role"], ": ", m["content"])
		if id, ok := m["tool_call_id"]; ok {
			text = fmt.Sprint(id, " ", text)
		}
		calls, _ := m["tool_calls"].([]any)
		for _, c := range calls {
			c := c.(map[string]any)["function"].(map[string]any)
			text += fmt.Sprint(" ", c["name"], c["arguments"])
		}
		list = append(list, text)
	}
	return list
}

func newMemory() *fakeCaller {
	caller := newCaller()
	caller.tools["memory.search"] = func(_ context.Context, args map[string]any) (any, error) {
		if args["query"] == nil {
			return nil, toolfold.Errorf(toolfold.InvalidInput, "query is missing")
		}
		return map[string]any{"found": args["query"]}, nil
	}
	return caller
}

func (e *chatServer) run(t *testing.T, ctx context.Context, caller toolfold.Caller, step string) Result {
	t.Helper()
	r := &Runner{Caller: caller, Names: fakeTools{}, Providers: e.providers(nil), Tracer: e.tracer}
	return r.Run(ctx, Job{Kind: WorkflowJob, ID: "w", Program: compiled(t, `[{stepId: ask, type: prompt, config: `+step+`}]`)})
}

// The model gets the actions with their whole schema under legal names, what it
// calls is run, errors go back to it in the usual shape, and each call is a
// step of the results.
func TestModelsCallTools(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	e.script(callMessage("memory_search", `{"query":"freeze"}`, "memory_search", ``),
		callMessage("memory_forget", `{}`, "memory_search", `{"query"`), textMessage("on Friday"))
	caller := newMemory()
	exporter := tracetest.NewInMemoryExporter()
	e.tracer = sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	r := e.run(t, t.Context(), caller, `{prompt: "when?", tools: [memory.search, "memory.g*"]}`)
	expect(t, r, `{"ask":"on Friday"}`)
	spans := exporter.GetSpans()
	if got := described(spans, spans[2]); got != "execute_tool memory.search in step ask error.type=TOOL_CONFIG_ERROR "+
		"gen_ai.operation.name=execute_tool gen_ai.tool.name=memory.search toolfold.step.id=ask/2 toolfold.step.type=tool "+
		"toolfold.tolerated=true Error: query is missing" || len(spans) != 9 {
		t.Errorf("%d spans, the third is %s", len(spans), got)
	}
	offered := e.requests[0]["tools"].([]any)
	function := offered[1].(map[string]any)["function"].(map[string]any)
	names := []any{offered[0].(map[string]any)["function"].(map[string]any)["name"], function["name"]}
	if diff := cmp.Diff([]any{"memory_get", "memory_search"}, names); diff != "" {
		t.Error(diff)
	}
	parameters := function["parameters"].(map[string]any)
	query := parameters["properties"].(map[string]any)["query"].(map[string]any)
	if query["type"] != "string" || query["description"] == "" || !cmp.Equal(parameters["required"], []any{"query"}) ||
		function["description"] == "" {
		t.Errorf("%v", function)
	}
	want := []string{
		"user: when?",
		`assistant: <nil> memory_search{"query":"freeze"} memory_search{}`,
		`c0 tool: {"found":"freeze"}`,
		`c1 tool: {"error":{"code":"INVALID_INPUT","message":"query is missing"}}`,
		`assistant: <nil> memory_forget{} memory_search{"query"`,
		`c0 tool: {"error":{"code":"UNKNOWN_TOOL","message":"there is no tool \"memory_forget\"","hint":"there are memory_get, memory_search"}}`,
		`c1 tool: {"error":{"code":"INVALID_INPUT","message":"unexpected end of JSON input"}}`,
	}
	if len(e.requests) != 3 {
		t.Fatalf("%d requests", len(e.requests))
	}
	if diff := cmp.Diff(want, e.messages(2)); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, s := range r.Steps {
		code := ""
		if s.Error != nil {
			code = s.Error.Code + " of " + s.Error.StepID
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(s.StepID, " ", s.Tool, " ", s.Success, " ", code)))
	}
	steps := []string{
		"ask/1 memory.search true", "ask/2 memory.search false TOOL_CONFIG_ERROR of ask/2",
		"ask/3 memory_forget false TOOL_NOT_FOUND of ask/3", "ask/4 memory.search false TOOL_CONFIG_ERROR of ask/4", "ask  true",
	}
	if diff := cmp.Diff(steps, got); diff != "" || r.Completed != 1 {
		t.Error(diff, r.Completed)
	}
}

// A model that goes on calling is told to answer at its last turn.
func TestTurnsAreBounded(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	e.script(callMessage("memory_search", `{"query":"x"}`))
	r := e.run(t, t.Context(), newMemory(), `{prompt: "when?", tools: [memory.search], maxTurns: 3}`)
	expectFailure(t, r, "ask", StepFailed, "called tools when it had to answer, after 2 turns")
	if len(e.requests) != 3 || e.requests[2]["tool_choice"] != "none" || e.requests[1]["tool_choice"] != nil || len(r.Steps) != 3 {
		t.Errorf("%d requests, the last with tool_choice %v; %d steps", len(e.requests), e.requests[2]["tool_choice"], len(r.Steps))
	}
	e.script(callMessage("memory_search", `{"query":"x"}`))
	r = e.run(t, t.Context(), newMemory(), `{prompt: "when?"}`)
	expectFailure(t, r, "ask", StepFailed, "called tools when it had to answer")
}

// What the caller may not run is neither offered nor run, and no action that
// calls others by name is.
func TestToolsWithinRights(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	e.script(callMessage("memory_delete", `{"key":"x"}`), textMessage("done"))
	ctx := callctx.With(t.Context(),
		toolfold.Origin{Rights: &toolfold.Rights{Allows: func(a *toolfold.Action) bool { return a.Effect == toolfold.Reads }}})
	caller := newMemory()
	succeed(t, e.run(t, ctx, caller, `{prompt: "when?", tools: [memory]}`))
	if names := fmt.Sprint(e.requests[0]["tools"]); strings.Contains(names, "memory_delete") || strings.Contains(names, "memory_store") ||
		!strings.Contains(names, "memory_search") || len(caller.calls) != 0 {
		t.Errorf("offered %.300s, ran %v", names, caller.calls)
	}
	r := e.run(t, ctx, caller, `{prompt: "when?", tools: [memory.delete]}`)
	expectFailure(t, r, "ask", ToolNotFound, "nothing that may be called here matches tools memory.delete")
}

func TestToolsAreChecked(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`{prompt: p, tools: [memory.serch]}`: `step "s": tools/0 must be a ` +
			`pattern that an action matches`,
		`{prompt: p, tools: [tools.call]}`: `step "s": tools/0 must be a ` +
			`pattern that an action matches`,
		`{prompt: p, maxTurns: 3}`:                 `step "s": maxTurns must be a limit for a model with tools`,
		`{prompt: p, tools: []}`:                   `step "s": tools must be 1 to 64 long`,
		`{prompt: p, outputSchema: {type: array}}`: `outputSchema must be a JSON Schema of an object: its "type" must be "object"`,
		`{prompt: p, outputSchema: {type: object, properties: {a: {type: whole}}}}`:      `outputSchema must be a JSON Schema of an object: `,
		`{prompt: p, outputSchema: {type: object, properties: {a: {$ref: "http://x"}}}}`: `outputSchema must be a JSON Schema of an object: `,
	} {
		_, faults := Compile(Definition{Steps: steps(t, `[{stepId: s, type: prompt, config: `+config+`}]`)}, fakeTools{})
		if !strings.Contains(faults.Error(), want) {
			t.Errorf("%s: %v, want %s", config, faults, want)
		}
	}
	p := compiled(t,
		`[{stepId: a, type: prompt, config: {prompt: p, tools: [memory], provider: cli}},
				{stepId: b, type: prompt, config: {prompt: p, provider: clii}},
		{stepId: c, type: prompt, config: {prompt: p, tools: [memory], provider: api}}]`)
	providers := NewProviders(fixedSettings(map[string]any{"providers": map[string]any{
		"cli": map[string]any{"type": "command", "command": []any{"true"}},
		"api": map[string]any{"type": "openai", "baseURL": "http://127.0.0.1:1/v1", "model": "m"},
	}}), "")
	faults, warnings := providers.Check(p)
	if len(faults) != 1 || faults.Error() != `step "a": tools must be a list for a provider of type openai or sampling; "cli" is a `+
		`command, and a command has no way to call tools` {
		t.Error(faults)
	}
	if diff := cmp.Diff([]string{`no provider is called "clii", did you mean cli?`}, warnings); diff != "" {
		t.Error(diff)
	}
	r := (&Runner{Names: fakeTools{}, Providers: providers}).Run(t.Context(), Job{Kind: WorkflowJob, ID: "w", Program: p})
	expectFailure(t, r, "a", ProviderUnavailable, `provider "cli" is a command, and a command has no way to call tools`)
}

// An object is asked of the endpoint, checked, and mended once.
func TestOutputSchema(t *testing.T) {
	t.Parallel()
	const step = `{prompt: "rate", outputSchema: {type: object, properties: {score: {type: integer, maximum: 9}}, required: [score]}}`
	for name, test := range map[string]struct {
		answers  []string
		want     string // the output, or a part of the failure
		requests int
	}{
		"right":  {[]string{textMessage(`{"score":12345678901234567890}`), textMessage(`{"score":7}`)}, `{"ask":{"score":7}}`, 2},
		"fenced": {[]string{textMessage("```json\n{\"score\":7}\n```")}, `{"ask":{"score":7}}`, 1},
		"mended": {[]string{textMessage(`I think seven`), textMessage(`{"score":7}`)}, `{"ask":{"score":7}}`, 2},
		"wrong":  {[]string{textMessage(`{"score":"high"}`), textMessage(`{}`)}, `the answer does not satisfy outputSchema: score is missing`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t)
			e.script(test.answers...)
			r := e.run(t, t.Context(), newMemory(), step)
			if strings.HasPrefix(test.want, "{") {
				expect(t, r, test.want)
			} else {
				expectFailure(t, r, "ask", StepFailed, test.want)
			}
			if len(e.requests) != test.requests {
				t.Fatalf("asked %d times", len(e.requests))
			}
			format, _ := json.Marshal(e.requests[0]["response_format"])
			if !strings.Contains(string(format), `"type":"json_schema"`) || !strings.Contains(string(format), `"maximum":9`) {
				t.Errorf("%s", format)
			}
		})
	}
}

// Models that take no schema are told in words: a command, a client's model,
// and an endpoint that refuses response_format.
func TestOutputSchemaInWords(t *testing.T) {
	t.Parallel()
	const step = `{prompt: "rate", outputSchema: {type: object, properties: {score: {type: integer}}, required: [score]}}`
	e := newEndpoint(t)
	e.answer = func(w http.ResponseWriter, _ *http.Request) {
		if e.requests[len(e.requests)-1]["response_format"] != nil {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"response_format is not supported","type":"invalid_request_error"}}`)
			return
		}
		fmt.Fprintf(w, `{"choices":[{"message":%s}]}`, textMessage(`{"score":1}`))
	}
	expect(t, e.run(t, t.Context(), newMemory(), step), `{"ask":{"score":1}}`)
	if got := e.messages(1); len(got) != 2 || !strings.Contains(got[0], `JSON Schema:`) {
		t.Errorf("%q", got)
	}
	sampler := &fakeSampler{}
	r := (&Runner{}).Run(callctx.WithSampler(t.Context(), sampler),
		Job{Kind: WorkflowJob, ID: "w", Program: compiled(t, `[{stepId: ask, type: prompt, config: `+step+`}]`)})
	expectFailure(t, r, "ask", StepFailed, "it is not one JSON object")
	if len(sampler.prompts) != 2 || !strings.Contains(sampler.prompts[0].System, `"score"`) ||
		!strings.Contains(sampler.prompts[1].Turns[0].Reply, "not one JSON object") {
		t.Errorf("%+v", sampler.prompts)
	}
}
