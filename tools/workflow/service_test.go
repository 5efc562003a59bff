package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/workflow"
)

// bench is a workbench with workflows and memory. Its clock stands still.
type bench struct {
	toolfoldtest.Talk
	*surface.Surface
	t         *testing.T
	workspace string
	untrusted bool
	model     *model
}

func newBench(t *testing.T) *bench {
	t.Helper()
	db := storagetest.Open(t, "memory:")
	log := slog.New(slog.DiscardHandler)
	b := &bench{Surface: surface.New(surface.Options{Log: log}), t: t, workspace: t.TempDir(), model: &model{}}
	b.Talk = toolfoldtest.Talk{T: t, Call: b.call}
	now := func() time.Time { return time.Date(2026, 7, 28, 9, 0, 0, 0, time.UTC) }
	runner := &engine.Runner{Caller: b.Runner, Now: now, Log: log}
	err := b.Put(
		toolfoldtest.Mount(t, memory.Family, memory.New(db.Memory(memory.History{}), now)),
		toolfoldtest.Mount(t, workflow.Family, workflow.New(workspace.Folder{Dir: b.workspace, Trusted: func() bool { return !b.untrusted }},
			runner, b.Runner)),
	)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// model answers every prompt alike, once wait lets it.
type model struct {
	prompts atomic.Int64
	wait    chan struct{} // nil = at once
}

func (m *model) Sample(ctx context.Context, p callctx.Prompt) (callctx.Completion, error) {
	m.prompts.Add(1)
	if m.wait != nil {
		select {
		case <-m.wait:
		case <-ctx.Done():
			return callctx.Completion{}, ctx.Err()
		}
	}
	return callctx.Completion{Text: "later"}, nil
}

func (b *bench) file(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.workspace, filepath.FromSlash(workflow.Folder), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) call(action, args string) string {
	b.t.Helper()
	ctx := callctx.WithSampler(b.t.Context(), b.model)
	return string(b.Runner.Call(ctx, action, json.RawMessage(args)).Content)
}

// documented is the example of the documentation.
func documented(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no example")
	}
	return text
}

// The documented example has every kind of block, and runs.
func TestDocumentedExample(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("triage.yaml", documented(t))
	b.Expect("workflow.list", `{}`, `{"workflows":[{"id":"triage","name":"Triage notes","version":"1.2","status":"active","stepCount":3}],`+
		`"total":1,"hasMore":false}`)
	b.call("memory.store", `{"key":"team/a","value":{"n":1}}`)
	b.call("memory.store", `{"key":"team/b","value":{"n":2}}`)
	b.Expect("workflow.run", `{"workflowId":"triage","input":{"prefix":"team/"},"include_fields":["success","workflowId","stepsCompleted",`+
		`"output.ratings.key","stepResults"]}`,
		`{"success":true,"workflowId":"triage","stepsCompleted":3,"output":{"ratings":{"key":"triage/ratings"}},`+
			`"stepResults":[{"stepId":"notes","success":true,"durationMs":0},{"stepId":"verdict","success":true,"durationMs":0},`+
			`{"stepId":"keep","success":true,"durationMs":0}]}`)
	b.Expect("memory.get", `{"key":"triage/ratings","include_fields":["value"]}`, `{"value":{"ratings":["later","later"]}}`)
	if n := b.model.prompts.Load(); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
	b.call("workflow.run", `{"workflowId":"triage","input":{"prefix":"none/"}}`)
	b.Expect("memory.get", `{"key":"triage/none","include_fields":["value"]}`, `{"value":{"prefix":"none/"}}`)
}

