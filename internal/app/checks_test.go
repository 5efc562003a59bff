package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// checked returns a workbench with everything that the definitions of testdata/checks refer to:
// agents, a queue, an ability, tools of another server, and a server without known tools.
func checked(t testing.TB) *workbench.Bench {
	t.Helper()
	b := workbench.New(t, surface.Options{})
	for _, call := range [][2]string{
		{"agent.register", `{"agentId":"writer","description":"Writes."}`},
		{"agent.register", `{"agentId":"keeper","description":"Looks up notes."}`},
		{"queue.create", `{"name":"deploys"}`},
		{"ability.register", `{"abilityId":"go-errors","content":"Wrap errors."}`},
	} {
		if answer := b.Runner.Call(t.Context(), call[0], json.RawMessage(call[1])); answer.Err != nil {
			t.Fatal(answer.Err)
		}
	}
	folder := filepath.Join(b.Workspace, ".toolfold", "agents")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "filed.yaml"), []byte("description: In a file.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(b.Workspace, ".toolfold", "workflows")
	const deploy = "name: Deploy\ninputSchema: {type: object, required: [to], additionalProperties: false, " +
		"properties: {to: {enum: [here, there]}, fast: {type: boolean}}}\nsteps: [{stepId: list, type: tool, config: {tool: memory.list}}]\n"
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "deploy.yaml"), []byte(deploy), 0o644); err != nil {
		t.Fatal(err)
	}
	var foreign []*toolfold.Family
	for name, schema := range map[string]string{
		"tracker_create": `{"type":"object","properties":{"title":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}},` +
			`"priority":{"enum":["low","high"]},"estimate":{"type":"number"}},"required":["title"],"additionalProperties":false}`,
		"tracker_search": `{"type":"object","properties":{"by":{"oneOf":[{"type":"object","properties":{"id":{"type":"integer"}},` +
			`"required":["id"]},{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}]},` +
			`"since":{"type":"string","pattern":"^[0-9]{4}-[0-9]{2}$"},"most":{"type":"integer","minimum":1}},"required":["by"]}`,
	} {
		f, err := toolfold.External{Name: name, Description: "Track issues.", Category: "tracker", InputSchema: json.RawMessage(schema),
			Run: func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`{}`), nil }}.Family()
		if err != nil {
			t.Fatal(err)
		}
		foreign = append(foreign, f)
	}
	if err := b.Put(foreign...); err != nil {
		t.Fatal(err)
	}
	b.Discovery.ListAbsent(func() []lazy.Row { return []lazy.Row{{Name: "forge", Reason: "it does not start", Absent: true}} }, nil)
	return b
}

func definitions(t testing.TB, file string) []txtar.File {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "checks", file))
	if err != nil {
		t.Fatal(err)
	}
	return archive.Files
}

type verdict struct {
	Valid    bool
	Reason   string
	Message  string
	Unjudged []string
	Problems []struct {
		Path, Kind   string
		Line, Column int
	}
}

