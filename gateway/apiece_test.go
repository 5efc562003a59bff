package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// Unfolded tools have names that clients accept and can call, and valid schemas.
func TestListedByThemselves(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"n":{"type":"int","minimum":0,"exclusiveMinimum":true}},"required":null}`
	var tools []json.RawMessage
	for _, end := range []string{"one", "two"} {
		for _, verb := range []string{"get", "create"} {
			tools = append(tools, fmt.Appendf(nil, `{"name":"%s_%s%s","inputSchema":%s}`, verb,
				strings.Repeat("thing_of_a_kind_", 6), end, schema))
		}
	}
	modes := map[string]surface.Options{"fold none": {Fold: consolidate.None, Level: lazy.Full}, "legacy": {Mode: surface.Legacy}}
	for name, o := range modes {
		s := surface.New(o)
		if err := s.Put(foldedFamily(t, "server_of_many", tools)...); err != nil {
			t.Fatal(err)
		}
		list := s.Discovery.List(t.Context())
		seen := map[string]bool{}
		for _, l := range list {
			if len(l.Name) > 64 || seen[l.Name] {
				t.Errorf("%s: %s has %d characters, or is there twice", name, l.Name, len(l.Name))
			}
			seen[l.Name] = true
			if string(l.InputSchema) != `{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0}}}` {
				t.Errorf("%s: %s", name, l.InputSchema)
			}
			if answer := s.Client.Call(t.Context(), l.Name, json.RawMessage(`{"n":1}`)); strings.Contains(string(answer.Content), "UNKNOWN_TOOL") {
				t.Errorf("%s: %s", name, answer.Content)
			}
		}
		if len(list) != len(tools) {
			t.Errorf("%s: %d tools", name, len(list))
		}
	}
}
