package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/toolfold/toolfold/internal/test/mcptest"
)

// teamClient is a client over HTTP of one protocol era. Its user answers every question.
type teamClient struct {
	url, token string
	modern     bool
	session    string // of 2025-11-25; empty until begin
	asked      func() // called before a question is answered; may be nil
}

// outcome is the answer to a request, with what its stream had before.
type outcome struct {
	status int
	answer string   // the message, or the body that is not one
	events []string // notifications and questions
	broken error    // the connection broke
}

// errUnanswered reports a stream that ended without an answer.
var errUnanswered = errors.New("the stream ended without an answer")

const (
	userAgrees = `{"action":"accept","content":{"fruit":"plum","confirm":true}}`
	teamMeta   = `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}`
)

// begin begins a session, which clients of 2026-07-28 do not have.
func (c *teamClient) begin() outcome {
	if c.modern {
		return outcome{}
	}
	return c.post(strings.Replace(mcptest.Initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
}

// request sends a request with params, and answers the questions of its call.
func (c *teamClient) request(method, params string) outcome {
	if params != "" {
		params += ","
	}
	meta := `"_meta":{"progressToken":"p"}`
	if c.modern {
		meta = strings.Replace(mcptest.ModernMeta, `"io.modelcontextprotocol/clientCapabilities":{}`, teamMeta, 1)
		meta = strings.Replace(meta, `{`, `{"progressToken":"p",`, 1)
	}
	got := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s%s}}`, method, params, meta), c.headers(method, params)...)
	for range 3 {
		var asked struct {
			Result struct {
				RequestState  string
				InputRequests map[string]json.RawMessage
			}
		}
		if json.Unmarshal([]byte(got.answer), &asked) != nil || len(asked.Result.InputRequests) == 0 {
			break
		}
		c.think()
		before := append(got.events, got.answer)
		answers := map[string]json.RawMessage{}
		for key := range asked.Result.InputRequests {
			answers[key] = json.RawMessage(userAgrees)
		}
		given, _ := json.Marshal(answers)
		again := fmt.Sprintf(`%s"requestState":%q,"inputResponses":%s,`, params, asked.Result.RequestState, given)
		got = c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s%s}}`, method, again, meta), c.headers(method, params)...)
		got.events = append(before, got.events...)
	}
	return got
}

func (c *teamClient) think() {
	if c.asked != nil {
		c.asked()
	}
}

// headers returns the headers of a request that repeat its message.
func (c *teamClient) headers(method, params string) []string {
	if !c.modern {
		return nil
	}
	var names struct{ Name, URI, TaskID string }
	_ = json.Unmarshal([]byte("{"+strings.TrimSuffix(params, ",")+"}"), &names)
	list := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	if name := names.Name + names.URI + names.TaskID; name != "" {
		list = append(list, "Mcp-Name", name)
	}
	return list
}

// end ends the session.
func (c *teamClient) end() outcome {
	got := c.send(http.MethodDelete, "")
	c.session = ""
	return got
}

func (c *teamClient) post(body string, headers ...string) outcome {
	return c.send(http.MethodPost, body, headers...)
}

func (c *teamClient) send(method, body string, headers ...string) (got outcome) {
	request, err := http.NewRequest(method, c.url, strings.NewReader(body))
	if err != nil {
		return outcome{broken: err}
	}
	headers = append(headers, "Content-Type", "application/json", "Accept", "application/json, text/event-stream",
		"Authorization", "Bearer "+c.token)
	if c.session != "" {
		headers = append(headers, "Mcp-Session-Id", c.session)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return outcome{broken: err}
	}
	defer response.Body.Close()
	got.status = response.StatusCode
	if id := response.Header.Get("Mcp-Session-Id"); id != "" && c.session == "" {
		c.session = id
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		text, err := io.ReadAll(response.Body)
		got.answer, got.broken = string(text), err
		return got
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		text, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is {
			continue
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal([]byte(text), &m)
		if m.Method == "" {
			got.answer = text
			continue
		}
		got.events = append(got.events, text)
		if m.ID != nil { // a question
			c.think()
			answered := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, userAgrees))
			if answered.status != http.StatusAccepted {
				got.events = append(got.events, fmt.Sprintf("an answer gets %d %s %v", answered.status, answered.answer, answered.broken))
			}
		}
	}
	if got.answer == "" {
		got.broken = errors.Join(errUnanswered, lines.Err())
	}
	return got
}
