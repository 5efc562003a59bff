package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/tools/agent"
)

func TestRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("writer", `,"team":"red","systemPrompt":"You are of team {{ agent.team }}.",
		"workflow":[{"stepId":"keep","name":"K","type":"tool","config":{"tool":"memory",
		"arguments":{"action":"store","key":"{{ input.key }}","value":{"by":"{{ agent.agentId }}"}}}},
		{"stepId":"ask","name":"A","type":"prompt","config":{"prompt":"kept {{ steps.keep.key }}"}}]`)
	b.Expect("agent.run", `{"agentId":"writer","input":{"key":"k"}}`, `{"success":true,"agentId":"writer","source":"registered",`+
		`"output":{"ask":"re: kept k","keep":{"key":"k","message":"stored","namespace":"default","replaced":false,"success":true}},`+
		`"stepResults":[{"stepId":"keep","success":true,"durationMs":0},{"stepId":"ask","success":true,"durationMs":0}],"totalDurationMs":0}`)
	if diff := cmp.Diff([]callctx.Prompt{{Text: "kept k", System: "You are of team red."}}, b.model.prompts); diff != "" {
		t.Error(diff)
	}
	b.Expect("memory.get", `{"key":"k","include_fields":["value"]}`, `{"value":{"by":"writer"}}`)
}

// An agent without steps sends the input under its system prompt.
func TestRunWithoutSteps(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("plain", `,"systemPrompt":"Be brief."`)
	b.register("bare", ``)
	b.Expect("agent.run", `{"agentId":"plain","input":{"task":"say {{ agent }}"},"include_fields":["success","output","stepResults.stepId"]}`,
		`{"success":true,"output":{"answer":"re: say {{ agent }}"},"stepResults":[{"stepId":"answer"}]}`)
	b.call("agent.run", `{"agentId":"bare","input":{"a":1,"b":["x"]}}`)
	want := []callctx.Prompt{{Text: "say {{ agent }}", System: "Be brief."}, {Text: `{"a":1,"b":["x"]}`, System: "About bare."}}
	if diff := cmp.Diff(want, b.model.prompts); diff != "" {
		t.Error(diff)
	}
	b.Refuse("agent.run", `{"agentId":"plain"}`, toolfold.InvalidInput, "input is missing", "")
	b.Refuse("agent.run", `{"agentId":"plain","input":{}}`, toolfold.InvalidInput, "input is missing", "")
}

// A failing step is a result with the agent's error code and all earlier steps.
func TestRunThatFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("fails", `,"workflow":[{"stepId":"a","name":"A","type":"tool","config":{"tool":"memory.list"}},
		{"stepId":"b","name":"B","type":"prompt","config":{"prompt":"{{ input.none }}"}},
		{"stepId":"c","name":"C","type":"prompt","config":{"prompt":"c"}}]`)
	b.Expect("agent.run", `{"agentId":"fails","include_fields":["success","output.a.total","stepResults","error.code","error.stepId"]}`,
		`{"error":{"code":"AGENT_STAGE_FAILED","stepId":"b"},"success":false,"output":{"a":{"total":0}},`+
			`"stepResults":[{"stepId":"a","success":true,"durationMs":0},{"stepId":"b","success":false,"durationMs":0}]}`)
	b.register("refused", `,"workflow":[{"stepId":"a","name":"A","type":"tool","config":{"tool":"memory.get",`+
		`"arguments":{"key":"{{ input.key }}"}}}]`)
	b.Expect("agent.run", `{"agentId":"refused","include_fields":["error.code","error.message"]}`,
		`{"error":{"code":"TOOL_CONFIG_ERROR","message":"memory.get: key is missing"}}`)
}

func TestRunOfTheDisabled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("off", `,"enabled":false`)
	b.Refuse("agent.run", `{"agentId":"off","input":{"a":"b"}}`, agent.PermissionDenied, `agent "off" is disabled`,
		"agent.update it with enabled=true")
}