// A run that is cancelled half-way ends, and does no more.
func TestCancelledHalfWay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.model.wait = make(chan struct{})
	b.file("triage.yaml", documented(t))
	b.call("memory.store", `{"key":"team/a","value":{"n":1}}`)
	ctx, cancel := context.WithCancel(callctx.WithSampler(t.Context(), b.model))
	done := make(chan toolfold.Answer)
	go func() {
		done <- b.Runner.Call(ctx, "workflow_run", json.RawMessage(`{"workflowId":"triage","input":{"prefix":"team/"}}`))
	}()
	testwait.Until(t, "the model is asked", func() bool { return b.model.prompts.Load() > 0 })
	cancel()
	answer := testwait.Receive(t, "the run ends", done)
	if !strings.Contains(string(answer.Content), `"success":false`) || !strings.Contains(string(answer.Content), `"code":"CANCELLED"`) {
		t.Errorf("%s", answer.Content)
	}
	b.Expect("memory.list", `{"prefix":"triage/","include_fields":["total"]}`, `{"total":0}`)
}

// The file that the declared examples run lies in testdata.
func TestExampleWorkflow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text, err := os.ReadFile("testdata/workspace/.toolfold/workflows/count-notes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b.file("count-notes.yaml", string(text))
	for _, a := range workflow.Family.Declared().Actions {
		if answer := b.Runner.Call(t.Context(), a.FullName(), json.RawMessage(a.Example)); answer.IsError() ||
			strings.Contains(string(answer.Content), `"success":false`) {
			t.Errorf("%s: %s", a.FullName(), answer.Content)
		}
	}
	b.call("memory.store", `{"key":"team/a","value":{}}`)
	b.Expect("workflow.run", `{"workflowId":"count-notes","include_fields":["success","output"]}`,
		`{"success":true,"output":{"some":{"key":"counts/notes","message":"stored","namespace":"default","replaced":false,"success":true}}}`)
}

const one = "name: N\nsteps: [{stepId: a, type: tool, config: {tool: memory.list}}]\n"

func TestDescribe(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("plain.yaml", one)
	b.file("full.json",
		`{"workflowId":"whole/one","name":"W","version":"3","status":"draft","description":"d","inputSchema":{"type":"object","required":["a"]},
		"steps":[{"stepId":"a","name":"A","type":"tool","config":{"tool":"memory.list"},"description":"first"},
		{"stepId":"b","type":"prompt","config":{"prompt":"{{ steps.a.total }}"},"dependsOn":["a"]}]}`)
	b.Expect("workflow.describe", `{"workflowId":"plain"}`, `{"id":"plain","name":"N","version":"1","description":"","status":"active",`+
		`"steps":[{"stepId":"a","name":"a","type":"tool","config":{"tool":"memory.list"}}],"inputSchema":{"type":"object"},`+
		`"file":".toolfold/workflows/plain.yaml"}`)
	b.Expect("workflow.describe", `{"workflowId":"whole/one"}`,
		`{"id":"whole/one","name":"W","version":"3","description":"d","status":"draft",`+
			`"steps":[{"stepId":"a","name":"A","type":"tool","description":"first","config":{"tool":"memory.list"}},{"stepId":"b","name":"b",`+
			`"type":"prompt","config":{"prompt":"{{ steps.a.total }}"},"dependsOn":["a"]}],"inputSchema":{"required":["a"],"type":"object"},`+
			`"file":".toolfold/workflows/full.json"}`)
}

// A step is described with every member that it can have.
func TestDescribeShowsWholeSteps(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	whole := engine.Step{
		StepID: "b", Name: "B", Type: engine.TypeTool, Description: "second",
		Config:    json.RawMessage(`{"arguments":{"limit":1},"tool":"memory.list"}`),
		DependsOn: []string{"a"}, TimeoutMs: 1000, Retry: &engine.Retry{MaxAttempts: 2, BackoffMs: 5}, ContinueOnError: true, Idempotent: true,
	}
	for member, value := range reflect.ValueOf(whole).Fields() {
		if value.IsZero() {
			t.Errorf("the step has no %s: add it", member.Name)
		}
	}
	first := engine.Step{StepID: "a", Name: "A", Type: engine.TypeTool, Config: json.RawMessage(`{"tool":"memory.list"}`)}
	b.file("w.json", string(ordered.MustJSON(map[string]any{"name": "W", "steps": []engine.Step{first, whole}})))
	answer := b.Runner.Call(t.Context(), "workflow.describe", json.RawMessage(`{"workflowId":"w"}`))
	var got workflow.DescribeOut
	if err := json.Unmarshal(answer.Content, &got); err != nil || answer.Err != nil {
		t.Fatal(string(answer.Content), err)
	}
	if diff := cmp.Diff([]engine.Step{first, whole}, got.Steps); diff != "" {
		t.Errorf("steps of the file and as described (-file +described)\n%s", diff)
	}
}

func TestListFiltersAndPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Expect("workflow.list", `{}`, `{"workflows":[],"total":0,"hasMore":false,`+
		`"warnings":["there are no workflows; tools.describe workflow names their source"]}`)
	for i, status := range []string{"active", "draft", "active", "inactive"} {
		b.file(fmt.Sprintf("w%d.yaml", i), one+"status: "+status+"\n")
	}
	const ids = `,"include_fields":["workflows.id","total","hasMore","nextCursor"]}`
	for args, want := range map[string]string{
		`{"status":"active"`:             `{"workflows":[{"id":"w0"},{"id":"w2"}],"total":2,"hasMore":false}`,
		`{"status":"inactive","limit":1`: `{"workflows":[{"id":"w3"}],"total":1,"hasMore":false}`,
	} {
		b.Expect("workflow.list", args+ids, want)
	}
	b.ExpectPages("workflow.list", `{"limit":2`+ids,
		`{"workflows":[{"id":"w0"},{"id":"w1"}],"total":4,"hasMore":true}`, `{"workflows":[{"id":"w2"},{"id":"w3"}],"total":4,"hasMore":false}`)
	b.ExpectPages("workflow.list", `{"status":"active","limit":1`+ids,
		`{"workflows":[{"id":"w0"}],"total":2,"hasMore":true}`, `{"workflows":[{"id":"w2"}],"total":2,"hasMore":false}`)
}

