package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Faults of measure questions.
const (
	strayQuestion = "questions of other calls"
	strayAnswer   = "answers of other calls"
	noQuestion    = "calls that could not ask"
)

// Number of clients and of concurrent calls per client. Half of the clients of each era never return with an
// answer.
const (
	askers       = 20
	callsOfAsker = 25
)

// questions lets clients of both eras call tools that ask their users, on servers of both eras and on a program. It checks
// that each question and answer belongs to its call.
func questions(ctx context.Context, p *place) error {
	stop, err := p.offerAsking()
	defer stop()
	if err != nil {
		return err
	}
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	var clients []*asker
	for n := range askers {
		c := &asker{server: s, report: p.report, number: n, modern: n%2 == 0, web: s.client().web}
		if err := c.begin(ctx); err != nil {
			return err
		}
		clients = append(clients, c)
	}
	gone, come := clients[:askers/2], clients[askers/2:]
	took := ask(ctx, attempts(gone, callsOfAsker, "older.ask", "newer.ask"), attempts(come, callsOfAsker, "older.ask", "newer.ask"))
	p.report.note("%d calls that ask at URLs, %d of clients that never come back; the other half from call to result: %s",
		askers*callsOfAsker, askers*callsOfAsker/2, took)
	come[0].ask(ctx, "program.ask", "the first") // now the tool is known to ask
	took = ask(ctx, attempts(gone[:1], 1, "program.ask"), attempts(come, 2, "program.ask"))
	p.report.note("%d calls that ask at a program, the first of a client that never comes back: %s", 1+2*len(come), took)
	return nil
}

// attempt is a call that a client will make.
type attempt struct {
	*asker
	tool, is string
}

// attempts returns each calls per client; the tools take turns.
func attempts(clients []*asker, each int, tools ...string) (all []attempt) {
	for _, c := range clients {
		for n := range each {
			all = append(all, attempt{c, tools[n%len(tools)], fmt.Sprintf("call %d of %s", n, c.name())})
		}
	}
	return all
}

// ask makes the calls of left, whose questions are never answered, and then the calls of made. It returns how long the
// calls of made took.
func ask(ctx context.Context, left, made []attempt) string {
	absentees, stop := context.WithCancel(ctx) // ends the requests of clients that never return
	var wait, rest sync.WaitGroup              // asked: until all are asked; rest: until all have returned
	for _, a := range left {
		wait.Add(1)
		rest.Go(func() { a.leave(absentees, a.tool, a.is, sync.OnceFunc(wait.Done)) })
	}
	wait.Wait()
	var took []time.Duration
	var mu sync.Mutex
	var calls sync.WaitGroup
	for _, a := range made {
		calls.Go(func() {
			begin := time.Now()
			a.ask(ctx, a.tool, a.is)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(begin))
		})
	}
	calls.Wait()
	stop()
	rest.Wait()
	slices.Sort(took)
	return fmt.Sprintf("p50 %s, p99 %s, the slowest %s", took[len(took)/2].Round(time.Millisecond),
		took[len(took)*99/100].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
}

// offerAsking starts servers that ask, and writes the settings that name them.
func (p *place) offerAsking() (stop func(), err error) {
	run, err := os.MkdirTemp("", "tf-") // socket paths must be short
	if err != nil {
		return func() {}, err
	}
	self, err := os.Executable()
	older, closeOlder, failedOlder := listenAsking(false)
	newer, closeNewer, failedNewer := listenAsking(true)
	stop = func() {
		closeOlder()
		closeNewer()
		_ = os.RemoveAll(run)
	}
	const gaveUp = 300 // ms
	text, failed := json.Marshal(map[string]any{"upstreams": map[string]any{
		"older": map[string]any{"url": older}, "newer": map[string]any{"url": newer},
		"program": map[string]any{"command": self, "env": map[string]string{askingProgram: "1"}, "questionTimeoutMs": gaveUp},
	}})
	folder := filepath.Join(p.dir, "config", "toolfold")
	p.settings = append(p.settings, "TOOLFOLD_TIER=none", "TOOLFOLD_UPSTREAM_WAIT_MS=30000", "XDG_RUNTIME_DIR="+run)
	return stop, errors.Join(err, failedOlder, failedNewer, failed, os.MkdirAll(folder, 0o700),
		os.WriteFile(filepath.Join(folder, "config.json"), text, 0o600))
}

// askingProgram is the environment variable that makes this program a server of 2025-11-25 that
// asks.
const askingProgram = "TOOLFOLD_ATTACK_ASKS"

