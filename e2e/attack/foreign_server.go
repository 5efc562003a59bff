package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// foreigner is a third-party MCP server. Its number determines the protocol era, the transport and
// the faults. Number zero has no fault.
type foreigner struct {
	number    uint64
	name      string // of the upstream
	modern    bool   // 2026-07-28, otherwise 2025-11-25
	transport string // one of the transports
	broken    []breakage
	random    *rand.Rand // used only by newForeigner, so that the number determines the run
	mark      string     // in every intended result; no other server has it
	forged    string     // in every message hidden in its results
	cost      cost       // what clients lose by the faults

	hello    map[string]any   // result of initialize, or of server/discover
	lists    map[string][]any // entries by member: tools, prompts, …
	opening  string           // first bytes on standard output
	acts     []func(request) act
	results  []func(request, any) any
	messages []func(request, []string) []string // the messages sent for a request, the answer last; each is a line, an event or a body
	replies  []string                           // to each notification
	asks     []string                           // methods that a call requests from its client before it answers

	calls     atomic.Int64
	mu        sync.Mutex // guards the fields below
	late      []string   // late answers
	questions map[string]chan struct{}
	streams   []func(string) // of older SSE
}

// The transports of servers.
const (
	onStdio  = "stdio"
	onJSON   = "HTTP with JSON"
	onEvents = "HTTP with events"
	onSSE    = "older SSE"
)

var transports = []string{onStdio, onJSON, onEvents, onSSE}

// timeLimit returns the time limit of the server's calls in ms. It is short if some calls get no
// answer.
func (f *foreigner) timeLimit() int {
	if f.cost == nothing {
		return 30_000
	}
	return 1_500
}

// cost is what clients lose by the faults.
type cost int

const (
	nothing    cost = iota
	gammaAlone      // only calls of the tool gamma
	everything
)

// act is how a server treats a request.
type act int

const (
	answers act = iota
	hangs
	exits
)

// request is a message that toolfold sent.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name, URI, Cursor string
		Arguments         json.RawMessage
		InputResponses    json.RawMessage
	}
}

// works reports whether a client sent the request, as opposed to a request of the start.
func (r request) works() bool {
	switch r.Method {
	case "tools/call", "prompts/get", "resources/read", "completion/complete":
		return true
	}
	return false
}

func (r request) opens() bool { return r.Method == "initialize" || r.Method == "server/discover" }

// newForeigner returns the server with this number.
func newForeigner(number uint64) *foreigner {
	seed := rand.NewPCG(number, 0x70001f01d)
	f := &foreigner{number: number, name: fmt.Sprintf("s%d", number), random: rand.New(seed), questions: map[string]chan struct{}{}}
	f.mark, f.forged = f.secret("mark"), f.secret("forged")
	f.modern = f.random.IntN(2) == 0
	f.transport = onStdio // sessions share most there
	if at := f.random.IntN(len(transports) + 1); at < len(transports) {
		f.transport = transports[at]
	}
	f.lists = map[string][]any{
		"tools": {f.tool("alpha", nil), f.tool("beta", map[string]any{"required": []string{"a"}}), f.tool("gamma", nil)},
		"prompts": {
			map[string]any{"name": "ask", "description": f.mark, "arguments": []any{map[string]any{"name": "a"}}},
			map[string]any{"name": "tell"},
		},
		"resources":         {map[string]any{"uri": f.name + "://one", "name": "one"}, map[string]any{"uri": f.name + "://two", "name": "two"}},
		"resourceTemplates": {map[string]any{"uriTemplate": f.name + "://{a}", "name": "each"}},
	}
	change := map[string]any{"listChanged": true}
	f.hello = map[string]any{
		"capabilities": map[string]any{
			"tools": change, "prompts": change, "resources": change, "completions": map[string]any{}, "logging": map[string]any{},
		},
		"serverInfo": map[string]any{"name": f.name, "version": "1"},
	}
	first := breakages[number%uint64(len(breakages))] // in turn, so that every breakage occurs
	if number > 0 && first.on != "" {
		f.transport = first.on
	}
	f.modern = f.modern && !(number > 0 && first.legacy)
	if f.modern {
		f.hello["supportedVersions"] = []string{modernEra}
	} else {
		f.hello["protocolVersion"] = legacyEra
	}
	if number == 0 {
		f.name, f.transport = "good", onStdio
		return f
	}
	f.breakBy(first)
	for range []int{0, 0, 0, 1, 1, 2}[f.random.IntN(6)] {
		other := breakages[f.random.IntN(len(breakages))]
		if !other.heavy && (other.on == "" || other.on == f.transport) && !(other.legacy && f.modern) {
			f.breakBy(other)
		}
	}
	return f
}

