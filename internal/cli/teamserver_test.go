package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// teamServer is an MCP server over HTTP of 2025-11-25, whose tools show what a gateway has to pass on. Its answers
// depend on the arguments and on the calls before.
type teamServer struct {
	*httptest.Server
	arrived chan struct{} // has an item for each call of wait_item, which is never answered

	mu      sync.Mutex
	items   []string
	answers map[string]chan string // of clients, by the id of the question
}

// teamTools are the tools of [teamServer], with the hint whether they only read.
var teamTools = map[string]bool{
	"list_items": true, "get_report": true, "count_items": true, "add_item": false, "ask_item": false, "fail_item": false,
	"refuse_item": false, "wait_item": false,
}

func newTeamServer(t *testing.T) *teamServer {
	s := &teamServer{arrived: make(chan struct{}, 100), answers: map[string]chan string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// ServeHTTP implements [http.Handler].
func (s *teamServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name      string
			Arguments struct{ Text string }
			Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
		}
		Result json.RawMessage
	}
	_ = json.Unmarshal(body, &m)
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case m.Method == "" && m.ID != nil:
		s.mu.Lock()
		s.answers[string(m.ID)] <- string(m.Result)
		s.mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(text string) {
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
		w.(http.Flusher).Flush()
	}
	answer := func(text string) { event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, text)) }
	says := func(text string) {
		quoted, _ := json.Marshal(text)
		answer(fmt.Sprintf(`"result":{"content":[{"type":"text","text":%s}],"isError":%t}`, quoted, m.Params.Name == "fail_item"))
	}
	text := m.Params.Arguments.Text
	switch m.Method + " " + m.Params.Name {
	case "initialize ":
		w.Header().Set("Mcp-Session-Id", "s1")
		answer(`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},` +
			`"serverInfo":{"name":"team","version":"1"}}`)
	case "tools/list ":
		answer(`"result":{"tools":[` + strings.Join(teamDefinitions(), ",") + `]}`)
	case "prompts/list ":
		answer(`"result":{"prompts":[{"name":"hello"}]}`)
	case "prompts/get hello":
		answer(`"result":{"messages":[{"role":"user","content":{"type":"text","text":"Hello."}}]}`)
	case "resources/list ":
		answer(`"result":{"resources":[{"uri":"x:1","name":"one"}]}`)
	case "resources/templates/list ":
		answer(`"result":{"resourceTemplates":[]}`)
	case "resources/read ":
		answer(`"result":{"contents":[{"uri":"x:1","text":"the content of one"}]}`)
	case "tools/call list_items":
		s.mu.Lock()
		list := strings.Join(s.items, ", ")
		s.mu.Unlock()
		says("items: " + list)
	case "tools/call get_report":
		says(strings.Repeat("A line about "+text+".\n", 4000))
	case "tools/call count_items":
		for n := range 3 {
			if token := m.Params.Meta.ProgressToken; token != nil {
				event(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":3}}`,
					token, n+1))
			}
		}
		says("counted " + text)
	case "tools/call add_item":
		s.mu.Lock()
		s.items = append(s.items, text)
		added := len(s.items)
		s.mu.Unlock()
		says(fmt.Sprintf("added %s as %d", text, added))
	case "tools/call ask_item":
		says("the user says " + s.ask(r, event, text))
	case "tools/call refuse_item":
		answer(`"error":{"code":-32001,"message":"not now","data":{"why":"` + text + `"}}`)
	case "tools/call wait_item":
		s.arrived <- struct{}{}
		<-r.Context().Done()
	case "tools/call fail_item":
		says("it failed with " + text)
	default:
		answer(`"error":{"code":-32601,"message":"no such method"}`)
	}
}

// ask asks the user of a call, and returns the answer.
func (s *teamServer) ask(r *http.Request, event func(string), text string) string {
	answered := make(chan string, 1)
	s.mu.Lock()
	id := fmt.Sprintf(`"q%d"`, len(s.answers))
	s.answers[id] = answered
	s.mu.Unlock()
	event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":"Take %s?",`+
		`"requestedSchema":{"type":"object","required":["fruit"],"properties":{"fruit":{"type":"string"}}}}}`, id, text))
	select {
	case answer := <-answered:
		return answer
	case <-r.Context().Done():
		return "nothing"
	}
}

func teamDefinitions() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(teamTools)) {
		list = append(list, fmt.Sprintf(`{"name":%q,"description":"Tool %s of the team.","inputSchema":{"type":"object",`+
			`"properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":%t}}`, name, name, teamTools[name]))
	}
	return list
}
