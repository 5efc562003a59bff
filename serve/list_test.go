package serve_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
)

// Only the tools of AlwaysLoad are marked to be shown at once, never tools of other servers. Other
// tools get search hints.
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
		family.Tier, family.Words = toolfold.Core, "close by, far off"
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
		s, err := serve.New(serve.Options{
			Version: "test", Surface: families, Log: quiet, AlwaysLoad: loads, SearchHints: loads != serve.LoadCore,
		})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Result struct {
				Tools []struct {
					Name string
					Meta map[string]any `json:"_meta"`
				}
			}
		}
		if err := json.Unmarshal([]byte(mcptest.Stdio(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)[0]), &answer); err != nil {
			t.Fatal(err)
		}
		var got, hinted []string
		for _, listed := range answer.Result.Tools {
			if listed.Meta["anthropic/alwaysLoad"] == true {
				got = append(got, listed.Name)
			}
			if listed.Meta["anthropic/searchHint"] == "close by, far off" {
				hinted = append(hinted, listed.Name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", loads, diff)
		}
		wantHinted := []string{"far", "near"}
		switch loads {
		case serve.LoadCore: // SearchHints is false
			wantHinted = nil
		case serve.LoadAll:
			wantHinted = []string{"far"}
		}
		slices.Sort(hinted)
		if diff := cmp.Diff(wantHinted, hinted); diff != "" {
			t.Errorf("%q: to be found by other words: %s", loads, diff)
		}
	}
}
