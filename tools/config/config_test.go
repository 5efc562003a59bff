package config

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/tools"
)

// nested is a list of settings with everything that later families need.
var nested = tools.Fields{
	tools.String{Name: "name", Doc: "A text.", MinLen: 1},
	tools.String{Name: "level", Doc: "An enum.", Enum: []string{"low", "high"}}.With(tools.Default("low")),
	tools.Int{Name: "count", Doc: "A number.", Max: 10},
	tools.Number{Name: "ratio", Doc: "A number."},
	tools.Bool{Name: "on", Doc: "A switch."},
	tools.List{Name: "allow", Doc: "A list.", Of: tools.String{}, MaxItems: 3},
	tools.Object{Name: "policy", Doc: "A declared object.", Optional: tools.Fields{
		tools.Int{Name: "maxRetries", Doc: "A number."}.With(tools.Default(3)),
		tools.Bool{Name: "parallel", Doc: "A switch."},
		tools.Object{Name: "deep", Doc: "An object.", Optional: tools.Fields{tools.String{Name: "leaf", Doc: "A text."}}},
	}},
	tools.Object{Name: "engines", Doc: "An open map."},
	tools.List{Name: "servers", Doc: "A list of objects.", Of: tools.Object{
		Required: tools.Fields{tools.String{Name: "host", Doc: "A text."}},
		Optional: tools.Fields{tools.Int{Name: "port", Doc: "A number."}},
	}},
}

func tempFiles(t *testing.T) Files {
	t.Helper()
	return Files{Global: filepath.Join(t.TempDir(), "toolfold", "config.json"), Workspace: t.TempDir()}
}

func nestedFiles(t *testing.T) Files {
	t.Helper()
	files := tempFiles(t)
	files.settings = nested
	return files
}

// write puts text where a scope keeps its settings.
func write(t *testing.T, files Files, scope, text string) {
	t.Helper()
	path := pathOf(files, scope)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func pathOf(files Files, scope string) string {
	if scope == Global {
		return files.Global
	}
	return filepath.Join(files.Workspace, LocalFile)
}

func content(t *testing.T, files Files, scope string) string {
	t.Helper()
	text, err := os.ReadFile(pathOf(files, scope))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// call runs an action the way a client does and returns the answer as JSON.
func call(t *testing.T, files Files, action, args string) string {
	t.Helper()
	spec := Family.Mount(func(context.Context) (*Service, error) { return New(files), nil })
	registry := tools.NewRegistry(nil, slog.New(slog.DiscardHandler))
	parsed, problem := tools.ParseArgs(json.RawMessage(args))
	if problem != nil {
		t.Fatal(problem)
	}
	entry := tools.Consolidated(spec.Action(action))
	return string(registry.Run(t.Context(), entry, parsed).Content)
}

// failure is the error in an answer, without the usage and example that the
// registry adds.
func failure(t *testing.T, answer string) tools.Error {
	t.Helper()
	var failed struct{ Error *tools.Error }
	if err := json.Unmarshal([]byte(answer), &failed); err != nil {
		t.Fatal(err)
	}
	if failed.Error == nil {
		t.Fatalf("answered %s, want an error", answer)
	}
	failed.Error.Usage, failed.Error.Example = "", nil
	return *failed.Error
}

func TestGet(t *testing.T) {
	t.Parallel()
	files := nestedFiles(t)
	write(t, files, Global, `{"level": "high", "count": 2, "policy": {"parallel": true}, "allow": ["a", "b"], "mystery": {"x": 1}}`)
	write(t, files, Local, `{"count": 7, "allow": ["c"], "name": null, "engines": {"p": {"key": 12345678901234567890}}}`)
	for _, test := range []struct{ name, args, want string }{
		{"default", `{"path":"policy.maxRetries"}`, `{"path":"policy.maxRetries","value":3,"scope":"merged","found":true}`},
		{"global over default", `{"path":"level"}`, `{"path":"level","value":"high","scope":"merged","found":true}`},
		{"local over global", `{"path":"count"}`, `{"path":"count","value":7,"scope":"merged","found":true}`},
		{"objects merge", `{"path":"policy"}`, `{"path":"policy","value":{"maxRetries":3,"parallel":true},"scope":"merged","found":true}`},
		{"lists are replaced", `{"path":"allow"}`, `{"path":"allow","value":["c"],"scope":"merged","found":true}`},
		{"index", `{"path":"allow.1","scope":"global"}`, `{"path":"allow.1","value":"b","scope":"global","found":true}`},
		{"index too high", `{"path":"allow.1"}`, `{"path":"allow.1","scope":"merged","found":false}`},
		{"one scope has no defaults", `{"path":"level","scope":"local"}`, `{"path":"level","scope":"local","found":false}`},
		{"null is not set", `{"path":"name"}`, `{"path":"name","scope":"merged","found":false}`},
		{"open map", `{"path":"engines.p.key"}`, `{"path":"engines.p.key","value":12345678901234567890,"scope":"merged","found":true}`},
		{"open map, absent", `{"path":"engines.q"}`, `{"path":"engines.q","scope":"merged","found":false}`},
		{"hand-written key", `{"path":"mystery.x"}`, `{"path":"mystery.x","value":1,"scope":"merged","found":true}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, call(t, files, "get", test.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGetUnknown(t *testing.T) {
	t.Parallel()
	got := failure(t, call(t, tempFiles(t), "get", `{"path":"toolmod"}`))
	want := tools.Error{
		Code:    tools.InvalidInput,
		Message: `config.get: path must be one of its allowed values, got "toolmod", did you mean "toolMode"?`,
		Problems: []tools.Problem{{
			Path: "/path", Kind: tools.ProblemEnum, Got: "toolmod", Suggest: "toolMode",
			Allowed: paths(root(Settings), ""),
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	write(t, files, Global, `{"listing": "full", "tool_mode": "legacy"}`)
	for _, test := range []struct{ name, args, want string }{
		{"merged", `{}`, `{"scope":"merged","config":{"listing":"full","strictNames":false,"toolMode":"consolidated","tool_mode":"legacy","worker":true},` +
			`"unknown":[{"scope":"global","path":"tool_mode","suggest":"toolMode"}]}`},
		{"no file", `{"scope":"local"}`, `{"scope":"local","config":{}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, call(t, files, "show", test.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDocNamesSettings keeps describe from hiding what can be set.
func TestDocNamesSettings(t *testing.T) {
	t.Parallel()
	doc := Family.Spec().Action("set").Doc
	for _, want := range []string{"toolMode (consolidated|legacy)", "strictNames (boolean)", "httpTokenFile (string)"} {
		if !strings.Contains(doc, want) {
			t.Errorf("doc of config.set is %q, without %q", doc, want)
		}
	}
}