// Broken files are told with line and reason, and hide nothing.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("good.yaml", one)
	for name, text := range map[string]string{
		"again.yaml":   "workflowId: good2\n" + one,
		"again2.yaml":  one + "workflowId: good2\n",
		"noname.yaml":  "steps: [{stepId: a, type: prompt, config: {prompt: x}}]\n",
		"nosteps.yaml": "name: N\nsteps: []\n",
		"member.yaml":  one + "stepz: 1\n",
		"status.yaml":  one + "status: off\n",
		"schema.yaml":  one + "inputSchema:\n  type: objekt\n",
		"remote.yaml":  one + "inputSchema:\n  $ref: file:///etc/passwd\n",
		"tool.yaml": "name: N\nsteps:\n  - stepId: a\n    type: parallel\n    config:\n      steps:\n        - stepId: b\n          type: " +
			"tool\n          config:\n            tool: memory.lst\n",
		"expr.yaml": "name: N\nsteps:\n  - stepId: a\n    type: conditional\n    config:\n      condition: steps.b.x >\n      then: []\n",
		"yaml.yaml": "name: N\nsteps:\n  - stepId: [\n",
	} {
		b.file(name, text)
	}
	var out workflow.ListOut
	if err := json.Unmarshal([]byte(b.call("workflow.list", `{}`)), &out); err != nil {
		t.Fatal(err)
	}
	if out.Total != 2 || out.Workflows[0].ID != "good" || out.Workflows[1].ID != "good2" {
		t.Errorf("%+v", out.Workflows)
	}
	got := map[string]string{}
	for _, broken := range out.Broken {
		got[strings.TrimPrefix(broken.File, workflow.Folder+"/")] = fmt.Sprintf("%d: %s", broken.Line, broken.Reason)
	}
	for name, want := range map[string]string{
		"again2.yaml":  `3: workflowId "good2" is taken by .toolfold/workflows/again.yaml`,
		"noname.yaml":  `1: name is missing`,
		"nosteps.yaml": `2: it has no steps`,
		"member.yaml":  `3: "stepz" is unknown`,
		"status.yaml":  `3: status must be one of its allowed values, got "off"`,
		"schema.yaml":  `3: inputSchema: compiling schema`,
		"remote.yaml":  `3: inputSchema: the reference file:///etc/passwd leads to nothing in the schema`,
		"tool.yaml":    `10: step "b": tool must be one of its allowed values, got "memory.lst", did you mean "memory.list"?`,
		"expr.yaml":    `6: step "a": condition must be a valid expression: unexpected token EOF (line 1, column 11)`,
		"yaml.yaml":    `3: `,
	} {
		if !strings.HasPrefix(got[name], want) {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) != 0 {
		t.Errorf("also broken: %v", got)
	}
	b.Refuse("workflow.run", `{"workflowId":"tool"}`, workspace.FileBroken,
		`workflow "tool" cannot be used: .toolfold/workflows/tool.yaml, line 10, column 13: step "b"`, "mend the file")
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Refuse("workflow.run", `{"workflowId":"x"}`, workflow.NotFound, `there is no workflow "x"`,
		"there are no workflows; they are files, such as .toolfold/workflows/count-notes.yaml: {name: Count notes")
	b.file("deploy.yaml", one+`
inputSchema:
  type: object
  properties: {n: {type: integer, minimum: 1, default: 3}, to: {enum: [test, live]}}
  required: [to]
  additionalProperties: false
`)
	b.file("off.yaml", one+"status: inactive\n")
	b.file("self.yaml", "name: N\nsteps: [{stepId: a, type: tool, config: {tool: workflow.run, arguments: {workflowId: self}}}]\n")
	b.Refuse("workflow.run", `{"workflowId":"deplyo"}`, workflow.NotFound, `there is no workflow "deplyo"`, `did you mean "deploy"?`)
	b.Refuse("workflow.run", `{"workflowId":"unlike"}`, workflow.NotFound, ``, `there are deploy, off, self`)
	b.Refuse("workflow.run", `{"workflowId":"off"}`, workflow.NotActive, `workflow "off" is inactive`,
		"status: active in .toolfold/workflows/off.yaml")
	b.Refuse("workflow.run", `{"workflowId":"deploy"}`, toolfold.InvalidInput, "workflow.run: input/to is missing",
		"workflow.describe has the inputSchema of deploy")
	b.Refuse("workflow.run", `{"workflowId":"deploy","input":{"to":"liv","n":0,"m":1}}`, toolfold.InvalidInput,
		`"input/m" is unknown; input/n must be at least 1, got 0; input/to must be one of its allowed values, got "liv", did you mean "live"?`,
		"")
	b.Expect("workflow.run", `{"workflowId":"deploy","input":{"to":"live"},"include_fields":["success"]}`, `{"success":true}`)
	b.Expect("workflow.run", `{"workflowId":"self","include_fields":["success","error.code"]}`,
		`{"error":{"code":"AGENT_DELEGATION_DEPTH_EXCEEDED"},"success":false}`)
}

// A failing step is a result, with the outputs of those before.
func TestRunThatFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("w.yaml", `
name: N
steps:
  - {stepId: a, type: tool, config: {tool: memory.stats}}
  - {stepId: b, type: tool, config: {tool: memory.get, arguments: {key: "{{ input.key }}"}}}
  - {stepId: c, type: tool, config: {tool: memory.stats}}
`)
	b.Expect("workflow.run", `{"workflowId":"w","include_fields":["success","stepsCompleted","output.a.totalEntries","stepResults.stepId",`+
		`"stepResults.success","error.code","error.stepId","error.hint"]}`,
		`{"error":{"code":"TOOL_CONFIG_ERROR","hint":"give key, or keys to read several entries","stepId":"b"},"success":false,`+
			`"stepsCompleted":1,"output":{"a":{"totalEntries":0}},"stepResults":[{"stepId":"a","success":true},{"stepId":"b","success":false}]}`)
}