// check calls workflow.check for a definition.
func check(t testing.TB, b *workbench.Bench, definition string) (v verdict) {
	t.Helper()
	answer := b.Runner.Call(t.Context(), "workflow.check", ordered.MustJSON(map[string]string{"definition": definition}))
	if answer.Err != nil {
		t.Fatal(answer.Err)
	}
	if err := json.Unmarshal(answer.Content, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// In definitions with one fault each, workflow.check finds only that fault, with its position.
func TestBrokenDefinitions(t *testing.T) {
	t.Parallel()
	b := checked(t)
	for _, f := range definitions(t, "broken.txtar") {
		cut := strings.LastIndex(f.Name, " ")
		name, path := f.Name[:cut], f.Name[cut+1:]
		v := check(t, b, string(f.Data))
		if v.Valid || len(v.Problems) != 1 || v.Problems[0].Path != path || v.Problems[0].Line == 0 || v.Problems[0].Column == 0 {
			t.Errorf("%s: %s\n%+v", name, path, v)
			continue
		}
		// The position is the name's, or its parent's if the name is missing.
		line := strings.Split(string(f.Data), "\n")[v.Problems[0].Line-1]
		if here := line[v.Problems[0].Column-1:]; v.Problems[0].Kind != toolfold.ProblemMissing && !startsWith(here, path) {
			t.Errorf("%s: %s is found at %q", name, path, here)
		}
	}
}

// startsWith reports whether a text begins with the last name of a path. It is true for an index.
func startsWith(text, path string) bool {
	last := path[strings.LastIndex(path, "/")+1:]
	var index int
	_, err := fmt.Sscan(last, &index)
	return err == nil || strings.HasPrefix(strings.TrimLeft(text, `"`), last)
}

// Definitions without a fault have no problems. Half of them have values that are only known at run
// time.
func TestValidDefinitions(t *testing.T) {
	t.Parallel()
	b := checked(t)
	for _, f := range definitions(t, "valid.txtar") {
		v := check(t, b, string(f.Data))
		if !v.Valid || len(v.Problems) > 0 {
			t.Errorf("%s: %+v\n%s", f.Name, v, f.Data)
		}
		if absent := strings.HasPrefix(f.Name, "server that offers no tools yet"); absent != (len(v.Unjudged) > 0) {
			t.Errorf("%s: %q is not judged", f.Name, v.Unjudged)
		}
	}
}

// A file that calls a server without tools is not broken: its steps may find them at run time.
func TestFileOfAnAbsentServer(t *testing.T) {
	t.Parallel()
	b := checked(t)
	file := filepath.Join(b.Workspace, ".toolfold", "workflows", "merge.yaml")
	text := "name: Merge\nsteps: [{stepId: a, type: tool, config: {tool: forge_merge, arguments: {request: 1}}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	list := string(b.Runner.Call(t.Context(), "workflow.list", nil).Content)
	if !strings.Contains(list, `"id":"merge"`) || strings.Contains(list, "broken") {
		t.Error(list)
	}
	run := string(b.Runner.Call(t.Context(), "workflow.run", json.RawMessage(`{"workflowId":"merge"}`)).Content)
	if !strings.Contains(run, "the server forge offers no tools now") {
		t.Error(run)
	}
}

// toolSteps is a definition of calls in order, each of an action and its arguments.
func toolSteps(calls ...any) string {
	var steps []any
	for i := 0; i < len(calls); i += 2 {
		steps = append(steps, map[string]any{"stepId": fmt.Sprintf("s%d", i), "type": "tool",
			"config": map[string]any{"tool": calls[i], "arguments": calls[i+1]}})
	}
	return string(ordered.MustJSON(map[string]any{"name": "N", "steps": steps}))
}

// A check finds a name that leads nowhere in exactly the calls that would fail by it.
func TestNamesThatLeadNowhere(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	failing := map[string]bool{"agent": false, "workflow": false, "queue": false, "ability": false}
	count := 0
	for _, f := range b.Families() {
		for _, a := range f.Actions {
			required, optional := a.Inputs()
			for _, p := range append(required, optional...) {
				kind := strings.TrimSuffix(p.Name, "Id")
				if _, stays := failing[kind]; !stays || kind == p.Name { // ids of runs come and go
					continue
				}
				var args map[string]any
				if err := json.Unmarshal([]byte(a.Example), &args); err != nil {
					t.Fatal(err)
				}
				if a.FullName() == "task.submit" && kind != "queue" {
					args["input"] = map[string]any{} // in place of the call of a tool
				}
				count++
				args[p.Name] = fmt.Sprintf("nowhere-%d", count)
				v := check(t, b, toolSteps(a.FullName(), args))
				found := strings.Contains(v.Reason, "known "+kind+": ")
				answer := b.Runner.Call(t.Context(), a.FullName(), ordered.MustJSON(args))
				refused := answer.Err != nil && answer.Err.Code == strings.ToUpper(kind)+"_NOT_FOUND"
				if found != refused {
					t.Errorf("%s of %s: a check finds it: %t; a call answers %v; reason %s", p.Name, a.FullName(), found, answer.Err, v.Reason)
				}
				failing[kind] = failing[kind] || refused
			}
		}
	}
	for kind, is := range failing {
		if !is {
			t.Errorf("no call was refused by a %s that does not exist", kind)
		}
	}
}

// A check knows the actions that make what later steps may name.
func TestReferencesToEarlierSteps(t *testing.T) {
	t.Parallel()
	for kind, reads := range map[string]string{"agent": "agent.get", "queue": "queue.pause", "ability": "ability.get"} {
		b := workbench.New(t, surface.Options{})
		total := func() (n int) {
			var page struct{ Total int }
			answer := b.Runner.Call(t.Context(), kind+".list", nil)
			if err := json.Unmarshal(answer.Content, &page); err != nil {
				t.Fatal(err, answer.Err)
			}
			return page.Total
		}
		made := 0
		for _, f := range b.Families() {
			if f.Name != kind {
				continue
			}
			for _, a := range f.Actions {
				before := total()
				b.Runner.Call(t.Context(), a.FullName(), json.RawMessage(a.Example))
				makes := total() > before
				if makes {
					made++
				}
				v := check(t, b, toolSteps(a.FullName(), json.RawMessage(a.Example), reads, map[string]any{kind + "Id": "later"}))
				if found := strings.Contains(v.Reason, `"later"`); found == makes {
					t.Errorf("%s makes one: %t; a check finds a later name: %t: %s", a.FullName(), makes, found, v.Reason)
				}
			}
		}
		if made == 0 {
			t.Errorf("no example makes a %s", kind)
		}
	}
}

// All faulty placeholders of a text are problems, five spelt out, and every problem says what is right.
func TestProblemsHaveCorrections(t *testing.T) {
	t.Parallel()
	b := checked(t)
	text := ""
	for i := range 7 {
		text += fmt.Sprintf("{{ steps.s%d }} ", i)
	}
	answer := b.Runner.Call(t.Context(), "workflow.check", ordered.MustJSON(map[string]any{"definition": map[string]any{
		"name": "N", "steps": []any{
			map[string]any{"stepId": "a", "type": "prompt", "config": map[string]any{"prompt": text}},
			map[string]any{"stepId": "b", "type": "tool", "config": map[string]any{"tool": "memory.get"}},
			map[string]any{"stepId": "c", "type": "tool", "config": map[string]any{"tool": "memory.list",
				"arguments": map[string]any{"limit": 0, "kee": 1, "value": "x", "prefix": []any{}}}},
			map[string]any{"stepId": "d", "type": "tool", "config": map[string]any{"tool": "memori.list"}},
			map[string]any{"stepId": "e", "type": "tool", "config": map[string]any{"tool": "task.list", "arguments": map[string]any{"status": "x"}}},
		}}}))
	var v struct {
		Problems []struct{ Path, Kind, Want string }
	}
	if err := json.Unmarshal(answer.Content, &v); err != nil {
		t.Fatal(err)
	}
	prompts := 0
	for _, p := range v.Problems {
		if p.Path == "/steps/0/config/prompt" {
			prompts++
		}
		if p.Want == "" {
			t.Errorf("%s %s does not say what is right", p.Path, p.Kind)
		}
	}
	if prompts != 6 || len(v.Problems) < 12 || !strings.Contains(string(answer.Content), "2 more are faulty") {
		t.Errorf("%d problems of the text: %s", prompts, answer.Content)
	}
}
