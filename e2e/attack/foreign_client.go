package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// witness is a client that judges each message it receives. Its trial collects the findings.
type witness struct {
	trial  *trial
	name   string
	modern bool
	asks   bool // declares that it can be asked
	fault  func(kind string, of *foreigner, format string, args ...any)

	cmd    *exec.Cmd // on stdio
	stdin  io.WriteCloser
	ended  chan struct{} // closed when all output was read
	server *server       // over HTTP
	web    *client

	mu      sync.Mutex
	writing sync.Mutex
	last    int64
	open    map[int64]*exchange
	broken  chan struct{} // closed at the first invalid message: a client would leave
}

// exchange is a request that waits for its answer.
type exchange struct {
	method string
	of     *foreigner // the server that should answer; nil = toolfold
	answer chan *answer
}

// answer is a judged answer.
type answer struct {
	result map[string]json.RawMessage // nil for errors
	failed json.RawMessage
}

var (
	errBroken = errors.New("the client left at an invalid message")
	errHang   = errors.New("no answer")
)

// hangTime is the longest wait for an answer, even on a slow machine.
const hangTime = 45 * time.Second

// startStdio starts a server on standard input and output.
func (t *trial) startStdio(ctx context.Context, name string, modern bool, flags ...string) (*witness, error) {
	w := t.witness(name, modern)
	w.asks = true
	w.cmd = t.home.command(ctx, append([]string{"serve", "--tier=none", "--store", t.home.store}, flags...)...)
	var err error
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := w.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	var reading sync.WaitGroup
	reading.Go(func() { w.readLines(out) })
	reading.Go(func() {
		for lines := bufio.NewReader(stderr); ; {
			text, _, err := lines.ReadLine()
			if err != nil {
				return
			}
			if broken().Match(text) {
				w.fault("panics", t.ownerOf(text), "%s logs: %s", w.name, text)
			}
			t.say(string(text))
		}
	})
	go func() { reading.Wait(); close(w.ended) }()
	return w, w.initialize(ctx)
}

func (t *trial) witness(name string, modern bool) *witness {
	return &witness{
		trial: t, name: name, modern: modern, fault: t.fault,
		open: map[int64]*exchange{}, ended: make(chan struct{}), broken: make(chan struct{}),
	}
}

// startHTTP starts a server on HTTP.
func (t *trial) startHTTP(ctx context.Context, name string, modern bool) (*witness, error) {
	w := t.witness(name, modern)
	var err error
	if w.server, err = t.home.start(ctx); err != nil {
		return nil, err
	}
	w.web = w.server.client()
	if !modern {
		w.web, err = w.web.initialized(ctx)
	}
	return w, err
}

func (w *witness) initialize(ctx context.Context) error {
	if w.modern {
		_, err := w.request(ctx, nil, "server/discover", map[string]any{})
		return err
	}
	got, err := w.request(ctx, nil, "initialize", map[string]any{
		"protocolVersion": legacyEra, "capabilities": w.capabilities(), "clientInfo": map[string]any{"name": "witness", "version": "1"},
	})
	if err != nil {
		return err
	}
	if got.result == nil {
		return fmt.Errorf("initialize answered %s", got.failed)
	}
	return w.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (w *witness) capabilities() map[string]any {
	if !w.asks {
		return map[string]any{}
	}
	return map[string]any{"elicitation": map[string]any{}, "sampling": map[string]any{}, "roots": map[string]any{}}
}

func (w *witness) write(line string) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	_, err := io.WriteString(w.stdin, line+"\n")
	return err
}