func (f *foreigner) breakBy(b breakage) {
	f.broken = append(f.broken, b)
	before := f.cost
	f.cost = nothing
	b.set(f)
	switch {
	case slices.Contains(b.spares, f.transport):
		f.cost = before
	case f.cost == nothing:
		f.cost = everything
	default:
		f.cost = max(before, f.cost)
	}
}

// secret returns a text that only the server and the witnesses know.
func (f *foreigner) secret(kind string) string {
	h := fnv.New64a()
	fmt.Fprint(h, kind, f.number, "foreigner")
	return fmt.Sprintf("%s-%d-%016x", kind, f.number, h.Sum64())
}

func (f *foreigner) String() string {
	era, names := legacyEra, []string{}
	if f.modern {
		era = modernEra
	}
	for _, b := range f.broken {
		names = append(names, b.name)
	}
	return fmt.Sprintf("server %d (%s, %s; %s)", f.number, f.transport, era, strings.Join(names, " + "))
}

// tool returns an entry of tools/list; more adds members to its schema.
func (f *foreigner) tool(name string, more map[string]any) map[string]any {
	text := map[string]any{"type": "string"}
	schema := map[string]any{"type": "object", "properties": map[string]any{"a": text, "b": text}}
	for key, value := range more {
		schema[key] = value
	}
	return map[string]any{"name": name, "description": "Does " + name + ".", "inputSchema": schema}
}

// answer answers a message. It returns when it has sent everything; a hanging answer never returns.
func (f *foreigner) answer(ctx context.Context, r request, send func(string)) act {
	for _, next := range f.acts {
		switch next(r) {
		case hangs:
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour): // the timer keeps the runtime from reporting a deadlock
			}
			return hangs
		case exits:
			return exits
		}
	}
	switch {
	case r.Method == "": // the answer to a question
		f.mu.Lock()
		defer f.mu.Unlock()
		if answered := f.questions[string(r.ID)]; answered != nil {
			close(answered)
			delete(f.questions, string(r.ID))
		}
		return answers
	case r.ID == nil:
		for _, reply := range f.replies {
			send(reply)
		}
		return answers
	}
	if r.Method == "tools/call" {
		f.ask(ctx, send)
	}
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, r.ID, f.outcome(r))
	messages := []string{answer}
	for _, change := range f.messages {
		messages = change(r, messages)
	}
	for _, message := range messages {
		if message == pause {
			time.Sleep(200 * time.Millisecond)
			continue
		}
		send(message)
	}
	return answers
}

// pause in a list of messages means to send nothing for a while.
const pause = "pause"

// outcome returns the member result or error of an answer.
func (f *foreigner) outcome(r request) string {
	member, paged := strings.CutSuffix(r.Method, "/list")
	if r.Method == "resources/templates/list" {
		member = "resourceTemplates"
	}
	var result any
	switch {
	case r.Method == "initialize" && !f.modern, r.Method == "server/discover" && f.modern:
		result = clone(f.hello)
	case r.Method == "ping", r.Method == "logging/setLevel":
		result = map[string]any{}
	case paged && f.lists[member] != nil:
		result = map[string]any{member: f.lists[member]}
	case r.Method == "tools/call":
		f.calls.Add(1)
		result = map[string]any{"content": []any{map[string]any{"type": "text", "text": f.mark + " " + string(r.Params.Arguments)}}}
	case r.Method == "prompts/get":
		content := map[string]any{"type": "text", "text": f.mark}
		result = map[string]any{"messages": []any{map[string]any{"role": "user", "content": content}}}
	case r.Method == "resources/read":
		result = map[string]any{"contents": []any{map[string]any{"uri": r.Params.URI, "mimeType": "text/plain", "text": f.mark}}}
	case r.Method == "completion/complete":
		result = map[string]any{"completion": map[string]any{"values": []string{f.mark}}}
	default:
		return `"error":{"code":-32601,"message":"Method not found"}`
	}
	if members, ok := result.(map[string]any); ok && f.modern {
		members["resultType"] = "complete"
		if !r.works() || r.Method == "resources/read" {
			members["ttlMs"], members["cacheScope"] = 0, "private"
		}
	}
	for _, change := range f.results {
		result = change(r, result)
	}
	return `"result":` + encode(result)
}

// encode returns the JSON of a value; a [rough] value is returned unchanged.
func encode(v any) string {
	if text, ok := v.(rough); ok {
		return string(text)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf(`{"unencodable":%q}`, err)
	}
	return string(text)
}

// rough is a result that may be invalid JSON.
type rough string

func clone(members map[string]any) map[string]any {
	copied := map[string]any{}
	for key, value := range members {
		copied[key] = value
	}
	return copied
}