// A schema whose references multiply makes its file broken, at once.
func TestSchemaThatMultiplies(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := one + "inputSchema:\n  $ref: '#/$defs/l0'\n  $defs:\n"
	for i := range 60 {
		text += fmt.Sprintf("    l%d: {anyOf: [{$ref: '#/$defs/l%d'}, {$ref: '#/$defs/l%d'}]}\n", i, i+1, i+1)
	}
	b.file("bomb.yaml", text+"    l60: {type: 'null'}\n")
	b.file("good.yaml", one)
	b.Expect("workflow.list", `{"include_fields":["total","broken"]}`,
		`{"total":1,"broken":[{"file":".toolfold/workflows/bomb.yaml","line":3,"column":1,`+
			`"reason":"inputSchema: it has more than 5000 values or 2000 steps of patterns with its references written out"}]}`)
	b.Refuse("workflow.run", `{"workflowId":"bomb"}`, workspace.FileBroken, "inputSchema: it has more than 5000 values", "mend the file")
}

// An input that would take too long to check is refused.
func TestInputTooLargeForItsSchema(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("w.yaml", one+"inputSchema: {properties: {list: {uniqueItems: true}}}\n")
	b.Expect("workflow.run", `{"workflowId":"w","input":{"list":[1,2]},"include_fields":["success"]}`, `{"success":true}`)
	b.Refuse("workflow.run", `{"workflowId":"w","input":{"list":[`+strings.Repeat("0,", 50_000)+`1]}}`, toolfold.InvalidInput,
		"the input is too large to be checked against the inputSchema of w", "send less")
}

// Workflows of a workspace that the user does not trust are shown and do not
// run.
func TestUntrustedWorkspace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.untrusted = true
	b.file("w.yaml", one)
	b.Expect("workflow.list", `{"include_fields":["workflows.id","workflows.trusted"]}`, `{"workflows":[{"id":"w","trusted":false}]}`)
	b.Expect("workflow.describe", `{"workflowId":"w","include_fields":["id","trusted"]}`, `{"id":"w","trusted":false}`)
	b.Refuse("workflow.run", `{"workflowId":"w"}`, workspace.Untrusted,
		`workflow "w" is the file .toolfold/workflows/w.yaml of a workspace that is not trusted`,
		"toolfold trust "+b.workspace)
	b.untrusted = false
	b.Expect("workflow.run", `{"workflowId":"w","include_fields":["success"]}`, `{"success":true}`)
}

// A file is compiled again only when it changed, but the tools it uses are
// looked for at every use.
func TestToolsThatGo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("w.yaml", one)
	b.Expect("workflow.list", `{"include_fields":["total"]}`, `{"total":1}`)
	if err := b.Remove("memory"); err != nil {
		t.Fatal(err)
	}
	b.Expect("workflow.list", `{"include_fields":["total","broken.line","broken.reason"]}`,
		`{"total":0,"broken":[{"line":2,"reason":"step \"a\": tool must be one of its allowed values, got \"memory.list\""}]}`)
}

// The error of a workspace without workflows has a file with which the example
// of the action runs.
func TestExampleRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	answer := b.call("workflow.run", workflow.Family.Actions[0].Example)
	var refused struct{ Error toolfold.Error }
	if err := json.Unmarshal([]byte(answer), &refused); err != nil {
		t.Fatal(err)
	}
	_, file, found := strings.Cut(refused.Error.Hint, "count-notes.yaml: ")
	if !found || len(answer) > 640 {
		t.Fatal(answer)
	}
	b.file("count-notes.yaml", file)
	if ran := b.call("workflow.run", workflow.Family.Actions[0].Example); !strings.Contains(ran, `"success":true`) {
		t.Error(ran)
	}
}

