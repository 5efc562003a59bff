package agent_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/tools/agent"
)

// Every registered field is kept and returned.
func TestRegisterKeepsEverything(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("writer",
		`,"displayName":"W","capabilities":["write"],"team":"red","tags":["a","b"],"systemPrompt":"You are {{ agent.team }}.","enabled":false,
		"workflow":[{"stepId":"a","name":"A","type":"tool","config":{"tool":"memory.list"},"description":"lists","timeoutMs":500,
		"retry":{"maxAttempts":2,"backoffMs":10}},
		{"stepId":"b","name":"B","type":"prompt","config":{"prompt":"{{ steps.a.total }}"},"dependsOn":["a"]}]`)
	b.Expect("agent.get", `{"agentId":"writer"}`, `{"agentId":"writer","displayName":"W","description":"About writer.",`+
		`"capabilities":["write"],"team":"red","tags":["a","b"],"enabled":false,"systemPrompt":"You are {{ agent.team }}.",`+
		`"workflow":[{"stepId":"a","name":"A","type":"tool","description":"lists","config":{"tool":"memory.list"},"timeoutMs":500,`+
		`"retry":{"maxAttempts":2,"backoffMs":10}},{"stepId":"b","name":"B","type":"prompt","config":{"prompt":"{{ steps.a.total }}"},`+
		`"dependsOn":["a"]}],"source":"registered","createdAt":"2026-07-28T09:00:00Z"}`)
	b.Expect("agent.list", `{}`, `{"agents":[{"agentId":"writer","displayName":"W","description":"About writer.","team":"red",`+
		`"enabled":false,"capabilities":["write"]}],"total":1,"hasMore":false}`)
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("taken", ``)
	for args, want := range map[string][3]string{
		`{"agentId":"taken","description":"d"}`: {agent.AlreadyExists, `there is an agent "taken"`, "agent.update"},
		`{"agentId":"7up","description":"d"}`:   {agent.InvalidID, `agentId "7up" must be a letter`, "such as"},
		`{"agentId":"a/b","description":"d"}`:   {agent.InvalidID, `agentId "a/b"`, "such as"},
		`{"agentId":"a","description":"d","systemPrompt":"{{ x"}`: {toolfold.InvalidInput,
			"systemPrompt must be a text with valid placeholders: {{ without }}", ""},
		`{"agentId":"a","description":"d","systemPrompt":"{{ agent.rol }}"}`: {toolfold.InvalidInput,
			`agent has no field "rol", did you mean role?`, ""},
		`{"agentId":"a","description":"d","workflow":[{"stepId":"s","name":"S","type":"tool","config":{"tool":"memory.lst"}}]}`: {
			toolfold.InvalidInput, `agent.register: step "s": tool must be one of its allowed values, got "memory.lst", did you mean "memory.list"?`,
			""},
		`{"agentId":"a","description":"d","workflow":[{"stepId":"s","name":"S",` +
			`"type":"promt"}]}`: {toolfold.InvalidInput, `step "s": type must be one of its allowed values, got "promt", did you mean "prompt"?`,
			""},
		`{"agentId":"a","description":"d","workflow":[{"name":"S","type":"prompt",` +
			`"config":{"prompt":"x"}}]}`: {toolfold.InvalidInput, `0/stepId is missing`, ""},
		`{"agentId":"a","description":"d","workflow":["x"]}`: {
			toolfold.InvalidInput, `workflow/0 must be object, got string`, ""},
		`{"agentId":"a","description":"d","workflow":[{"stepId":"s","type":"prompt","config":{"prompt":"x"},` +
			`"retry":{"maxAttempts":99}}]}`: {toolfold.InvalidInput, `step "s": maxAttempts must be 1 to 10, got 99`, ""},
		fmt.Sprintf(`{"agentId":"a","description":"d","workflow":[{"stepId":"s","name":"S","type":"tool","config":{"tool":"memory.store",`+
			`"arguments":{"value":%q}}}]}`, strings.Repeat("x", 256<<10)): {
			toolfold.InvalidInput, "agent.register: workflow has 262", ""},
		fmt.Sprintf(`{"agentId":"a","description":"d","tags":[%s"x"]}`, strings.Repeat(`"x",`, 20)): {toolfold.InvalidInput,
			"tags must be at most 20 long, got 21", ""},
		fmt.Sprintf(`{"agentId":"a","description":"d","capabilities":[%s"x"]}`, strings.Repeat(`"x",`, 50)): {toolfold.InvalidInput,
			"capabilities must be at most 50 long, got 51", ""},
	} {
		b.Refuse("agent.register", args, want[0], want[1], want[2])
	}
	b.Expect("agent.list", `{"include_fields":["total"]}`, `{"total":1}`)
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("writer", `,"displayName":"W","tags":["a","b"],"systemPrompt":"Be brief.","workflow":[{"stepId":"a","name":"A",`+
		`"type":"tool","config":{"tool":"memory.list"}}]`)
	const updated = `{"updated":true,"agentId":"writer","message":"agent \"writer\" is changed"}`
	b.Expect("agent.update", `{"agentId":"writer","enabled":false,"tags":["c"]}`, updated)
	b.Expect("agent.update", `{"agentId":"writer","team":"red","workflow":[{"stepId":"b","name":"B","type":"prompt",`+
		`"config":{"prompt":"x"}}]}`, updated)
	b.Expect("agent.get", `{"agentId":"writer"}`, `{"agentId":"writer","displayName":"W","description":"About writer.","team":"red",`+
		`"tags":["c"],"enabled":false,"systemPrompt":"Be brief.","workflow":[{"stepId":"b","name":"B","type":"prompt",`+
		`"config":{"prompt":"x"}}],"source":"registered","createdAt":"2026-07-28T09:00:00Z"}`)
	b.file("filed.yaml", "description: d\n")
	b.Refuse("agent.update", `{"agentId":"writer"}`, toolfold.InvalidInput, "nothing is to be changed", "agent.get")
	b.Refuse("agent.update", `{"agentId":"writr","enabled":true}`, agent.NotFound, "there is no agent", `did you mean "writer"?`)
	b.Refuse("agent.update", `{"agentId":"filed","enabled":true}`, agent.UpdateFailed, "is the file .toolfold/agents/filed.yaml",
		"change the file")
	b.Refuse("agent.update", `{"agentId":"writer","workflow":[{"stepId":"b","name":"B","type":"prompt"}]}`, toolfold.InvalidInput,
		`agent.update: step "b": prompt is missing`, "")
	b.Refuse("agent.update", `{"agentId":"writer","systemPrompt":"{{ agent.rol }}"}`, toolfold.InvalidInput,
		`agent.update: systemPrompt must be`, "")
	b.Refuse("agent.update", `{"agentId":"writr","workflow":[{"stepId":"b","type":"tool","config":{"tool":"memory.get"}}]}`,
		agent.NotFound, "there is no agent", `did you mean "writer"?`)
	b.Refuse("agent.update", `{"agentId":"writer","workflow":[{"stepId":"b","type":"tool","config":{"tool":"memory.nothing"}}]}`,
		toolfold.InvalidInput, "memory.nothing", "")
	b.Expect("agent.get", `{"agentId":"writer","include_fields":["systemPrompt","enabled"]}`, `{"enabled":false,"systemPrompt":"Be brief."}`)
	b.Expect("agent.update", `{"agentId":"writer","workflow":[],"tags":[],"displayName":""}`, updated)
	b.Expect("agent.get", `{"agentId":"writer","include_fields":["displayName","tags","workflow"]}`, `{}`)
}

func TestListFiltersAndPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("b", `,"team":"red"`)
	b.register("d", `,"team":"blue","enabled":false`)
	b.register("f", ``)
	b.file("a.yaml", "description: d\nteam: red\n")
	b.file("c.json", `{"description": "d", "enabled": false}`)
	b.file("other.yaml", "agentId: e\ndescription: d\nteam: blue\n")
	const ids = `,"include_fields":["agents.agentId","total","hasMore","nextCursor","broken.file"]}`
	for args, want := range map[string]string{
		`{"limit":50`: `{"agents":[{"agentId":"a"},{"agentId":"b"},{"agentId":"c"},{"agentId":"d"},{"agentId":"e"},{"agentId":"f"}],` +
			`"total":6,"hasMore":false}`,
		`{"team":"red"`:                 `{"agents":[{"agentId":"a"},{"agentId":"b"}],"total":2,"hasMore":false}`,
		`{"enabled":false`:              `{"agents":[{"agentId":"c"},{"agentId":"d"}],"total":2,"hasMore":false}`,
		`{"enabled":true,"team":"blue"`: `{"agents":[{"agentId":"e"}],"total":1,"hasMore":false}`,
		`{"team":"green"`: `{"agents":[],"total":0,"hasMore":false,` +
			`"warnings":["nothing matches team; leave out filters that need not match"]}`,
	} {
		b.Expect("agent.list", args+ids, want)
	}
	b.ExpectPages("agent.list", `{"limit":2`+ids,
		`{"agents":[{"agentId":"a"},{"agentId":"b"}],"total":6,"hasMore":true}`,
		`{"agents":[{"agentId":"c"},{"agentId":"d"}],"total":6,"hasMore":true}`,
		`{"agents":[{"agentId":"e"},{"agentId":"f"}],"total":6,"hasMore":false}`)
}

func TestFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("full.yaml", `
description: All of it
displayName: Full
version: "2"
role: tester
expertise: [go]
capabilities: [x]
team: red
tags: [t]
systemPrompt: "You are {{ agent.role }}, {{ agent.expertise[0] }}."
orchestration: {maxDelegationDepth: 0}
workflow:
  - stepId: ask
    type: prompt
    config: {prompt: "{{ input.q }}"}
`)
	b.Expect("agent.get", `{"agentId":"full"}`, `{"agentId":"full","displayName":"Full","version":"2","description":"All of it",`+
		`"role":"tester","expertise":["go"],"capabilities":["x"],"team":"red","tags":["t"],"enabled":true,"systemPrompt":"You are {{ `+
		`agent.role }}, {{ agent.expertise[0] }}.","workflow":[{"stepId":"ask","type":"prompt","config":{"prompt":"{{ input.q }}"}}],`+
		`"orchestration":{"maxDelegationDepth":0},"source":"file","file":".toolfold/agents/full.yaml"}`)
	b.Expect("agent.run", `{"agentId":"full","input":{"q":"why"},"include_fields":["output"]}`, `{"output":{"ask":"re: why"}}`)
	if got := b.model.prompts[0].System; got != "You are tester, go." {
		t.Errorf("the system prompt is %q", got)
	}
	b.Refuse("agent.remove", `{"agentId":"full"}`, agent.RemoveFailed, `agent "full" is the file .toolfold/agents/full.yaml`,
		"delete the file")
}

// Broken files are reported with line and reason, and hide no other file.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("clash", ``)
	b.file("good.yaml", "description: d\n")
	b.file("again.yaml", "agentId: good\ndescription: d\n")
	b.file("clash.yaml", "description: d\n")
	b.file("id.yaml", "agentId: 7\ndescription: d\n")
	b.file("none.yaml", "displayName: x\n")
	b.file("name me.yaml", "description: d\n")
	b.file("step.yaml", "description: d\nworkflow:\n  - stepId: a\n    type: prompt\n    config: {prompt: hi}\n  - stepId: b\n    type: "+
		"tool\n    config:\n      tool: memory.lst\n")
	b.file("shape.yaml", "description: d\nworkflow:\n  - stepId: a\n    tpye: prompt\n")
	b.file("syntax.yaml", "description: d\nteam: [\n")
	b.file("tags.yaml", "description: d\ntags: ["+strings.Repeat("x,", 21)+"]\n")
	answer := b.call("agent.list", `{}`)
	for _, want := range []string{
		`{"agents":[{"agentId":"again-not`,
	} {
		if strings.Contains(answer, want) {
			t.Error(answer)
		}
	}
	for _, want := range []string{
		`"total":2`, `{"agentId":"clash","description":"About clash.","enabled":true}`, `{"agentId":"good","description":"d","enabled":true}`,
		`{"file":".toolfold/agents/good.yaml","line":1,"column":1,"reason":"agentId \"good\" is taken by .toolfold/agents/again.yaml"}`,
		`{"file":".toolfold/agents/clash.yaml","reason":"an agent of this id is registered and counts; agent.remove it to use the file"}`,
		`{"file":".toolfold/agents/id.yaml","line":1,"column":1,"reason":"agentId must be string, got number"}`,
		`{"file":".toolfold/agents/none.yaml","line":1,"column":1,"reason":"description is missing"}`,
		`{"file":".toolfold/agents/name me.yaml","line":1,"column":1,"reason":"agentId \"name me\" must be a letter`,
		`{"file":".toolfold/agents/step.yaml","line":9,"column":7,` +
			`"reason":"step \"b\": tool must be one of its allowed values, got \"memory.lst\",` +
			` did you mean \"memory.list\"?"}`,
		`{"file":".toolfold/agents/shape.yaml","line":4,"column":5,"reason":"step \"a\": \"tpye\" is unknown, did you mean \"type\"?"}`,
		`{"file":".toolfold/agents/syntax.yaml","line":2,"column":7,"reason":"did not find expected node content while`,
		`{"file":".toolfold/agents/tags.yaml","line":2,"column":1,"reason":"tags must be at most 20 long, got 21"}`,
	} {
		if !strings.Contains(answer, want) {
			t.Errorf("the list lacks %s:\n%s", want, answer)
		}
	}
	b.Refuse("agent.run", `{"agentId":"step"}`, agent.ValidationError,
		`the file of agent "step" cannot be used: .toolfold/agents/step.yaml, line 9, column 7`, "mend the file")
}

