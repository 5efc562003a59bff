package config

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// nested are settings with every kind of value and container.
var nested = []Setting{
	{toolfold.String{Name: "name", Doc: "A text.", MinLen: 1}, Client},
	{toolfold.String{Name: "level", Doc: "An enum.", Enum: []string{"low", "high"}}.With(toolfold.Default("low")), Client},
	{toolfold.Int{Name: "count", Doc: "A number.", Max: 10}, Client},
	{toolfold.Bool{Name: "on", Doc: "A switch."}, Client},
	{toolfold.List{Name: "allow", Doc: "A list.", Of: toolfold.String{}, MaxItems: 3}, Client},
	{toolfold.Object{Name: "policy", Doc: "A declared object.", Optional: toolfold.Fields{
		toolfold.Int{Name: "maxRetries", Doc: "A number."},
		toolfold.Bool{Name: "parallel", Doc: "A switch."},
		toolfold.Object{Name: "deep", Doc: "An object.", Optional: toolfold.Fields{toolfold.String{Name: "leaf", Doc: "A text."}}},
	}}, Client},
	{toolfold.Map{Name: "engines", Doc: "A map.", Of: toolfold.Object{Optional: toolfold.Fields{
		toolfold.String{Name: "url", Doc: "A text."}, toolfold.Int{Name: "n", Doc: "A number."},
	}}}, Client},
	{toolfold.List{Name: "servers", Doc: "A list of objects.", Of: toolfold.Object{
		Required: toolfold.Fields{toolfold.String{Name: "host", Doc: "A text."}},
		Optional: toolfold.Fields{toolfold.Int{Name: "port", Doc: "A number."}},
	}}, Client},
	{toolfold.String{Name: "narrow", Doc: "What a workspace may set."}, Workspace},
	{toolfold.String{Name: "secret", Doc: "What only the user may set."}, User},
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

// write writes the settings file of a scope.
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

// call runs an action as a client does, and returns the answer as JSON.
func call(t *testing.T, files Files, action, args string) string {
	t.Helper()
	return callAs(t, t.Context(), files, action, args)
}

// callAs runs an action for the caller in the context.
func callAs(t *testing.T, ctx context.Context, files Files, action, args string) string {
	t.Helper()
	return string(toolfoldtest.Runner(toolfoldtest.Mount(t, Family, New(files, nil))).
		Call(ctx, "config."+action, json.RawMessage(args)).Content)
}

// failure returns the error in an answer, without the usage and example that the registry adds.
func failure(t *testing.T, answer string) toolfold.Error {
	t.Helper()
	var failed struct{ Error *toolfold.Error }
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
	write(t, files, Global, `{"level": "high", "count": 2, "policy": {"parallel": true}, "allow": ["a", "b"]}`)
	write(t, files, Local, `{"count": 7, "policy": {"deep": {"leaf": "x"}}, "name": null, "engines": {"a*b": {"n": 5}}, "secret": "theirs"}`)
	for _, test := range []struct{ name, args, want string }{
		{"default", `{"path":"on"}`, `{"path":"on","scope":"merged","found":false}`},
		{"global over default", `{"path":"level"}`, `{"path":"level","value":"high","scope":"merged","found":true,"source":"global"}`},
		{"local over global", `{"path":"count"}`, `{"path":"count","value":7,"scope":"merged","found":true,"source":"local"}`},
		{"objects are replaced", `{"path":"policy"}`, `{"path":"policy","value":{"deep":{"leaf":"x"}},"scope":"merged",` +
			`"found":true,"source":"local"}`},
		{"inside an object", `{"path":"policy.deep.leaf"}`,
			`{"path":"policy.deep.leaf","value":"x","scope":"merged","found":true,"source":"local"}`},
		{"index", `{"path":"allow.1","scope":"global"}`, `{"path":"allow.1","value":"b","scope":"global","found":true}`},
		{"index too high", `{"path":"allow.2"}`, `{"path":"allow.2","scope":"merged","found":false}`},
		{"one scope has no defaults", `{"path":"level","scope":"local"}`, `{"path":"level","scope":"local","found":false}`},
		{"null is not set", `{"path":"name"}`, `{"path":"name","scope":"merged","found":false}`},
		{"a name with a sign", `{"path":"engines.a*b.n"}`, `{"path":"engines.a*b.n","value":5,"scope":"merged","found":true,"source":"local"}`},
		{"a sign is no wildcard", `{"path":"engines.*.n"}`, `{"path":"engines.*.n","scope":"merged","found":false}`},
		{"nor a count", `{"path":"engines.#.n"}`, `{"path":"engines.#.n","scope":"merged","found":false}`},
		{"nor a modifier", `{"path":"engines.@keys"}`, `{"path":"engines.@keys","scope":"merged","found":false}`},
		{"what does not apply", `{"path":"secret"}`, `{"path":"secret","scope":"merged","found":false}`},
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
	want := toolfold.Error{
		Code:    toolfold.InvalidInput,
		Message: `config.get: path must be one of its allowed values, got "toolmod", did you mean "toolMode"?`,
		Problems: []toolfold.Problem{{
			Path: "/path", Kind: toolfold.ProblemEnum, Got: "toolmod", Suggest: "toolMode",
			Allowed: append(names(Settings, User)[:12:12], "…"), // the list in an error is shortened
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
		{"merged", `{}`, `{"scope":"merged","config":{"alwaysLoad":"discovery","auditDays":90,"drainMs":25000,` +
			`"fold":"family","instructionTokens":400,"listing":"full","maxBodyBytes":4194304,` +
			`"maxCalls":256,` +
			`"maxConnections":1024,"maxInterruptions":5,"maxSessions":1000,"memoryScope":"workspace","memoryVersionDays":30,"memoryVersions":10,` +
			`"metricDays":90,"metricPoints":1000000,"params":"object",` +
			`"readOnly":false,"resources":"work","resultLimit":28000,"scriptsConfirm":"never",` +
			`"strictNames":false,"structured":false,"taskRetentionDays":30,` +
			`"tier":"extended",` +
			`"toolMode":"consolidated","traceArguments":false,"traceCalls":true,"traceDays":14,"traceMegabytes":256,` +
			`"upstreamMegabytes":256,"upstreamWaitMs":1000,"worker":true},` +
			`"unknown":[{"scope":"global","path":"tool_mode","suggest":"toolMode"}],"sources":{"listing":"global"}}`},
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

// The documentation of config.set lists the settings.
func TestDocNamesSettings(t *testing.T) {
	t.Parallel()
	doc := Family.Declared().Action("set").Doc
	for _, want := range []string{"toolMode (consolidated|legacy)", "strictNames (boolean)", "httpTokenFile"} {
		if !strings.Contains(doc, want) {
			t.Errorf("doc of config.set is %q, without %q", doc, want)
		}
	}
}