// Without a model the error names the setting.
func TestRunWithoutAModel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("plain", ``)
	answer := b.Runner.Call(t.Context(), "agent.run", json.RawMessage(`{"agentId":"plain","input":{"q":"x"}}`))
	var out agent.RunOut
	if err := json.Unmarshal(answer.Content, &out); err != nil {
		t.Fatal(err)
	}
	if out.Success || out.Error.Code != engine.ProviderUnavailable ||
		!strings.Contains(out.Error.Hint, `config.set '{"path":"providers.main"`) {
		t.Errorf("%s", answer.Content)
	}
}

// An agent's requirements may be gone when it runs.
func TestRunInvalidAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.withAbilities()
	b.register("user", `,"workflow":[{"stepId":"a","name":"A","type":"tool","config":{"tool":"ability.inject",`+
		`"arguments":{"agentId":"user","task":"x","maxTokens":100}}}]`)
	if err := b.Remove("ability"); err != nil {
		t.Fatal(err)
	}
	b.Refuse("agent.run", `{"agentId":"user"}`, agent.ValidationError, `agent "user" cannot run: step "a": tool must be one of`,
		"agent.get shows")
}

// The agent joins the session it runs in, as a delegate if another agent runs it.
func TestRunInASession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("plain", ``)
	b.register("boss", `,"workflow":[{"stepId":"a","name":"A","type":"delegate","config":{"agentId":"plain","input":{"q":"x"}}}]`)
	in := `"sessionId":"` + sessionID + `"`
	b.Refuse("agent.run", `{"agentId":"boss",`+in+`}`, "SESSION_NOT_FOUND", "there is no session", "")
	b.call("session.create", `{"initiator":"ann","task":"ship"}`)
	b.Expect("agent.run", `{"agentId":"boss",`+in+`}`,
		`{"success":true,"agentId":"boss","source":"registered","sessionId":"`+sessionID+`","output":{"a":{"answer":"re: x"}},`+
			`"stepResults":[{"stepId":"a","success":true,"durationMs":0}],"totalDurationMs":0}`)
	b.Expect("session.status", `{`+in+`,"include_fields":["participants.agentId","participants.role"]}`,
		`{"participants":[{"agentId":"ann","role":"initiator"},{"agentId":"boss","role":"collaborator"},{"agentId":"plain","role":"delegate"}]}`)
	b.call("session.complete", `{`+in+`}`)
	b.Refuse("agent.run", `{"agentId":"boss",`+in+`}`, "SESSION_INVALID_TRANSITION", "the session is completed", "")
	if len(b.model.prompts) != 1 {
		t.Errorf("an agent ran without its session: %v", b.model.prompts)
	}
}

func delegating(to string) string {
	return `,"workflow":[{"stepId":"go","name":"G","type":"delegate","config":{"agentId":"` + to + `"}}]`
}

// registerAhead registers an agent that delegates to one that does not exist yet. The answer warns
// of that: two agents may name each other.
func (b *bench) registerAhead(id, to string) {
	b.t.Helper()
	answer := b.call("agent.register", `{"agentId":"`+id+`","description":"d"`+delegating(to)+`}`)
	want := `is registered; but step \"go\": agentId must be a known agent: there is no agent \"` + to + `\"`
	if !strings.Contains(answer, `"registered":true`) || !strings.Contains(answer, want) {
		b.t.Errorf("agent.register answered %s, want %s", answer, want)
	}
}

// Steps that would fail in every run are refused. A change of other fields is not.
func TestStepsThatCanOnlyFail(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := func(arguments string) string {
		return `,"workflow":[{"stepId":"a","name":"A","type":"tool","config":{"tool":"memory.list","arguments":` + arguments + `}},` +
			`{"stepId":"b","name":"B","type":"tool","config":{"tool":"memory.store","arguments":{"key":"k","value":"{{ steps.a.kees }}"}}}]`
	}
	b.Refuse("agent.register", `{"agentId":"x","description":"d"`+step(`{"limit":0,"prefx":"a"}`)+`}`, toolfold.InvalidInput,
		`step "a": "prefx" is unknown, did you mean "prefix"?; step "a": limit must be 1`, "")
	b.Refuse("agent.register", `{"agentId":"x","description":"d"`+step(`{}`)+`}`, toolfold.InvalidInput,
		"steps.a.kees does not exist, did you mean keys?", "")
	b.register("y", ``)
	b.Refuse("agent.update", `{"agentId":"y"`+step(`{}`)+`}`, toolfold.InvalidInput, "steps.a.kees does not exist", "")
	b.Expect("agent.update", `{"agentId":"y","team":"t"}`, `{"updated":true,"agentId":"y","message":"agent \"y\" is changed"}`)
}

func TestDelegationIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.registerAhead("a", "b")
	b.register("b", delegating("a"))
	b.Expect("agent.run", `{"agentId":"a","include_fields":["success","error.code","error.message"]}`,
		`{"error":{"code":"AGENT_DEPENDENCY_FAILED","message":"agent b failed: AGENT_DELEGATION_DEPTH_EXCEEDED: agent a `+
			`would run within itself: agent a → agent b → agent a"},"success":false}`)
	b.register("self", delegating("self"))
	b.Expect("agent.run", `{"agentId":"self","include_fields":["error.code"]}`, `{"error":{"code":"AGENT_DELEGATION_DEPTH_EXCEEDED"}}`)
	for _, link := range []string{"c1c2", "c2c3", "c3c4", "c4c5", "c5c6"} {
		b.registerAhead(link[:2], link[2:])
	}
	b.register("c6", `,"workflow":[{"stepId":"end","name":"E","type":"tool","config":{"tool":"memory.list"}}]`)
	b.register("c0", delegating("c1"))
	b.Expect("agent.run", `{"agentId":"c1","include_fields":["success","output.go.go.go.go.go.end.total"]}`,
		`{"success":true,"output":{"go":{"go":{"go":{"go":{"go":{"end":{"total":0}}}}}}}}`)
	if answer := b.call("agent.run", `{"agentId":"c0"}`); !strings.Contains(answer,
		"AGENT_DELEGATION_DEPTH_EXCEEDED: agent c6 would run too deep: agent c0 → agent c1") {
		t.Error(answer)
	}
	b.file("alone.yaml", "description: d\norchestration: {maxDelegationDepth: 0}\nworkflow: [{stepId: go, type: delegate, "+
		"config: {agentId: c6}}]\n")
	b.Expect("agent.run", `{"agentId":"alone","include_fields":["error.code"]}`, `{"error":{"code":"AGENT_DELEGATION_DEPTH_EXCEEDED"}}`)
}

// Abilities that match the prompt join the system prompt, and the result names them.
func TestAbilities(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.withAbilities()
	b.register("plain", `,"systemPrompt":"Be brief."`)
	b.abilities.text = "Errors are lower case."
	b.call("agent.run", `{"agentId":"plain","input":{"q":"review"}}`)
	if got := b.model.prompts[0].System; got != "Be brief.\n\nErrors are lower case." {
		t.Errorf("the system prompt is %q", got)
	}
	b.abilities.in = []injectedAbility{{"go-errors", 5, 0.8}}
	b.register("two", `,"workflow":[{"stepId":"a","name":"A","type":"prompt","config":{"prompt":"one"}},{"stepId":"b","name":"B",`+
		`"type":"prompt","config":{"prompt":"two"}}]`)
	b.Expect("agent.run", `{"agentId":"two","include_fields":["success","abilities"]}`,
		`{"success":true,"abilities":[{"abilityId":"go-errors","tokens":5}]}`)
	b.abilities.text, b.abilities.in, b.abilities.calls, b.model.prompts = "", nil, b.abilities.calls[:1], b.model.prompts[:1]
	b.call("agent.run", `{"agentId":"plain","input":{"q":"`+strings.Repeat("ü", 6000)+`"}}`)
	want := []injectIn{{"plain", "review", 10_000}, {"plain", strings.Repeat("ü", 5000), 10_000}}
	if diff := cmp.Diff(want, b.abilities.calls); diff != "" || b.model.prompts[1].System != "Be brief." {
		t.Errorf("%s %q", diff, b.model.prompts[1].System)
	}
	b.abilities.err = errors.New("the store is gone")
	if answer := b.call("agent.run", `{"agentId":"plain","input":{"q":"x"}}`); !strings.Contains(answer, `"message":"finding abilities: `) ||
		strings.Contains(answer, "the store is gone") {
		t.Error(answer)
	}
}