// request sends a request that a server or toolfold itself answers.
func (w *witness) request(ctx context.Context, of *foreigner, method string, params map[string]any) (*answer, error) {
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, hangTime)
	defer cancel()
	w.mu.Lock()
	w.last++
	id, e := w.last, &exchange{method: method, of: of, answer: make(chan *answer, 1)}
	w.open[id] = e
	w.mu.Unlock()
	if w.web != nil {
		go w.exchangeHTTP(ctx, id, method, params)
	} else {
		meta := map[string]any{"progressToken": id}
		if w.modern {
			meta["io.modelcontextprotocol/protocolVersion"] = modernEra
			meta["io.modelcontextprotocol/clientCapabilities"] = w.capabilities()
			meta["io.modelcontextprotocol/clientInfo"] = map[string]any{"name": "witness", "version": "1"}
		}
		if w.modern || method == "tools/call" {
			params["_meta"] = meta
		}
		if err := w.write(encode(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})); err != nil {
			return nil, err
		}
	}
	select {
	case got := <-e.answer:
		return got, nil
	case <-w.broken:
		return nil, errBroken
	case <-w.ended:
		return nil, errors.New("serve ended")
	case <-ctx.Done():
		return nil, cmp.Or(whole.Err(), errHang)
	}
}

// exchangeHTTP sends a request over HTTP and judges every message of the response.
func (w *witness) exchangeHTTP(ctx context.Context, id int64, method string, params map[string]any) {
	name, _ := params["name"].(string)
	if uri, ok := params["uri"].(string); ok {
		name = uri
	}
	response, err := w.web.open(ctx, id, method, name, params)
	if err != nil {
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		w.hear(body)
		return
	}
	var data []byte
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			data = append(append(data, value...), '\n')
		case "event", "id", "retry":
		case "":
			if len(line) == 0 && data != nil {
				w.hear(bytes.TrimSuffix(data, []byte("\n")))
				data = nil
			}
		default:
			w.noMessage(line, "a line of events without a field")
		}
	}
}

func (w *witness) readLines(out io.Reader) {
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			w.hear(bytes.TrimSuffix(line, []byte("\n")))
		}
		if err != nil {
			return
		}
	}
}

var (
	idIn     = regex.Lazy(`"id":\s*(\d+)`)
	secretIn = regex.Lazy(`(?:mark|forged)-(\d+)-[0-9a-f]{16}`)
	actionIn = regex.Lazy(`action=s(\d+)`) // in logs
)

// noMessage records an invalid message, with the server that its text points to.
func (w *witness) noMessage(line []byte, why string) {
	of := w.trial.ownerOf(line)
	w.mu.Lock()
	if id := idIn().FindSubmatch(line); id != nil && of == nil {
		n, _ := strconv.ParseInt(string(id[1]), 10, 64)
		if e := w.open[n]; e != nil {
			of = e.of
		}
	}
	first := true
	select {
	case <-w.broken:
		first = false
	default:
		close(w.broken)
	}
	w.mu.Unlock()
	if first {
		w.fault("no message", of, "%s got %s: %s", w.name, why, shorten(string(line), 300))
	}
}

// hear judges a message.
func (w *witness) hear(line []byte) {
	members, why := membersOf(line)
	if why != "" {
		w.noMessage(line, why)
		return
	}
	if !utf8.Valid(line) {
		w.fault("messages not in UTF-8", w.trial.ownerOf(line), "%s got %q", w.name, shorten(string(line), 300))
	}
	id, method := members["id"], members["method"]
	switch {
	case method == nil:
		w.hearAnswer(id, members, line)
	case id == nil:
		w.hearNotice(text(method), members["params"], line)
	default:
		w.hearRequest(text(method), id, members["params"], line)
	}
}

