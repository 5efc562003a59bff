package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ steps, want string }{
		"no id": {`[{type: prompt, config: {prompt: hi}}]`, `0/stepId is missing`},
		"twice": {`[{stepId: a, type: prompt, config: {prompt: hi}}, {stepId: a, type: prompt, config: {prompt: hi}}]`,
			`step "a": stepId must be a stepId that no other step has`},
		"twice inside": {`[{stepId: a, type: parallel, config: {steps: [{stepId: a, type: prompt, config: {prompt: hi}}]}}]`,
			`step "a": stepId must be a stepId that no other step has`},
		"no type":      {`[{stepId: a}]`, `step "a": type is missing`},
		"no prompt":    {`[{stepId: a, type: prompt}]`, `step "a": prompt is missing`},
		"stray config": {`[{stepId: a, type: prompt, config: {promt: hi}}]`, `step "a": "promt" is unknown, did you mean "prompt"?`},
		"bad config":   {`[{stepId: a, type: prompt, config: {prompt: 7}}]`, `step "a": prompt must be string, got number`},
		"max tokens":   {`[{stepId: a, type: prompt, config: {prompt: hi, maxTokens: 0}}]`, `step "a": maxTokens must be 1 to 1000000, got 0`},
		"no tool":      {`[{stepId: a, type: tool}]`, `step "a": tool is missing`},
		"unknown tool": {`[{stepId: a, type: tool, config: {tool: memory.stor}}]`,
			`step "a": tool must be one of its allowed values, got "memory.stor", did you mean "memory.store"?`},
		"no action": {`[{stepId: a, type: tool, config: {tool: memory}}]`, `step "a": action is missing`},
		"bad action": {`[{stepId: a, type: tool, config: {tool: memory, arguments: {action: lst}}}]`,
			`step "a": action must be one of its allowed values, got "lst", did you mean "list"?`},
		"arguments": {`[{stepId: a, type: tool, config: {tool: memory.list, arguments: all}}]`, `step "a": arguments must be object, got string`},
		"half text": {`[{stepId: a, type: tool, config: {tool: memory.list, arguments: "x {{ input }}"}}]`,
			`step "a": arguments must be object, got string`},
		"argument list": {`[{stepId: a, type: tool, config: {tool: memory.list, arguments: [1]}}]`,
			`step "a": arguments must be object, got array`},
		"placeholder": {`[{stepId: a, type: tool, config: {tool: memory.list, arguments: {p: ["{{ input. }}"]}}}]`,
			`step "a": p/0 must be a text with valid placeholders: {{ input. }}: unexpected end of expression (line 1, column 6)`},
		"unclosed": {`[{stepId: a, type: prompt, config: {prompt: "{{ input"}}]`,
			`step "a": prompt must be a text with valid placeholders: {{ without }}`},
		"no agent": {`[{stepId: a, type: delegate}]`, `step "a": agentId is missing`},
		"two agent": {`[{stepId: a, type: delegate, config: {agentId: x, targetAgent: y}}]`,
			`step "a": agentId must be a single agent, not x and y`},
		"no condition": {`[{stepId: a, type: conditional, config: {then: [{stepId: b, type: prompt, config: {prompt: hi}}]}}]`,
			`step "a": condition is missing`},
		"no branch": {`[{stepId: a, type: conditional, config: {condition: "true"}}]`, `step "a": then is missing`},
		"condition": {`[{stepId: a, type: conditional, config: {condition: "1 +", then: []}}]`,
			`step "a": condition must be a valid expression: unexpected token EOF (line 1, column 3)`},
		"name": {`[{stepId: a, type: conditional, config: {condition: foo, then: []}}]`,
			`step "a": condition must be a valid expression: unknown name foo (line 1, column 1)`},
		"secret": {`[{stepId: a, type: conditional, config: {condition: "$env.input", then: []}}]`,
			`step "a": condition must be a valid expression: unknown name $env`},
		"unknown step": {`[{stepId: draft, type: prompt, config: {prompt: hi}}, {stepId: b, type: prompt, config: {prompt: "{{ steps.drat }}"}}]`,
			`step "b": prompt must be a text with valid placeholders: {{ steps.drat }}: there is no step "drat", did you mean steps.draft?`},
		"dashed step": {`[{stepId: draft-1, type: prompt, config: {prompt: hi}}, {stepId: b, type: prompt,` +
			` config: {prompt: "{{ steps.draft }}"}}]`,
			`step "b": prompt must be a text with valid placeholders: {{ steps.draft }}: there is no step "draft", did you mean steps["draft-1"]?`},
		"later step": {`[{stepId: a, type: prompt, config: {prompt: "{{ steps.b }}"}}, {stepId: b, type: prompt, config: {prompt: hi}}]`,
			`step "a": prompt must be a text with valid placeholders: {{ steps.b }}: step "b" does not run before this one`},
		"step in a branch": {`[{stepId: a, type: parallel, config: {steps: [{stepId: in, type: prompt, config: {prompt: hi}}]}}, {stepId: b,` +
			` type: prompt, config: {prompt: "{{ steps.in }}"}}]`,
			`step "b": prompt must be a text with valid placeholders: {{ steps.in }}: step "in" does not run before this one`},
		"side by side": {`[{stepId: a, type: parallel, config: {steps: [{stepId: x, type: prompt, config: {prompt: hi}}, {stepId: y,` +
			` type: prompt, config: {prompt: "{{ steps.x }}"}}]}}]`,
			`step "y": prompt must be a text with valid placeholders: {{ steps.x }}: step "x" does not run before this one`},
		"no dependency on it": {`[{stepId: a, type: prompt, config: {prompt: hi}}, {stepId: b, type: prompt, config: {prompt: hi}},` +
			` {stepId: c, type: prompt, dependsOn: [a], config: {prompt: "{{ steps.b }}"}}]`,
			`step "c": prompt must be a text with valid placeholders: {{ steps.b }}: step "b" does not run before this one`},
		"dependency": {`[{stepId: a, type: prompt, config: {prompt: hi}}, {stepId: b, type: prompt, dependsOn: [aa], config: {prompt: hi}}]`,
			`step "b": dependsOn/0 must be one of its allowed values, got "aa", did you mean "a"?`},
		"cycle": {`[{stepId: a, type: prompt, dependsOn: [c], config: {prompt: hi}}, {stepId: b, type: prompt, dependsOn: [a],` +
			` config: {prompt: hi}}, {stepId: c, type: prompt, dependsOn: [b], config: {prompt: hi}}]`,
			`step "a": dependsOn must be a list without a cycle: a → c → b → a`},
		"itself": {`[{stepId: a, type: prompt, dependsOn: [a], config: {prompt: hi}}]`,
			`step "a": dependsOn must be a list without a cycle: a → a`},
		"no items": {`[{stepId: a, type: loop, config: {steps: [{stepId: b, type: prompt, config: {prompt: hi}}]}}]`,
			`step "a": items is missing`},
		"no body": {`[{stepId: a, type: loop, config: {items: [1]}}]`, `step "a": steps is missing`},
		"items": {`[{stepId: a, type: loop, config: {items: 7, steps: [{stepId: b, type: prompt, config: {prompt: hi}}]}}]`,
			`step "a": items must be array, got number`},
		"rounds": {`[{stepId: a, type: loop, config: {items: [1], maxIterations: 1001, steps: [{stepId: b, type: prompt,` +
			` config: {prompt: hi}}]}}]`, `step "a": maxIterations must be 1 to 1000, got 1001`},
		"as": {`[{stepId: a, type: loop, config: {items: [1], as: input, steps: [{stepId: b, type: prompt, config: {prompt: hi}}]}}]`,
			`step "a": as must be a plain name that nothing else has`},
		"as what": {`[{stepId: a, type: loop, config: {while: "true", as: x, steps: [{stepId: b, type: prompt, config: {prompt: hi}}]}}]`,
			`step "a": as must be a name for an item of items, which are missing`},
		"no item": {`[{stepId: a, type: prompt, config: {prompt: "{{ item }}"}}]`,
			`step "a": prompt must be a text with valid placeholders: {{ item }}: unknown name item (line 1, column 1)`},
		"no steps": {`[{stepId: a, type: parallel}]`, `step "a": steps is missing`},
		"inner shape": {`[{stepId: a, type: parallel, config: {steps: [{stepId: b, type: prompt, timeout: 3}]}}]`,
			`step "b": "timeout" is unknown, did you mean "timeoutMs"?`},
		"inner type":   {`[{stepId: a, type: parallel, config: {steps: [7]}}]`, `step "a": steps/0 must be object, got number`},
		"inner prompt": {`[{stepId: a, type: parallel, config: {steps: [{stepId: b, type: prompt}]}}]`, `step "b": prompt is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, faults := Compile(Definition{Steps: steps(t, test.steps)}, fakeTools{})
			if diff := cmp.Diff(test.want, faults.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// All faults come at once, each at its place.
func TestAllFaults(t *testing.T) {
	t.Parallel()
	_, faults := Compile(Definition{
		StepsAt: "/workflow", SystemAt: "/systemPrompt", System: "I am {{ agent.nam }}", AgentFields: []string{"name"},
		Steps: steps(t, `
- {stepId: a, type: prompt}
- {stepId: b, type: loop, config: {items: [1], steps: [{stepId: c, type: tool, config: {tool: nothing}}]}}
`)}, fakeTools{})
	var got []string
	for _, f := range faults {
		got = append(got, f.Step+" "+f.Path+" "+f.Kind+" "+f.Want)
	}
	want := []string{
		` /systemPrompt format text with valid placeholders: {{ agent.nam }}: agent has no field "nam", did you mean name?`,
		"a /workflow/0/config/prompt missing ",
		"c /workflow/1/config/steps/0/config/tool enum ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	err := faults.Problem("agent.register")
	if err.Code != "INVALID_INPUT" || len(err.Problems) != 3 || !strings.HasPrefix(err.Message, "agent.register: ") {
		t.Errorf("%+v", err)
	}
	if many := make(Faults, 7).Problem("x"); len(many.Problems) != 4 || many.Hint != "3 more faults are not shown" {
		t.Errorf("%+v", many)
	}
	if Faults(nil).Problem("x") != nil {
		t.Error("no faults are an error")
	}
}

// An input schema that is null is no schema.
func TestNullInputSchema(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"null", " null "} {
		d := Definition{InputSchema: []byte(schema), Steps: steps(t, `[{stepId: a, type: prompt, config: {prompt: "{{ input.x }}"}}]`)}
		if _, faults := Compile(d, fakeTools{}); len(faults) > 0 {
			t.Errorf("%s: %v", schema, faults)
		}
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:    `steps must be array, got something else`,
		`["a"]`: `steps/0 must be object, got string`,
		`[{"stepId":"a","type":"promt","retry":{"maxAttempts":11},"timeoutMs":0}]`: `step "a": maxAttempts must be 1 to 10, got 11; ` +
			`step "a": timeoutMs must be 1 to 3600000, got 0; step "a": type must be one of its allowed values, got "promt", did you mean "prompt"?`,
	} {
		_, faults := ParseSteps([]byte(text), "/steps")
		if got := faults.Error(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func nested(levels int) string {
	if levels == 0 {
		return `[{"stepId":"leaf","type":"tool","config":{"tool":"memory.list"}}]`
	}
	return fmt.Sprintf(`[{"stepId":"s%d","type":"parallel","config":{"steps":%s}}]`, levels, nested(levels-1))
}

func TestBoundsOfDefinitions(t *testing.T) {
	t.Parallel()
	if _, faults := Compile(Definition{Steps: steps(t, nested(MaxNesting-1))}, fakeTools{}); faults != nil {
		t.Error(faults)
	}
	if _, faults := Compile(Definition{Steps: steps(t, nested(MaxNesting))}, fakeTools{}); len(faults) != 1 ||
		!strings.Contains(faults.Error(), "nesting of at most 5 levels") {
		t.Error(faults)
	}
	for n, ok := range map[int]bool{MaxSteps: true, MaxSteps + 1: false} {
		var many []map[string]any
		for i := range n {
			many = append(many, map[string]any{"stepId": fmt.Sprint("s", i), "type": "tool", "config": map[string]any{"tool": "memory.list"}})
		}
		half := n / 2
		inner := map[string]any{"stepId": "p", "type": "parallel", "config": map[string]any{"steps": many[:half]}}
		_, faults := Compile(Definition{StepsAt: "/steps",
			Steps: steps(t, string(ordered.MustJSON(append([]map[string]any{inner}, many[half:n-1]...))))}, fakeTools{})
		if ok != (faults == nil) || !ok && faults.Error() != "steps must be at most 100 long, got 101" {
			t.Errorf("%d steps: %v", n, faults)
		}
	}
}
