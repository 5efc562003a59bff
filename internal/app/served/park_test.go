package served_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// offering returns the metadata of a client of 2026-07-28 that offers its model.
func offering(client string) string {
	return strings.Replace(strings.Replace(mcptest.ModernMeta, `clientCapabilities":{}`, `clientCapabilities":{"sampling":{}}`, 1),
		`"name":"t"`, `"name":"`+client+`"`, 1)
}

// asker is a client of 2026-07-28 that offers its model, with an agent that asks the model twice.
type asker struct {
	*mcptest.HTTP
	client string
}

func newAskers(t *testing.T, clients ...string) []*asker {
	t.Helper()
	s, _ := newWorkbench(t, surface.Consolidated, serve.Limits{Calls: 2})
	h := mcptest.Connect(t, s)
	var askers []*asker
	for _, client := range clients {
		askers = append(askers, &asker{h, client})
	}
	step := `{"stepId":%q,"name":"Ask","type":"prompt","config":{"prompt":"one"}}`
	answer := askers[0].call(`"action":"register","agentId":"a","description":"Asks.",`+
		`"workflow":[`+fmt.Sprintf(step, "x")+","+fmt.Sprintf(step, "y")+`]`, "")
	if strings.Contains(answer, `"isError":true`) {
		t.Fatal(answer)
	}
	return askers
}

// call calls agent; more holds additional parameters of the request.
func (a *asker) call(arguments, more string) string {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent","arguments":{` + arguments + `},` + more +
		offering(a.client) + `}}`
	answer, _ := a.Post(body, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "agent")
	return answer
}

const runAgent = `"action":"run","agentId":"a"`

// retryOf returns the state of an answer with a question, and parameters for the retry that answers it.
func retryOf(t *testing.T, answer string) (state, more string) {
	t.Helper()
	var message struct {
		Result struct {
			RequestState  string
			InputRequests map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(answer), &message); err != nil || message.Result.RequestState == "" ||
		len(message.Result.InputRequests) != 1 {
		t.Fatalf("%.500s asks nothing: %v", answer, err)
	}
	for id := range message.Result.InputRequests {
		more = fmt.Sprintf(`"requestState":%q,"inputResponses":{%q:{"model":"m","role":"assistant","content":{"type":"text","text":"two"}}},`,
			message.Result.RequestState, id)
	}
	return message.Result.RequestState, more
}

// A request state is valid for one retry. Another retry is refused at once.
func TestRequestStateIsForOneRetry(t *testing.T) {
	t.Parallel()
	a := newAskers(t, "t")[0]
	first, more := retryOf(t, a.call(runAgent, ""))
	second, evenMore := retryOf(t, a.call(runAgent, more))
	if first == second {
		t.Error("the state stays the same")
	}
	if answer := a.call(runAgent, more); !strings.Contains(answer, "was continued already") ||
		!strings.Contains(answer, "call again without requestState") {
		t.Errorf("a second retry is answered %s", answer)
	}
	elsewhere := newAskers(t, "t")[0] // another process
	if answer := elsewhere.call(runAgent, evenMore); !strings.Contains(answer, `"code":-32602`) || !strings.Contains(answer,
		"this call waits in another server process; route this client's requests to one process, or start again") {
		t.Errorf("a retry at another server is answered %s", answer)
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	done, refused := 0, 0
	for range 5 {
		wait.Go(func() {
			answer := a.call(runAgent, evenMore)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case strings.Contains(answer, `\"success\":true`):
				done++
			case strings.Contains(answer, "was continued already"):
				refused++
			}
		})
	}
	wait.Wait()
	if done != 1 || refused != 4 {
		t.Errorf("of five retries %d ran and %d were refused", done, refused)
	}
}

// A client that does not answer its questions exhausts only its own limit, and can still make calls
// that ask nothing.
func TestPromptsPerClient(t *testing.T) {
	t.Parallel()
	askers := newAskers(t, "silent", "other")
	silent, other := askers[0], askers[1]
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			for range 25 {
				if answer := silent.call(runAgent, ""); !strings.Contains(answer, "input_required") {
					t.Errorf("a call is answered %.500s", answer)
				}
			}
		})
	}
	calls.Wait()
	if answer := silent.call(runAgent, ""); !strings.Contains(answer, "500 prompts of this client") {
		t.Errorf("one more is answered %.500s", answer)
	}
	if answer := silent.call(`"action":"list"`, ""); strings.Contains(answer, `"isError":true`) {
		t.Errorf("what asks nothing is answered %s", answer)
	}
	_, more := retryOf(t, other.call(runAgent, ""))
	_, more = retryOf(t, other.call(runAgent, more))
	if answer := other.call(runAgent, more); !strings.Contains(answer, `\"success\":true`) {
		t.Errorf("another client is answered %s", answer)
	}
}

// Calls that wait for their clients do not block other calls.
func TestWaitingCallsTakeNoTurn(t *testing.T) {
	t.Parallel()
	a := newAskers(t, "t")[0]
	for range 5 { // two may run at a time
		retryOf(t, a.call(runAgent, ""))
	}
	if answer := a.call(`"action":"list"`, ""); strings.Contains(answer, `"isError":true`) {
		t.Errorf("a call is answered %s", answer)
	}
}
