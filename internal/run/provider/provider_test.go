package provider

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The declared options equal the members of Config.
func TestOptionsAreMembers(t *testing.T) {
	t.Parallel()
	var declared, members []string
	for _, o := range Options {
		declared = append(declared, o.Name)
	}
	for f := range reflect.TypeFor[Config]().Fields() {
		members = append(members, f.Tag.Get("json"))
	}
	slices.Sort(declared)
	slices.Sort(members)
	if diff := cmp.Diff(declared, members); diff != "" {
		t.Errorf("declared, read:\n%s", diff)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	s, err := Read(map[string]any{
		"toolMode": "legacy", "defaultProvider": "b",
		"providers": map[string]any{
			"b": map[string]any{"type": "openai", "baseURL": "http://127.0.0.1/v1", "maxTokens": json.Number("9"), "apiKeyEnv": "K"},
			"a": map[string]any{"type": "command", "command": []any{"x", "-p"}, "timeoutMs": 5, "maxOutputBytes": 7.0, "model": "m"},
		},
	})
	want := Settings{Default: "b", Providers: map[string]Config{
		"a": {Type: Command, Command: []string{"x", "-p"}, TimeoutMs: 5, MaxOutputBytes: 7, Model: "m"},
		"b": {Type: OpenAI, BaseURL: "http://127.0.0.1/v1", MaxTokens: 9, APIKeyEnv: "K"},
	}}
	if diff := cmp.Diff(want, s); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, s.Names()); diff != "" || s.Usual() != "b" {
		t.Error(s.Usual(), diff)
	}
	if s, err := Read(nil); err != nil || len(s.Names()) != 0 || s.Usual() != "" {
		t.Error(s, err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`7`:                  `providers/a must be object, got number`,
		`null`:               `providers/a must be object, got null`,
		`{}`:                 `providers/a/type must be one of command, openai, sampling`,
		`{"type":"openay"}`:  `providers/a/type must be one of command, openai, sampling`,
		`{"type":"command"}`: `providers/a/command is missing`,
		`{"type":"command","command":"claude -p"}`:                `providers/a/command must be array, got string`,
		`{"type":"command","command":[]}`:                         `providers/a/command must be 1 to 100 long, got 0`,
		`{"type":"command","command":["x",7]}`:                    `providers/a/command/1 must be string, got number`,
		`{"type":"openai"}`:                                       `providers/a/baseURL is missing`,
		`{"type":"openai","baseURL":""}`:                          `providers/a/baseURL must not be empty`,
		`{"type":"openai","baseURL":"ftp://x"}`:                   `providers/a/baseURL must be a http or https URL`,
		`{"type":"openai","baseURL":"http://u:p@x/v1"}`:           `without a password`,
		`{"type":"openai","baseURL":"http://x/v1","apiKey":"sk"}`: `"providers/a/apiKey" is unknown, did you mean "apiKeyEnv"?`,
		`{"type":"sampling","command":["x"]}`: `"providers/a/command" is unknown; a provider of type sampling takes type,` +
			` timeoutMs, model, maxTokens`,
		`{"type":"sampling","maxTokens":0}`:   `providers/a/maxTokens must be a whole number from 1 to 1000000, got 0`,
		`{"type":"sampling","maxTokens":1.5}`: `maxTokens must be a whole number`,
		`{"type":"sampling","timeoutMs":"9"}`: `providers/a/timeoutMs must be integer, got string`,
		`{"type":"sampling","timeoutMs":` + strings.Repeat("9", 400) +
			`}`: `providers/a/timeoutMs must be a whole number from 1 to 3600000, got 9999`,
	} {
		var a any
		if err := json.Unmarshal([]byte(value), &a); err != nil && !strings.Contains(value, "9999") {
			t.Fatal(err)
		} else if err != nil {
			a = map[string]any{"type": "sampling", "timeoutMs": json.Number(strings.Repeat("9", 400))}
		}
		_, err := Read(map[string]any{"providers": map[string]any{"a": a}})
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.60s: %v, want %s", value, err, want)
		}
	}
}
