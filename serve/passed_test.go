package serve

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Every member of an answer, of an error and of a client's terms reaches the other server.
func TestPassedMembers(t *testing.T) {
	failure := toolfold.Error{Code: "C", Message: "<m>\u2028", Hint: "h", Problems: []toolfold.Problem{{Path: "/p", Kind: "k"}}, Usage: "u",
		Example: json.RawMessage(`{"e":1.50}`), Data: json.RawMessage(`[1]`), Lacking: "sampling", Protocol: -32042, Uncertain: true}
	answer := toolfold.Answer{Content: json.RawMessage(`{"a":"<\u2028&"}`), Err: &failure, Reply: json.RawMessage(`{"r":1.50}`), Failed: true,
		Typed: true, TaskID: "t", RestID: "r", Deprecated: &toolfold.Deprecation{Tool: "t", Action: "a"}}
	info := server.RequestProtocolInfo{Modern: true, ProtocolVersion: "2026-07-28", ClientInfo: &mcp.Implementation{Name: "n", Version: "1"},
		ClientCapabilities: &mcp.ClientCapabilities{
			Extensions: map[string]any{"x": map[string]any{}}, Sampling: &mcp.SamplingCapability{Tools: &struct{}{}},
			Elicitation: &mcp.ElicitationCapability{URL: &struct{}{}}, Roots: &struct {
				ListChanged bool `json:"listChanged,omitempty"`
			}{},
		}, LogLevel: mcp.LoggingLevelDebug}
	for _, all := range []any{failure, answer, info} {
		for i := range reflect.TypeOf(all).NumField() {
			if reflect.ValueOf(all).Field(i).IsZero() {
				t.Errorf("%T.%s is not in this test", all, reflect.TypeOf(all).Field(i).Name)
			}
		}
	}
	result := outcomeOf(answer, nil)
	text, err := ordered.JSON(passed{Outcome: &result, Retry: &retry{Info: info}})
	if err != nil {
		t.Fatal(err)
	}
	var there passed
	if err := json.Unmarshal(text, &there); err != nil {
		t.Fatal(err)
	}
	got, asks, failed := there.Outcome.read()
	if diff := cmp.Diff(answer, got); diff != "" || asks != nil || failed != nil {
		t.Errorf("the answer differs: %s %v %v", diff, asks, failed)
	}
	if diff := cmp.Diff(info, there.Retry.Info); diff != "" {
		t.Errorf("the terms differ: %s", diff)
	}
	for _, empty := range []toolfold.Answer{{}, {Content: json.RawMessage(`{}`)}} {
		result := outcomeOf(empty, nil)
		var there outcome
		if err := json.Unmarshal(ordered.MustJSON(result), &there); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := there.read(); cmp.Diff(empty, got) != "" {
			t.Errorf("%v becomes %v", empty, got)
		}
	}
}
