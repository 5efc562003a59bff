package agent_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// chatWithTools is an endpoint of OpenAI's chat API. Its model looks up a note, stores its finding
// and answers with it.
func chatWithTools(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages []struct {
				Role, Content string
				ToolCallID    string `json:"tool_call_id"`
			}
			Tools []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		last := request.Messages[len(request.Messages)-1]
		call := func(id, name, arguments string) any {
			return map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
				"id": id, "type": "function", "function": map[string]string{"name": name, "arguments": arguments},
			}}}
		}
		var message any
		switch {
		case last.Role == "user" && len(request.Tools) == 2:
			message = call("1", "memory_search", `{"query":"freeze"}`)
		case last.ToolCallID == "1" && strings.Contains(last.Content, `"Friday"`):
			message = call("2", "memory_store", `{"key":"answers/freeze","value":{"day":"Friday"}}`)
		case last.ToolCallID == "2" && strings.Contains(last.Content, `"success":true`):
			message = map[string]any{"role": "assistant", "content": "The freeze is on Friday."}
		default:
			http.Error(w, fmt.Sprintf("unexpected: %+v", request), http.StatusBadRequest)
			return
		}
		w.Write(ordered.MustJSON(map[string]any{"model": "m", "choices": []any{map[string]any{"finish_reason": "stop", "message": message}}}))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

const asksMemory = `,"workflow":[{"stepId":"ask","name":"A","type":"prompt","config":{"prompt":"{{ input.q }}",` +
	`"tools":["memory.search","memory_store"]%s}}]`

// An agent answers a question by calling two actions.
func TestAgentCallsTools(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.settings = map[string]any{"providers": map[string]any{"chat": map[string]any{"type": "openai", "baseURL": chatWithTools(t),
		"model": "m"}}}
	b.call("memory.store", `{"key":"team/rules","value":{"freeze":"Friday"}}`)
	b.register("asker", fmt.Sprintf(asksMemory, ``))
	b.Expect("agent.run", `{"agentId":"asker","input":{"q":"When is the freeze?"}}`,
		`{"success":true,"agentId":"asker","source":"registered",`+
			`"output":{"ask":"The freeze is on Friday."},"stepResults":[{"stepId":"ask/1","tool":"memory.search","success":true,"durationMs":0},`+
			`{"stepId":"ask/2","tool":"memory.store","success":true,"durationMs":0},{"stepId":"ask","success":true,`+
			`"durationMs":0}],"totalDurationMs":0}`)
	b.Expect("memory.get", `{"key":"answers/freeze","include_fields":["value"]}`, `{"value":{"day":"Friday"}}`)
}

// Registering an agent reports steps that cannot work, and providers that are missing for now.
func TestProvidersAreChecked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.settings = map[string]any{"providers": map[string]any{"cli": map[string]any{"type": "command", "command": []any{"true"}}}}
	b.Refuse("agent.register", `{"agentId":"a","description":"d"`+fmt.Sprintf(asksMemory, `,"provider":"cli"`)+`}`, toolfold.InvalidInput,
		`step "ask": tools must be a list for a provider of type openai or sampling; "cli" is a command, and a command has no way to call tools`,
		"")
	answer := b.call("agent.register", `{"agentId":"a","description":"d"`+fmt.Sprintf(asksMemory, `,"provider":"cly"`)+`}`)
	if !strings.Contains(answer, `"message":"agent \"a\" is registered; but no provider is called \"cly\", did you mean cli?"`) {
		t.Error(answer)
	}
	b.settings["providers"].(map[string]any)["cly"] = map[string]any{"type": "command", "command": []any{"true"}}
	b.Refuse("agent.run", `{"agentId":"a","input":{"q":"x"}}`, "AGENT_VALIDATION_ERROR", `"cly" is a command`, "")
}