// membersOf decodes a JSON-RPC message, or returns why it is invalid.
func membersOf(line []byte) (members map[string]json.RawMessage, why string) {
	if err := json.Unmarshal(line, &members); err != nil || members == nil {
		return nil, fmt.Sprintf("no JSON object (%v)", err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	_, _ = dec.Token()
	count := 0
	for ; dec.More(); count++ {
		_, _ = dec.Token()
		var skipped json.RawMessage
		_ = dec.Decode(&skipped)
	}
	if count != len(members) {
		return nil, "a member twice"
	}
	if string(members["jsonrpc"]) != `"2.0"` {
		return nil, "no JSON-RPC"
	}
	allowed := []string{"jsonrpc", "id", "method", "params"}
	if members["method"] == nil {
		allowed = []string{"jsonrpc", "id", "result", "error"}
		if (members["result"] == nil) == (members["error"] == nil) {
			return nil, "neither or both of result and error"
		}
	}
	for name := range members {
		if !slices.Contains(allowed, name) {
			return nil, "a member " + name
		}
	}
	return members, ""
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

func (w *witness) hearAnswer(id json.RawMessage, members map[string]json.RawMessage, line []byte) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	w.mu.Lock()
	e := w.open[n]
	delete(w.open, n)
	w.mu.Unlock()
	if err != nil || e == nil {
		w.fault("answers to nothing", w.trial.ownerOf(line), "%s got %s", w.name, shorten(string(line), 300))
		return
	}
	got := &answer{failed: members["error"]}
	if members["result"] != nil {
		if err := json.Unmarshal(members["result"], &got.result); err != nil || got.result == nil {
			w.fault("invalid results", e.of, "%s to %s: %s", w.name, e.method, shorten(string(line), 300))
			got.result = map[string]json.RawMessage{}
		}
	}
	w.judge(e, got, line)
	e.answer <- got
}

// mayNotify lists the notifications that a server may send.
var mayNotify = []string{
	"notifications/message", "notifications/progress", "notifications/cancelled", "notifications/tools/list_changed",
	"notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/resources/updated",
}

func (w *witness) hearNotice(method string, params json.RawMessage, line []byte) {
	owner := w.trial.ownerOf(line)
	if !slices.Contains(mayNotify, method) || bytes.Contains(line, []byte("forged-")) {
		w.fault("forged messages", owner, "%s got %s", w.name, shorten(string(line), 300))
	}
	if method == "notifications/progress" {
		var progress struct{ ProgressToken int64 }
		_ = json.Unmarshal(params, &progress)
		w.mu.Lock()
		e := w.open[progress.ProgressToken]
		w.mu.Unlock()
		if e == nil {
			w.fault("progress of nothing", owner, "%s got %s", w.name, shorten(string(line), 300))
		}
	}
}

func (w *witness) hearRequest(method string, id, params json.RawMessage, line []byte) {
	owner := w.trial.ownerOf(line)
	outcome := ""
	switch method {
	case "ping":
		outcome = `"result":{}`
	case "roots/list":
		outcome = `"result":{"roots":[]}`
	case "elicitation/create":
		outcome = `"result":{"action":"decline"}`
	case "sampling/createMessage":
		outcome = `"error":{"code":-1,"message":"declined"}`
	}
	isOwn := owner != nil && !bytes.Contains(line, []byte("forged-")) && w.calls(owner)
	if outcome == "" || !w.asks || w.modern || method != "ping" && method != "roots/list" && !isOwn {
		w.fault("forged messages", owner, "%s got %s", w.name, shorten(string(line), 300))
	}
	if outcome != "" && w.stdin != nil {
		_ = w.write(answerOf(string(id), outcome))
	}
}

// calls reports whether a call to a server is running.
func (w *witness) calls(f *foreigner) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.open {
		if e.of == f {
			return true
		}
	}
	return false
}

// rooted lists the members of results that the protocol defines, by method.
var rooted = map[string][]string{
	"tools/call":          {"content", "structuredContent", "isError"},
	"prompts/get":         {"description", "messages"},
	"resources/read":      {"contents", "ttlMs", "cacheScope"},
	"completion/complete": {"completion"},
	"tools/list":          {"tools", "nextCursor", "ttlMs", "cacheScope"},
	"prompts/list":        {"prompts", "nextCursor", "ttlMs", "cacheScope"},
	"resources/list":      {"resources", "nextCursor", "ttlMs", "cacheScope"},
	"initialize":          {"protocolVersion", "capabilities", "serverInfo", "instructions"},
	"server/discover":     {"supportedVersions", "capabilities", "serverInfo", "instructions", "ttlMs", "cacheScope"},
}

// riddle matches texts that only the program's authors understand.
var riddle = regex.Lazy(`INTERNAL_ERROR|client is closing|[Uu]nmarshal|\bjson: |panic|runtime error|goroutine \d|` +
	`\.go:\d|Go (struct|value)|interface \{\}|map\[string\]|\b(json|mcp|jsonrpc2?|serve|upstream|pool|gateway|call)\.[A-Z]\w|` +
	`unexpected end of JSON|invalid character '`)

// judge judges an answer to a request.
func (w *witness) judge(e *exchange, got *answer, line []byte) {
	if got.failed != nil {
		var failed struct {
			Code    *int
			Message *string
			Data    struct{ Code string } // the reason, if it has no number
		}
		if json.Unmarshal(got.failed, &failed) != nil || failed.Code == nil || failed.Message == nil {
			w.fault("invalid errors", e.of, "%s to %s: %s", w.name, e.method, shorten(string(line), 300))
		} else if *failed.Code == -32603 && failed.Data.Code == "" {
			w.fault("internal errors", e.of, "%s to %s: %s", w.name, e.method, shorten(string(line), 400))
		}
	}
	if failure := got.failure(); riddle().Match(failure) {
		kind := "riddles"
		if bytes.Contains(failure, []byte("INTERNAL_ERROR")) {
			kind = "internal errors"
		}
		w.fault(kind, e.of, "%s to %s: %s", w.name, e.method, shorten(string(failure), 500))
	}
	known := append([]string{"_meta"}, rooted[e.method]...)
	if w.modern {
		known = append(known, "resultType")
	}
	asks := text(got.result["resultType"]) == "input_required"
	if asks && w.asks {
		known = append(known, "inputRequests", "requestState")
	}
	for name := range got.result {
		if !slices.Contains(known, name) {
			w.fault("unknown members", e.of, "%s to %s: member %s in %s", w.name, e.method, name, shorten(string(line), 300))
		}
	}
	if kind := text(got.result["resultType"]); w.modern && got.result != nil && kind != "complete" && !(asks && w.asks) {
		w.fault("invalid results", e.of, "%s to %s: resultType %q in %s", w.name, e.method, kind, shorten(string(line), 300))
	}
	var meta map[string]json.RawMessage
	_ = json.Unmarshal(got.result["_meta"], &meta)
	for name, value := range meta {
		if (strings.HasPrefix(name, "toolfold") || strings.HasSuffix(name, "related-task")) && bytes.Contains(value, []byte("forged-")) {
			w.fault("forged _meta", e.of, "%s to %s: %s in %s", w.name, e.method, name, shorten(string(line), 300))
		}
	}
	for _, found := range secretIn().FindAllSubmatch(line, -1) {
		number, _ := strconv.ParseUint(string(found[1]), 10, 64)
		if e.of != nil && number != e.of.number {
			w.fault("answers of other servers", w.trial.numbered(number), "%s to %s of %s: %s", w.name, e.method, e.of.name,
				shorten(string(line), 300))
			break
		}
	}
	var content []struct{ Text string }
	if json.Unmarshal(got.result["content"], &content) == nil && len(content) > 0 && strings.HasPrefix(content[0].Text, "forged-") {
		w.fault("forged messages", w.trial.ownerOf(line), "%s to %s: %s", w.name, e.method, shorten(string(line), 300))
	}
}

// failure returns the error of an answer in toolfold's words, nil for success.
func (a *answer) failure() []byte {
	if a.failed != nil {
		return a.failed
	}
	if string(a.result["isError"]) == "true" && bytes.Contains(a.result["content"], []byte(`{\"error\":{\"code\":`)) {
		return a.result["content"]
	}
	return nil
}

// stop ends the server like a client that leaves.
func (w *witness) stop() {
	if w.server != nil {
		w.server.stop()
		return
	}
	_ = w.stdin.Close()
	select {
	case <-w.ended:
	case <-time.After(hangTime):
		w.fault("serve that does not end", nil, "%s is there %s after its input ended", w.name, hangTime)
		_ = w.cmd.Process.Kill()
		<-w.ended
	}
	if err := w.cmd.Wait(); err != nil {
		w.fault("ends with an error", nil, "%s: %v", w.name, err)
	}
}

func (w *witness) pid() int {
	if w.server != nil {
		return w.server.cmd.Process.Pid
	}
	return w.cmd.Process.Pid
}