// isAsking serves if this process is such a server, and reports whether it was.
func isAsking() bool {
	if os.Getenv(askingProgram) == "" {
		return false
	}
	var mu sync.Mutex
	s := &askingServer{}
	send := func(message map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		_ = json.NewEncoder(os.Stdout).Encode(message)
	}
	for lines := json.NewDecoder(os.Stdin); ; {
		var m serverMessage
		if lines.Decode(&m) != nil {
			return true
		}
		if answer := s.answer(m); answer != nil {
			send(answer)
		} else if m.Method == "tools/call" {
			go s.ask(context.Background(), m, send)
		}
	}
}

// askingServer serves a tool that asks its client's user, and returns its argument and the user's answer. It asks in
// the result of the call (modern) or by a request in the stream of its response.
type askingServer struct {
	modern bool
	last   atomic.Int64
	open   sync.Map // unanswered questions, by id: chan serverMessage
}

// serverMessage is a message to the server.
type serverMessage struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Arguments      struct{ Is string }
		InputResponses struct{ Q *userAnswer }
	}
	Result userAnswer
}

type userAnswer struct{ Content struct{ Name string } }

// listenAsking starts the server on loopback.
func listenAsking(modern bool) (url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	web := &http.Server{Handler: &askingServer{modern: modern}}
	go func() { _ = web.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() { _ = web.Close() }, nil
}

// answer returns the answer to a message, or nil if it needs no answer or asks first.
func (s *askingServer) answer(m serverMessage) map[string]any {
	var result map[string]any
	switch answer := m.Params.InputResponses.Q; {
	case m.Method == "" || m.ID == nil:
		if waits, known := s.open.LoadAndDelete(string(m.ID)); known {
			waits.(chan serverMessage) <- m
		}
		return nil
	case m.Method == "initialize" && !s.modern:
		result = map[string]any{"protocolVersion": legacyEra}
	case m.Method == "server/discover" && s.modern:
		result = map[string]any{"supportedVersions": []string{modernEra}}
	case m.Method == "tools/list":
		result = map[string]any{"tools": []any{map[string]any{"name": "ask", "inputSchema": map[string]any{"type": "object"}}}}
	case m.Method != "tools/call":
		return map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "no such method"}}
	case answer != nil:
		result = answerText(m, *answer)
	case s.modern:
		input := map[string]any{"q": map[string]any{"method": "elicitation/create", "params": question(m)}}
		result = map[string]any{"resultType": "input_required", "requestState": "s", "inputRequests": input}
	default:
		return nil
	}
	if m.Method == "initialize" || m.Method == "server/discover" {
		result["capabilities"] = map[string]any{"tools": map[string]any{}}
		result["serverInfo"] = map[string]any{"name": "asks", "version": "1"}
	}
	if s.modern && result["resultType"] == nil {
		result["resultType"] = "complete"
	}
	return map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}
}

// question returns the question of a call.
func question(m serverMessage) map[string]any {
	return map[string]any{"message": m.Params.Arguments.Is, "requestedSchema": map[string]any{"type": "object"}}
}

// answerText returns the result of a call.
func answerText(m serverMessage, answer userAnswer) map[string]any {
	text := m.Params.Arguments.Is + " for " + answer.Content.Name
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
}

// ask asks by a request and answers the call after the answer.
func (s *askingServer) ask(ctx context.Context, m serverMessage, send func(map[string]any)) {
	id, answer := s.last.Add(1), make(chan serverMessage, 1)
	s.open.Store(fmt.Sprint(id), answer)
	send(map[string]any{"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": question(m)})
	select {
	case a := <-answer:
		send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": answerText(m, a.Result)})
	case <-ctx.Done():
	}
}