// ask asks the client and waits a limited time for each answer.
func (f *foreigner) ask(ctx context.Context, send func(string)) {
	for _, method := range f.asks {
		id := fmt.Sprintf(`"%s %d %s"`, f.name, f.calls.Load(), method)
		answered := make(chan struct{})
		f.mu.Lock()
		f.questions[id] = answered
		f.mu.Unlock()
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, f.question(method)))
		select {
		case <-answered:
		case <-ctx.Done():
		case <-time.After(time.Second): // the usual patience of servers
		}
	}
}

func (f *foreigner) question(method string) string {
	switch method {
	case "elicitation/create":
		return fmt.Sprintf(`{"mode":"form","message":%q,"requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`, f.mark)
	case "sampling/createMessage":
		return fmt.Sprintf(`{"messages":[{"role":"user","content":{"type":"text","text":%q}}],"maxTokens":5}`, f.mark)
	}
	return `{}`
}

// serveStdio serves on standard input and output until the input ends.
func (f *foreigner) serveStdio(in io.Reader, out io.Writer) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var writing sync.Mutex
	write := func(text string) {
		writing.Lock()
		defer writing.Unlock()
		_, _ = io.WriteString(out, text)
	}
	write(f.opening)
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		_ = json.Unmarshal(line, &r)
		handle := func() {
			if f.answer(ctx, r, func(text string) { write(text + "\n") }) == exits {
				os.Exit(3)
			}
		}
		if r.works() {
			go handle()
		} else {
			handle()
		}
	}
}

// ServeHTTP implements [http.Handler] for all transports except stdio.
func (f *foreigner) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	if hr.Method == http.MethodGet && f.transport == onSSE {
		f.serveStream(w, hr)
		return
	}
	if hr.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(hr.Body)
	var r request
	if err != nil || json.Unmarshal(body, &r) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	if r.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", f.name)
	}
	switch {
	case f.transport == onSSE:
		f.mu.Lock()
		at, err := strconv.Atoi(hr.URL.Query().Get("stream"))
		if err != nil || at >= len(f.streams) {
			f.mu.Unlock()
			w.WriteHeader(http.StatusNotFound)
			return
		}
		send := f.streams[at]
		f.mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
		_ = http.NewResponseController(w).Flush()
		if f.answer(hr.Context(), r, send) == exits {
			send("") // the end of the stream
		}
	case r.ID == nil && len(f.replies) == 0:
		w.WriteHeader(http.StatusAccepted)
	case f.transport == onEvents:
		w.Header().Set("Content-Type", "text/event-stream")
		if f.answer(hr.Context(), r, func(text string) { writeEvent(w, text) }) == exits {
			panic(http.ErrAbortHandler)
		}
	default:
		w.Header().Set("Content-Type", "application/json")
		var texts []string
		if f.answer(hr.Context(), r, func(text string) { texts = append(texts, text) }) == exits {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, strings.Join(texts, "\n"))
	}
}

// serveStream serves the single stream of older SSE.
func (f *foreigner) serveStream(w http.ResponseWriter, hr *http.Request) {
	events, over := make(chan string), make(chan struct{})
	defer close(over)
	f.mu.Lock()
	f.streams = append(f.streams, func(text string) {
		select {
		case events <- text:
		case <-over:
		}
	})
	at := len(f.streams) - 1
	f.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: endpoint\ndata: /messages?stream=%d\n\n", at)
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case text := <-events:
			if text == "" {
				return
			}
			writeEvent(w, text)
		case <-hr.Context().Done():
			return
		}
	}
}

// writeEvent writes a message as one event; each of its lines is a line of data.
func writeEvent(w http.ResponseWriter, text string) {
	var event bytes.Buffer
	event.WriteString("event: message\n")
	for line := range strings.SplitSeq(text, "\n") {
		event.WriteString("data: " + line + "\n")
	}
	event.WriteString("\n")
	_, _ = w.Write(event.Bytes())
	_ = http.NewResponseController(w).Flush()
}

// listen serves over HTTP on loopback until close is called.
func (f *foreigner) listen() (address string, close func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	web := &http.Server{Handler: f}
	go func() { _ = web.Serve(listener) }()
	return "http://" + listener.Addr().String() + "/mcp", func() { _ = web.Close() }, nil
}

// foreignNumber is the environment variable that makes this program the stdio server of that
// number.
const foreignNumber = "TOOLFOLD_ATTACK_FOREIGN"

// isForeign serves on stdio if this process is such a server, and reports whether it was.
func isForeign() bool {
	number, err := strconv.ParseUint(os.Getenv(foreignNumber), 10, 64)
	if err != nil {
		return false
	}
	newForeigner(number).serveStdio(os.Stdin, os.Stdout)
	return true
}
