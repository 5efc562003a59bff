package hosts

import (
	"encoding/json"
	"strings"
	"testing"
)

// What hosts send was recorded from their requests.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	const schema = `{"$schema":"s","type":"object","properties":{"n":{"type":"integer","minimum":1},"o":{"type":"object"},` +
		`"l":{"type":"array","items":{"type":"string","format":"uri"}}},"required":["n"]}`
	open, shut, _ := strings.Cut(schema, `,"required"`)
	shut = `,"required"` + shut
	const wait = `"wait_for_previous":{"type":"boolean","description":"Set to true to wait for all previously requested tools in this ` +
		`turn to complete before starting. Set to false (or omit) to run in parallel. Use true when this tool depends on the ` +
		`output of previous tools."}`
	for host, want := range map[string]string{
		"claude-code": `{"name":"mcp__a_b__get","description":"Get.","input_schema":` + schema + `}`,
		"codex": `{"type":"function","name":"get","description":"Get.","strict":false,"parameters":` +
			`{"type":"object","properties":{"n":{"type":"integer"},"o":{"type":"object","properties":{}},"l":{"type":"array",` +
			`"items":{"type":"string"}}},"required":["n"]}}`,
		"gemini": `{"name":"mcp_a_b_get","description":"Get.","parametersJsonSchema":` + strings.TrimSuffix(open, "}") + "," + wait + "}" +
			shut + `}`,
		"opencode": `{"type":"function","function":{"name":"a_b_get","description":"Get.","parameters":` + strings.TrimSuffix(schema, "}") +
			`,"additionalProperties":false}}}`,
		"copilot": `{"type":"function","function":{"name":"a_b-get","description":"Get.","parameters":` + schema + `}}`,
		"cline":   `{"type":"function","function":{"name":"a_b__get","description":"Get.","parameters":` + schema + `}}`,
		"qwen":    `{"type":"function","function":{"name":"mcp__a_b__get","description":"Get.","parameters":` + schema + `}}`,
	} {
		got, err := Find(host).Sends.Definition("a b", "get", "Get.", json.RawMessage(schema))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", host, err, got, want)
		}
		if got, err := Find(host).Sends.Definition("a", "get", "", nil); err != nil || !strings.Contains(string(got), `"properties":{`) {
			t.Errorf("%s without a schema: %s, %v", host, got, err)
		}
	}
}

func TestLinesOfDeferredTools(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 3000)
	claude, qwen := Find("claude-code").Sends, Find("qwen").Sends
	if got := claude.Line("a", "get", long); got != "mcp__a__get" {
		t.Error(got)
	}
	if got := qwen.Line("a", "get", long); got != "- **mcp__a__get**: "+long[:320]+"…" {
		t.Error(got)
	}
	if claude.Cut(long) != long[:4096] || qwen.Cut(long) != long || Find("codex").Sends.Defers() {
		t.Error("texts are cut where they were not, or the reverse")
	}
}
