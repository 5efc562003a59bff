package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnset(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, before, args, want, after string }{
		{"a value", `{"zeta":1e400,"count":3,"level":"high"}`, `{"path":"count"}`,
			`{"path":"count","removed":true,"oldValue":3,"scope":"global"}`, `{"zeta":1e400,"level":"high"}`},
		{"none", `{"level":"high"}`, `{"path":"count"}`, `{"path":"count","removed":false,"scope":"global"}`, `{"level":"high"}`},
		{"an item", `{"allow":["a","b"]}`, `{"path":"allow.0"}`, `{"path":"allow.0","removed":true,"oldValue":"a","scope":"global"}`,
			`{"allow":["b"]}`},
		{"a map's entry", `{"engines":{"0":{"n":1},"b":{"n":2}}}`, `{"path":"engines.0"}`,
			`{"path":"engines.0","removed":true,"oldValue":{"n":1},"scope":"global"}`, `{"engines":{"b":{"n":2}}}`},
		{"an invalid value", `{"count":"many"}`, `{"path":"count"}`, `{"path":"count","removed":true,"oldValue":"many","scope":"global"}`, `{}`},
		{"there twice", `{"count":1,"count":2}`, `{"path":"count"}`, `{"error":{"code":"INVALID_INPUT","message":"config.unset: the global ` +
			`settings file has count twice","hint":"ask the user to take one of them out"`, `{"count":1,"count":2}`},
		{"null", `{"count":null}`, `{"path":"count"}`, `{"path":"count","removed":true,"scope":"global"}`, `{}`},
		{"unknown", `{"count":1}`, `{"path":"cont"}`, `{"error":`, `{"count":1}`},
		{"required inside", `{"servers":[{"host":"h"}]}`, `{"path":"servers.0.host"}`, `{"error":{"code":"INVALID_INPUT",` +
			`"message":"config.unset: servers.0.host is missing","hint":"set servers as a whole"`, `{"servers":[{"host":"h"}]}`},
		{"not permitted", `{"secret":"x"}`, `{"path":"secret"}`,
			`{"error":{"code":"PERMISSION_DENIED","message":"config.unset: secret may only be set by the user of this machine",` +
				`"hint":"ask the user to run: toolfold call config.unset '{\"path\":\"secret\"}'"`, `{"secret":"x"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := nestedFiles(t)
			write(t, files, Global, test.before)
			if answer := call(t, files, "unset", test.args); answer != test.want &&
				!(strings.HasPrefix(test.want, `{"error"`) && strings.HasPrefix(answer, test.want)) {
				t.Errorf("%s, want %s", answer, test.want)
			}
			if diff := cmp.Diff(test.after, strings.Join(strings.Fields(content(t, files, Global)), "")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Merged returns the effective settings with their sources.
func TestMergedNamesItsSources(t *testing.T) {
	t.Parallel()
	files := nestedFiles(t)
	files.Flags, files.Env = map[string]any{"on": true}, map[string]any{"count": json.Number("4"), "on": false}
	files.Computed = func(Options) map[string]any { return map[string]any{"secret": "computed", "on": "never"} }
	write(t, files, Global, `{"count":1,"name":"global"}`)
	write(t, files, Local, `{"narrow":"x"}`)
	const want = `{"scope":"merged","config":{"count":4,"level":"low","name":"global","narrow":"x","on":true,"secret":"xxxxx"},` +
		`"sources":{"count":"environment","name":"global","narrow":"local","on":"flag"}}`
	if diff := cmp.Diff(want, call(t, files, "show", `{}`)); diff != "" {
		t.Error(diff)
	}
	for path, want := range map[string]string{
		"count": `{"path":"count","value":4,"scope":"merged","found":true,"source":"environment"}`,
		"level": `{"path":"level","value":"low","scope":"merged","found":true,"source":"default"}`,
		"allow": `{"path":"allow","scope":"merged","found":false}`,
	} {
		if diff := cmp.Diff(want, call(t, files, "get", `{"path":"`+path+`"}`)); diff != "" {
			t.Error(diff)
		}
	}
	if got := call(t, files, "get", `{"path":"name","scope":"global"}`); got != `{"path":"name","value":"global",`+
		`"scope":"global","found":true}` {
		t.Error(got)
	}
}

// Invalid providers and an unknown default are rejected; existing faults can be fixed one by one.
func TestUnusableProviders(t *testing.T) {
	t.Parallel()
	const whole = `{"path":"providers.a","value":{"type":"openai","baseURL":"http://127.0.0.1:1/v1"}}`
	for _, test := range []struct{ before, action, args, want string }{
		{``, "set", `{"path":"providers.a","value":{"type":"openai"}}`, "config.set: providers/a/baseURL is missing"},
		{``, "set", `{"path":"providers.a","value":{"type":"command"}}`, "config.set: providers/a/command is missing"},
		{``, "set", `{"path":"providers.a","value":{"type":"command","command":["x"],"baseURL":"http://x"}}`,
			`config.set: \"providers/a/baseURL\" is unknown`},
		{``, "set", `{"path":"providers.a.type","value":"openai"}`, "config.set: providers/a/baseURL is missing"},
		{``, "set", `{"path":"defaultProvider","value":"a"}`,
			`config.set: defaultProvider is \"a\", and no provider is called that; there are none`},
		{`{"providers":{"b":{"type":"sampling"}},"defaultProvider":"b"}`, "unset", `{"path":"providers.b"}`,
			`config.unset: defaultProvider is \"b\", and no provider is called that; there are none`},
		{``, "set", whole, ""},
		{`{"providers":{"b":{"type":"openai"}}}`, "set", `{"path":"listing","value":"full"}`, ""},
		{`{"providers":{"a":{"type":"sampling"}}}`, "set", `{"path":"defaultProvider","value":"a"}`, ""},
	} {
		files := tempFiles(t)
		write(t, files, Global, test.before)
		answer := callAs(t, ByUser(t.Context()), files, test.action, test.args)
		if test.want == "" && strings.Contains(answer, `"error"`) || !strings.Contains(answer, test.want) {
			t.Errorf("%s %s on %s answered %s, want %s", test.action, test.args, test.before, answer, test.want)
		}
		if len(answer) > 640+50 {
			t.Errorf("%d bytes: %s", len(answer), answer)
		}
	}
}
