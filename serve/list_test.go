package serve_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/mcptest"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
)

// The tools that the option names ask to be shown at once; those of other servers never do.
func TestAlwaysLoad(t *testing.T) {
	t.Parallel()
	_, families := newServer(t, lazy.Lazy)
	for name, definition := range map[string]json.RawMessage{"near": nil, "far": json.RawMessage(`{"name":"far"}`)} {
		family, err := toolfold.External{
			Name: name, Description: "Answer.", Category: "elsewhere", Effect: toolfold.Reads, Definition: definition,
			InputSchema: json.RawMessage(`{"type":"object"}`),
			Run:         func(_ context.Context, args json.RawMessage) (json.RawMessage, error) { return args, nil },
		}.Family()
		if err != nil {
			t.Fatal(err)
		}
		family.Tier = toolfold.Core
		if err := families.Put(family); err != nil {
			t.Fatal(err)
		}
	}
	for loads, want := range map[serve.Loads][]string{
		"":                  {"tools", "tool_call"},
		serve.LoadNone:      nil,
		serve.LoadDiscovery: {"tools", "tool_call"},
		serve.LoadCore:      {"tools", "tool_call", "near"},
		serve.LoadAll:       {"tools", "tool_call", "echo", "near"},
	} {
		s, err := serve.New(serve.Options{Version: "test", Surface: families, Log: quiet, AlwaysLoad: loads})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Result struct {
				Tools []struct {
					Name string
					Meta map[string]bool `json:"_meta"`
				}
			}
		}
		if err := json.Unmarshal([]byte(mcptest.Stdio(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)[0]), &answer); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, listed := range answer.Result.Tools {
			if listed.Meta["anthropic/alwaysLoad"] {
				got = append(got, listed.Name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", loads, diff)
		}
	}
}