// ServeHTTP implements [http.Handler].
func (s *askingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m serverMessage
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	answer := s.answer(m)
	switch {
	case answer != nil:
		if m.Method == "initialize" {
			w.Header().Set("Mcp-Session-Id", "one")
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	case m.Method != "tools/call":
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		s.ask(r.Context(), m, func(message map[string]any) {
			text, _ := json.Marshal(message)
			fmt.Fprintf(w, "data: %s\n\n", text)
			_ = http.NewResponseController(w).Flush()
		})
	}
}

// asker is a client with a user.
type asker struct {
	server  *server
	report  *report
	number  int
	modern  bool
	web     *http.Client
	session string
	last    atomic.Int64
}

func (c *asker) name() string { return fmt.Sprint("user ", c.number) }

// begin starts the session of a client of 2025-11-25.
func (c *asker) begin(ctx context.Context) error {
	if c.modern {
		return nil
	}
	params := map[string]any{
		"protocolVersion": legacyEra, "capabilities": map[string]any{"elicitation": map[string]any{}},
		"clientInfo": map[string]any{"name": "asker", "version": "1"},
	}
	response, err := c.post(ctx, map[string]any{"id": 0, "method": "initialize", "params": params})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if c.session = response.Header.Get("Mcp-Session-Id"); c.session == "" {
		return fmt.Errorf("initialize answered %s", response.Status)
	}
	return nil
}

// post sends a message.
func (c *asker) post(ctx context.Context, message map[string]any) (*http.Response, error) {
	message["jsonrpc"] = "2.0"
	body, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if c.modern {
		request.Header.Set("Mcp-Protocol-Version", modernEra)
		request.Header.Set("Mcp-Method", "tools/call")
		request.Header.Set("Mcp-Name", message["params"].(map[string]any)["name"].(string))
	} else if c.session != "" {
		request.Header.Set("Mcp-Session-Id", c.session)
		request.Header.Set("Mcp-Protocol-Version", legacyEra)
	}
	return c.web.Do(request)
}

// came holds the members of a received message that are checked.
type came struct {
	ID     json.RawMessage
	Method string
	Params struct{ Message string }
	Result struct {
		RequestState  string
		InputRequests map[string]struct{ Params struct{ Message string } }
		Content       []struct{ Text string }
	}
}

// call makes a call, or continues one, and passes each received message to take until take returns true.
func (c *asker) call(ctx context.Context, tool, is string, more map[string]any, take func(came) (over bool)) error {
	params := map[string]any{"name": tool, "arguments": map[string]any{"is": is}}
	for name, value := range more {
		params[name] = value
	}
	if c.modern {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    modernEra,
			"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}},
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "asker", "version": "1"},
		}
	}
	response, err := c.post(ctx, map[string]any{"id": c.last.Add(1), "method": "tools/call", "params": params})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	events := strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")
	for lines := bufio.NewReader(response.Body); ; {
		line, err := lines.ReadBytes('\n')
		data, isData := bytes.CutPrefix(line, []byte("data: "))
		if !events {
			data, isData = line, len(line) > 0
		}
		var m came
		if isData && json.Unmarshal(data, &m) == nil && take(m) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %s has no result: %w", response.Status, is, err)
		}
	}
}

// questionIn returns the question in a message; asks is false if there is none. It checks that the question
// belongs to the call.
func (c *asker) questionIn(m came, tool, is string) (key string, asks bool) {
	text := m.Params.Message
	for k, q := range m.Result.InputRequests {
		key, text = k, q.Params.Message
	}
	if m.Method != "elicitation/create" && m.Result.RequestState == "" {
		return "", false
	}
	server, _, _ := strings.Cut(tool, ".")
	if want := server + " asks: " + is; text != want {
		c.report.bad(strayQuestion, "%s is asked %q, want %q", c.name(), text, want)
	}
	return key, true
}

// leave makes a call and never answers its question.
func (c *asker) leave(ctx context.Context, tool, is string, wait func()) {
	defer wait()
	var isAsked bool
	err := c.call(ctx, tool, is, nil, func(m came) bool {
		if isAsked { // the call has ended
			return true
		}
		if _, isAsked = c.questionIn(m, tool, is); !isAsked {
			c.report.bad(noQuestion, "%s is answered %v", is, m.Result)
			return true
		}
		wait()
		return c.modern // older clients keep
	})
	if err != nil && ctx.Err() == nil {
		c.report.bad(noQuestion, "%v", err)
	}
}

// ask makes a call, answers its question, and judges the result.
func (c *asker) ask(ctx context.Context, tool, is string) {
	answer := map[string]any{"action": "accept", "content": map[string]any{"name": c.name()}}
	var goesOn map[string]any
	wait := false
	take := func(m came) bool {
		key, asks := c.questionIn(m, tool, is)
		wait = wait || asks
		switch {
		case asks && c.modern:
			goesOn = map[string]any{"requestState": m.Result.RequestState, "inputResponses": map[string]any{key: answer}}
			return true
		case asks:
			response, err := c.post(ctx, map[string]any{"id": m.ID, "result": answer})
			if err != nil {
				c.report.bad("broken connections", "%v", err)
				return true
			}
			_ = response.Body.Close()
			return false
		case !wait:
			c.report.bad(noQuestion, "%s is answered %v", is, m.Result)
		case len(m.Result.Content) != 1 || m.Result.Content[0].Text != is+" for "+c.name():
			c.report.bad(strayAnswer, "%s is answered %v", is, m.Result)
		}
		return true
	}
	err := c.call(ctx, tool, is, nil, take)
	if err == nil && goesOn != nil {
		err = c.call(ctx, tool, is, goesOn, take)
	}
	if err != nil {
		c.report.bad("broken connections", "%v", err)
	}
}