// Texts are read as what the schema wants where they can only mean that, a
// version may be written as a number, and the example of a refusal is a call of
// the workflow itself.
func TestInputIsReadAsParametersAre(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("typed.yaml", `name: Typed
version: 1.0
inputSchema: {type: object, properties: {n: {type: integer}, on: {type: boolean}, list: {type: array, items: {type: number}},
  text: {type: string}}, required: [n]}
steps: [{stepId: s, type: tool, config: {tool: memory.store, arguments: {key: k, value: {all: "{{ input }}"}}}}]
`)
	b.call("workflow.run", `{"workflowId":"typed","input":{"n":"2","on":"true","list":["1.5","3"],"text":"4"}}`)
	b.Expect("memory.get", `{"key":"k","include_fields":["value"]}`, `{"value":{"all":{"list":[1.5,3],"n":2,"on":true,"text":"4"}}}`)
	b.Expect("workflow.list", `{"include_fields":["workflows.version"]}`, `{"workflows":[{"version":"1.0"}]}`)
	answer := b.call("workflow.run", `{"workflowId":"typed","input":{"n":"two"}}`)
	if !strings.Contains(answer, `n must be integer, got string`) ||
		!strings.Contains(answer, `"example":{"workflowId":"typed","input":{"n":1}}`) {
		t.Error(answer)
	}
	b.file("open.yaml", strings.Replace(one, "steps:", "inputSchema: {type: object, properties: {n: {type: [string, 'null']}}, "+
		"required: [n]}\nsteps:", 1))
	if answer := b.call("workflow.run", `{"workflowId":"open","input":{}}`); !strings.Contains(answer,
		`"example":{"workflowId":"open","input":{"n":null}}`) {
		t.Error(answer)
	}
}

// Broken files are told on the first page only.
func TestBrokenFilesAreReportedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("a.yaml", one)
	b.file("b.yaml", one)
	b.file("broken.yaml", "name: x")
	first := b.call("workflow.list", `{"limit":1}`)
	var page struct{ NextCursor string }
	if err := json.Unmarshal([]byte(first), &page); err != nil || !strings.Contains(first, "broken.yaml") {
		t.Fatal(first)
	}
	if second := b.call("workflow.list", `{"limit":1,"cursor":"`+page.NextCursor+`"}`); strings.Contains(second, "broken") ||
		!strings.Contains(second, `"id":"b"`) {
		t.Error(second)
	}
}

// A definition is checked as its file would be, whether it is text or an object, and
// nothing is saved or run.
func TestCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := `{"stepId":"a","type":"tool","config":{"tool":%q,"arguments":%s}}`
	valid := fmt.Sprintf(`{"name":"N","steps":[`+step+`]}`, "memory.stats", "{}")
	b.Expect("workflow.check", `{"definition":`+valid+`}`,
		`{"valid":true,"message":"save it as .toolfold/workflows/ID.yaml; workflow.run calls it by ID"}`)
	for _, test := range []struct{ definition, want string }{
		{`{"name":"N"}`, "steps is missing"},
		{fmt.Sprintf(`{"name":"N","steps":[`+step+`]}`, "memory.stat", "{}"), `memory.stat`},
		{`"name: N\nsteps:\n  - {stepId: a, type: tool, config: {tool: memory.stats}}\n` +
			`  - {stepId: a, type: tool, config: {tool: memory.stats}}\n"`, `"line":4`},
		{`"name: [N"`, `"valid":false`},
		{`7`, `"valid":false`},
		{`{"name":"N","steps":[{"stepId":"a","type":"prompt","config":{"prompt":"p","provider":"none"}}]}`, `no provider`},
	} {
		if got := b.call("workflow.check", `{"definition":`+test.definition+`}`); !strings.Contains(got, test.want) {
			t.Errorf("%s is answered %s, want %s", test.definition, got, test.want)
		}
	}
	// A list of problems is bounded, and counts the rest.
	many := make([]string, 50)
	for i := range many {
		many[i] = fmt.Sprintf(`{"stepId":"s%d","type":"tool","config":{"tool":"memory.list","arguments":{"limit":0}}}`, i)
	}
	got := b.call("workflow.check", `{"definition":{"name":"N","steps":[`+strings.Join(many, ",")+`]}}`)
	if n := strings.Count(got, `"kind":"range"`); n == 0 || n > 20 || len(got) > 6000 ||
		!strings.Contains(got, fmt.Sprintf(`"message":"%d more problems are not shown`, len(many)-n)) {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	// Runs do not refuse what a check finds: a stored definition goes on as far as it did.
	b.file("far.yaml", "name: Far\nsteps:\n  - {stepId: a, type: tool, config: {tool: memory.stats}}\n"+
		"  - {stepId: b, type: tool, config: {tool: memory.list, arguments: {limit: 0}}}\n")
	b.Expect("workflow.run", `{"workflowId":"far","include_fields":["success","stepsCompleted","error.code"]}`,
		`{"error":{"code":"TOOL_CONFIG_ERROR"},"success":false,"stepsCompleted":1}`)
	if err := os.Remove(filepath.Join(b.workspace, filepath.FromSlash(workflow.Folder), "far.yaml")); err != nil {
		t.Fatal(err)
	}
	if list := b.call("workflow.list", `{}`); !strings.Contains(list, `"total":0`) {
		t.Errorf("something was saved: %s", list)
	}
}