func TestUnknownAgents(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Refuse("agent.get", `{"agentId":"writer"}`, agent.NotFound, `there is no agent "writer"`, "agent.list shows")
	b.register("writer", ``)
	b.file("reader.yaml", "description: d\n")
	b.Refuse("agent.get", `{"agentId":"writre"}`, agent.NotFound, `there is no agent "writre"`, `did you mean "writer"?`)
	b.Refuse("agent.run", `{"agentId":"reder"}`, agent.NotFound, `there is no agent "reder"`, `did you mean "reader"?`)
	b.Expect("agent.remove", `{"agentId":"nobody"}`, `{"removed":false,"agentId":"nobody","message":"there is no agent \"nobody\""}`)
	b.Expect("agent.remove", `{"agentId":"writer"}`, `{"removed":true,"agentId":"writer","message":"agent \"writer\" is removed"}`)
	b.Refuse("agent.get", `{"agentId":"writer"}`, agent.NotFound, `there is no agent "writer"`, "")
}

// The documented file is an agent, and runs.
func TestDocumentedFile(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "## Agents as files")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	text, _, _ := strings.Cut(rest, "```")
	b := newBench(t)
	b.file("reviewer.yaml", text)
	b.Expect("agent.run", `{"agentId":"reviewer","input":{"text":"Hi."},"include_fields":["success","output.review"]}`,
		`{"success":true,"output":{"review":"re: Rules: []\n\nText: Hi."}}`)
	if got := b.model.prompts[0].System; got != "You are the editor of team docs." {
		t.Errorf("the system prompt is %q", got)
	}
}

// A registered agent takes precedence over a file of the same id. Every answer names the source.
func TestRegisteredWinsOverFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("both.yaml", "description: filed\nworkflow: [{stepId: a, type: prompt, config: {prompt: filed}}]\n")
	const run = `{"agentId":"both","input":{"q":"x"},"include_fields":["source","output"]}`
	b.Expect("agent.run", run, `{"source":"file","output":{"a":"re: filed"}}`)
	b.Expect("agent.register", `{"agentId":"both","description":"d","include_fields":["message"]}`,
		`{"message":"agent \"both\" is registered, and goes before the file .toolfold/agents/both.yaml"}`)
	b.Expect("agent.run", run, `{"source":"registered","output":{"answer":"re: x"}}`)
	b.Expect("agent.get", `{"agentId":"both","include_fields":["source","description"]}`, `{"description":"d","source":"registered"}`)
	b.Expect("agent.remove", `{"agentId":"both"}`,
		`{"removed":true,"agentId":"both","message":"agent \"both\" is removed; from now on its id names the file `+
			`.toolfold/agents/both.yaml"}`)
	b.Expect("agent.run", run, `{"source":"file","output":{"a":"re: filed"}}`)
}

// Files of a workspace that the user does not trust are shown and do not run;
// registered agents run.
func TestUntrustedWorkspace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.untrusted = true
	b.register("mine", ``)
	b.file("theirs.yaml", "description: d\nworkflow: [{stepId: a, type: tool, config: {tool: memory.stats}}]\n")
	b.Expect("agent.list", `{}`, `{"agents":[{"agentId":"mine","description":"About mine.","enabled":true},`+
		`{"agentId":"theirs","description":"d","enabled":true,"trusted":false}],"total":2,"hasMore":false}`)
	b.Expect("agent.get", `{"agentId":"theirs","include_fields":["file","trusted"]}`,
		`{"file":".toolfold/agents/theirs.yaml","trusted":false}`)
	b.Refuse("agent.run", `{"agentId":"theirs"}`, workspace.Untrusted,
		`agent "theirs" is the file .toolfold/agents/theirs.yaml of a workspace that is not trusted`, "toolfold trust "+b.workspace)
	b.Expect("agent.run", `{"agentId":"mine","input":{"q":"x"},"include_fields":["success"]}`, `{"success":true}`)
	b.register("boss", `,"workflow":[{"stepId":"a","name":"A","type":"delegate","config":{"agentId":"theirs"}}]`)
	b.Expect("agent.run", `{"agentId":"boss","include_fields":["success","error.code","error.hint"]}`,
		`{"error":{"code":"AGENT_DEPENDENCY_FAILED","hint":"the user has not trusted this workspace; they can look at its `+
			`.toolfold folder and type: toolfold trust `+b.workspace+`"},"success":false}`)
	b.untrusted = false
	b.Expect("agent.run", `{"agentId":"theirs","include_fields":["success"]}`, `{"success":true}`)
}

// Lists are brief: they show the beginning of descriptions and the first broken files.
func TestListIsBrief(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.call("agent.register", `{"agentId":"long","description":"`+strings.Repeat("ü", 1000)+`"}`)
	for i := range 30 {
		b.file(fmt.Sprintf("bad%02d.yaml", i), "x: 1\n")
	}
	answer := b.call("agent.list", `{}`)
	if !strings.Contains(answer, strings.Repeat("ü", 160)+`…"`) ||
		!strings.Contains(answer, `{"file":".toolfold/agents","reason":"10 more files cannot be used"}`) {
		t.Error(answer)
	}
}
