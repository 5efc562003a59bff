package hosts

import (
	"encoding/json"
	"strings"
	"testing"
)

// The expected definitions were recorded from requests of hosts.
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
		got, err := Find(host).Rewrite.Definition("a b", "get", "Get.", json.RawMessage(schema))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", host, err, got, want)
		}
		if got, err := Find(host).Rewrite.Definition("a", "get", "", nil); err != nil || !strings.Contains(string(got), `"properties":{`) {
			t.Errorf("%s without a schema: %s, %v", host, got, err)
		}
	}
}

func TestLinesOfDeferredTools(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 3000)
	claude, qwen := Find("claude-code").Rewrite, Find("qwen").Rewrite
	if got := claude.Line("a", "get", long); got != "mcp__a__get" {
		t.Error(got)
	}
	if got := qwen.Line("a", "get", long); got != "- **mcp__a__get**: "+long[:320]+"…" {
		t.Error(got)
	}
	if claude.Cut(long) != long[:4096] || qwen.Cut(long) != long || Find("gemini").Rewrite.Defers() {
		t.Error("texts are cut where they were not, or the reverse")
	}
}

// Codex sends known models a line for each server and defers all tools. The expected lines were
// recorded from its requests.
func TestLinesOfServers(t *testing.T) {
	t.Parallel()
	codex := Find("codex")
	for _, test := range [][3]string{
		{"s1", "", "- mcp__s1"},
		{"a-b", " \n", "- mcp__a_b"},
		{"s1", "One line.\n\nTwo  lines.", "- mcp__s1: One line."},
		{"s1", strings.Repeat("123456789 ", 25), "- mcp__s1: " + strings.TrimSpace(strings.Repeat("123456789 ", 25))},
		{"s1", strings.Repeat("12345678901", 23), "- mcp__s1: " + strings.Repeat("12345678901", 23)[:247] + "..."},
	} {
		if got := codex.Rewrite.ServerLine(test[0], test[1]); got != test[2] {
			t.Errorf("%q: %q", test[1], got)
		}
	}
	for model, defers := range map[string]bool{
		"": true, "gpt-5.5": true, "gpt-5.5-2026-10-01": true, "openai/gpt-5.5": true, "gpt-6.2-sol": true, "gpt-6-sol-mini": true,
		"gpt-5": false, "gpt-5.4": false, "gpt-6.3-sol": false, "llama3": false,
	} {
		if codex.For(model).Rewrite.Defers() != defers {
			t.Errorf("%q: it defers, or does not", model)
		}
	}
	if model := codex.Model([]byte("model = \"llama3\"\n[mcp_servers.a]\ncommand = \"a\"\n")); model != "llama3" {
		t.Errorf("the model is %q", model)
	}
	if claude := Find("claude-code"); claude.For("llama3") != claude || claude.Model([]byte(`{"model":"opus"}`)) != "" {
		t.Error("a model decides where none was seen to")
	}
}
