package served_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// Every progress report comes before the answer. None is lost, not even the last.
func TestProgressComesBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	s, _ := newWorkbench(t, surface.Consolidated, serve.Limits{})
	old, now := mcptest.Connect(t, s), mcptest.Connect(t, s)
	old.Post(mcptest.Initialize)
	step := `{"stepId":%q,"name":"Look","type":"tool","dependsOn":[%s],"config":{"tool":"memory.list"}}`
	answer, _ := old.Post(toolCall(`{"name":"agent","arguments":{"action":"register","agentId":"w","description":"Three steps.","workflow":[` +
		fmt.Sprintf(step, "a", "") + "," + fmt.Sprintf(step, "b", `"a"`) + "," + fmt.Sprintf(step, "c", `"b"`) + `]}}`))
	if strings.Contains(answer, `"isError":true`) {
		t.Fatal(answer)
	}
	const run = `"name":"agent","arguments":{"action":"run","agentId":"w"}`
	want := ""
	for i := range 60 {
		old, _ := old.Post(toolCall(`{` + run + `,"_meta":{"progressToken":"p"}}`))
		modern := strings.Replace(mcptest.ModernMeta, `"_meta":{`, `"_meta":{"progressToken":"p",`, 1)
		now, _ := now.Post(toolCall(`{`+run+`,`+modern+`}`), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call",
			"Mcp-Name", "agent")
		for era, answer := range map[string]string{"2025-11-25": old, "2026-07-28": now} {
			got := ""
			for _, event := range strings.Split(answer, "event: message\n") {
				var message struct {
					Params struct{ Progress float64 }
					Result json.RawMessage
				}
				data, _ := strings.CutPrefix(strings.TrimSpace(event), "data: ")
				if data == "" {
					continue
				}
				if err := json.Unmarshal([]byte(data), &message); err != nil {
					t.Fatal(err, event)
				}
				if message.Result != nil {
					got += "answer"
				} else {
					got += fmt.Sprint(message.Params.Progress, " ")
				}
			}
			if want == "" {
				want = got
			}
			if got != want || !strings.HasSuffix(got, "3 answer") {
				t.Fatalf("%s, run %d: %s, want %s", era, i, got, want)
			}
		}
	}
}

// A client with a session is asked for its model on the stream of its call.
func TestHTTPSampling(t *testing.T) {
	t.Parallel()
	s, _ := newWorkbench(t, surface.Consolidated, serve.Limits{})
	h := mcptest.Connect(t, s)
	h.Post(strings.Replace(mcptest.Initialize, `"capabilities":{}`, `"capabilities":{"sampling":{}}`, 1))
	h.Post(toolCall(`{"name":"agent","arguments":{"action":"register","agentId":"a","description":"Asks.","workflow":[` +
		`{"stepId":"x","name":"Ask","type":"prompt","config":{"prompt":"one"}}]}}`))
	for _, test := range []struct{ answer, want string }{
		{`"result":{"model":"m","role":"assistant","content":{"type":"text","text":"two"}}`, "two"},
		{`"error":{"code":-1,"message":"no model today"}`, "no model today"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL,
			strings.NewReader(toolCall(`{"name":"agent","arguments":{"action":"run","agentId":"a"}}`)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Mcp-Session-Id", h.Session)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		next := func() string {
			for lines.Scan() {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					return data
				}
			}
			t.Fatal("the stream ended", lines.Err())
			return ""
		}
		var question struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal([]byte(next()), &question); err != nil || question.Method != "sampling/createMessage" {
			t.Fatalf("asked %s, %v", lines.Text(), err)
		}
		if answer, status := h.Post(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,` + test.answer + `}`); status != http.StatusAccepted {
			t.Errorf("an answer to the server is answered %d %s", status, answer)
		}
		if got := next(); !strings.Contains(got, test.want) || !strings.Contains(got, `"id":1`) {
			t.Errorf("answered %s, want %s", got, test.want)
		}
	}
}

func toolCall(params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
}