// A dry run shows what a run would do, and does nothing of it.
func TestDryRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("greet.yaml", `
name: Greet
inputSchema: {type: object, properties: {who: {type: string}}, required: [who], additionalProperties: false}
steps:
- {stepId: store, type: tool, config: {tool: memory.store, arguments: {key: greeted, value: "{{ input.who }}"}}}
- {stepId: ask, type: prompt, config: {prompt: "Greet {{ input.who }}"}}
`)
	b.Expect("workflow.run", `{"workflowId":"greet","input":{"who":"Ada"},"dryRun":true}`, `{"success":true,"workflowId":"greet",`+
		`"stepsCompleted":0,"output":null,"stepResults":[],"totalDurationMs":0,"dryRun":{"plan":[`+
		`{"stepId":"store","type":"tool","tool":"memory.store"},{"stepId":"ask","type":"prompt","modelCalls":1}],"modelCalls":1}}`)
	if list := b.call("memory.list", `{}`); !strings.Contains(list, `"total":0`) || b.model.prompts.Load() != 0 {
		t.Errorf("the dry run left %s and asked the model %d times", list, b.model.prompts.Load())
	}
	if answer := b.call("workflow.run", `{"workflowId":"greet","dryRun":true}`); !strings.Contains(answer, `"path":"/input/who"`) {
		t.Errorf("an input without a required member gets %s", answer)
	}
	b.file("wrong.yaml", `{name: Wrong, steps: [{stepId: a, type: tool, config: {tool: memory.get, arguments: {keyy: x}}}]}`)
	answer := b.Runner.Call(t.Context(), "workflow.run", json.RawMessage(`{"workflowId":"wrong","dryRun":true}`))
	if text := string(answer.Content); answer.Failed || !strings.Contains(text, `"success":false`) || !strings.Contains(text, `"plan":[`) ||
		!strings.Contains(text, `"problems":[{"path":"/steps/0/config/arguments/keyy"`) {
		t.Errorf("a workflow with a wrong argument gets %s", text)
	}
}

// What a run takes in the end stays a dry run.
func TestDryRunIsCompletedAsOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("a.yaml", `{name: A, steps: [{stepId: a, type: tool, config: {tool: memory.list}}]}`)
	run := b.Runner.Lookup("workflow.run")[0].Action
	completed, err := run.Complete(t.Context(), json.RawMessage(`{"workflowId":"a","dryRun":true}`))
	if err != nil || !strings.Contains(string(completed), `"dryRun":true`) {
		t.Errorf("%s, %v", completed, err)
	}
}
