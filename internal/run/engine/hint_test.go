package engine

import (
	"strings"
	"testing"
)

// A condition over a missing value says how to write it, as prompts do.
func TestMissingValuesInConditions(t *testing.T) {
	t.Parallel()
	for _, condition := range []string{"input.n > 1", "input.yes"} {
		r := do(t, newCaller(), `[{stepId: c, type: conditional, config: {condition: "`+condition+`", then: [{stepId: s, type: tool,`+
			` config: {tool: echo}}]}}]`, `{}`)
		if r.Failure == nil || !strings.Contains(r.Failure.Hint, "??") {
			t.Errorf("%s: %+v", condition, r.Failure)
		}
	}
	expect(t, do(t, newCaller(), `[{stepId: c, type: conditional, config: {condition: "(input.n ?? 0) > 1", then: [{stepId: s, type: tool,`+
		` config: {tool: echo}}]}}]`, `{}`), `{"c":{}}`)
}

// The usage in an error is that of the step's own type, and what a list waits
// for in vain names what there is.
func TestFaultsShowTheStepsOwnType(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{stepId: s, type: tool, config: {}}]`: "{stepId, name, type: " +
			"tool, config: {tool, arguments?}, dependsOn?, timeoutMs?, retry?, continueOnError?, idempotent?}",
		`[{stepId: s, type: delegate, config: {agent: x}}]`: "{stepId, name, type: " +
			"delegate, config: {agentId, input?}, dependsOn?, timeoutMs?, retry?, continueOnError?, idempotent?}",
		`[{stepId: s, type: loop, config: {while: "1 >", steps: [{stepId: t, type: tool, config: {tool: x}}]}}]`: "{stepId, name, type: " +
			"loop, config: {items?, while?, until?, maxIterations?, as?, steps}, dependsOn?, timeoutMs?, retry?, continueOnError?, idempotent?}",
	} {
		_, faults := Compile(Definition{Steps: steps(t, text)}, nil)
		if err := faults.Problem("agent.register"); err == nil || err.Usage != want {
			t.Errorf("%s: %+v", text, err)
		}
	}
	_, faults := Compile(Definition{Steps: steps(t, `[{stepId: draft, type: tool, config: {tool: x}}, {stepId: send, type: tool,`+
		` dependsOn: [zz], config: {tool: x}}]`)}, nil)
	if !strings.Contains(faults.Error(), `step "send": dependsOn/0 must be one of its allowed values, got "zz"; there are draft`) {
		t.Error(faults)
	}
}
