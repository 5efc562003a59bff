package gateway_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// randomServer is a random MCP server over HTTP of one era. Its answers depend only on its seed, the
// tool and the arguments.
type randomServer struct {
	*httptest.Server
	modern bool
	seed   uint64
	tools  []randomTool
	offers randomOffers

	mu   sync.Mutex
	came map[string]int // number of arrived calls, by tool and arguments
}

// randomTool is a tool with generators for its arguments.
type randomTool struct {
	name       string
	definition json.RawMessage
	schema     json.RawMessage
	properties []property
	open       bool // it accepts undeclared parameters
}

type property struct {
	name     string
	required bool
	value    func(*rand.Rand) string // returns a value that its schema allows
}

// newRandomServer returns a server with these tools.
func newRandomServer(t testing.TB, r *rand.Rand, modern bool, tools []randomTool) *randomServer {
	s := &randomServer{modern: modern, seed: r.Uint64(), tools: tools, came: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

var (
	verbs = []string{"get", "list", "search", "create", "delete", "update", "run", "fetch", "set", "Send", "日"}
	nouns = []string{"issue", "issues", "pull_request", "file", "repo", "user", "page", "comment", "a", "query", "本", "tools"}
	seps  = []string{"_", "-", ".", "", " ", "/"}
)

// randomTools returns tools with different names.
func randomTools(r *rand.Rand) []randomTool {
	var tools []randomTool
	taken := map[string]bool{}
	for range 1 + r.IntN(12) {
		name := pick(r, verbs) + pick(r, seps) + pick(r, nouns)
		if r.IntN(4) == 0 {
			name = "srv" + pick(r, seps) + name
		}
		if taken[name] {
			continue
		}
		taken[name] = true
		tools = append(tools, newRandomTool(r, name))
	}
	return tools
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// parameterNames are names of parameters. Some of them also occur in our own calls.
var parameterNames = []string{"id", "name", "query", "limit", "cursor", "action", "params", "include_fields", "a-b", "x.y", "ключ",
	"toolCallId", "tool", "arguments", "owner"}

func newRandomTool(r *rand.Rand, name string) randomTool {
	tool := randomTool{name: name, open: true}
	d := dialect{draft7: r.IntN(2) == 0}
	schema := ordered.Map{}
	if r.IntN(3) > 0 {
		schema.Set("$schema", d.address())
	}
	schema.Set("type", "object")
	var properties ordered.Map
	var required []string
	for _, at := range r.Perm(len(parameterNames))[:r.IntN(6)] {
		p := property{name: parameterNames[at], required: r.IntN(2) == 0}
		var inner any
		inner, p.value = d.random(r, 2)
		properties.Set(p.name, inner)
		if p.required {
			required = append(required, p.name)
		}
		tool.properties = append(tool.properties, p)
	}
	if len(properties) > 0 || r.IntN(2) == 0 {
		schema.Set("properties", properties)
	}
	if len(required) > 0 {
		schema.Set("required", required)
	}
	if r.IntN(3) == 0 {
		tool.open = false
		schema.Set("additionalProperties", false)
	}
	if d.defined {
		schema.Set(d.definitions(), map[string]any{"short": map[string]any{"type": "string", "maxLength": 9}})
	}
	tool.schema = ordered.MustJSON(schema)
	definition := ordered.Map{{Key: "name", Value: name}}
	if r.IntN(3) > 0 {
		definition.Set("description", strings.Repeat("Does what its name says. ", 1+r.IntN(10)))
	}
	definition.Set("inputSchema", schema)
	if r.IntN(2) == 0 {
		definition.Set("annotations", map[string]bool{"readOnlyHint": r.IntN(2) == 0})
	}
	if r.IntN(4) == 0 {
		definition.Set("outputSchema", json.RawMessage(`{"type":"object"}`))
	}
	tool.definition = ordered.MustJSON(definition)
	return tool
}

// has reports whether the tool has a parameter.
func (tool randomTool) has(parameter string) bool {
	return slices.ContainsFunc(tool.properties, func(p property) bool { return p.name == parameter })
}

// dialect makes schemas of one version of JSON Schema.
type dialect struct {
	draft7, defined bool
}

func (d *dialect) address() string {
	if d.draft7 {
		return "http://json-schema.org/draft-07/schema#"
	}
	return "https://json-schema.org/draft/2020-12/schema"
}

func (d *dialect) definitions() string {
	if d.draft7 {
		return "definitions"
	}
	return "$defs"
}

var texts = []string{`"a"`, `""`, `"é<&>\n"`, `"\ud83d\ude00"`, `"12"`, `"true"`, `"{\"x\":1}"`, `"[1]"`, `"null"`}

// random returns a schema, and a function that returns values for it.
func (d *dialect) random(r *rand.Rand, depth int) (any, func(*rand.Rand) string) {
	kinds := 8
	if depth > 0 {
		kinds = 13
	}
	object := func(members ...any) ordered.Map {
		var m ordered.Map
		for i := 0; i < len(members); i += 2 {
			m.Set(members[i].(string), members[i+1])
		}
		return m
	}
	of := func(values ...string) func(*rand.Rand) string {
		return func(r *rand.Rand) string { return pick(r, values) }
	}
	switch r.IntN(kinds) {
	case 0:
		return object("type", "string", "description", "Some text."), of(texts...)
	case 1:
		return object("type", "string", "enum", []string{"open", "closed", "1"}), of(`"open"`, `"closed"`, `"1"`)
	case 2:
		return object("type", "integer", "minimum", 0, "default", 10), of(`0`, `7`, `12345678901234567890`)
	case 3:
		return object("type", "number"), of(`1.50`, `-0.1`, `1e3`, `2`)
	case 4:
		return object("type", "boolean"), of(`true`, `false`)
	case 5:
		return object("type", []string{"string", "null"}), of(append(texts, `null`)...)
	case 6:
		return object("const", "only"), of(`"only"`)
	case 7:
		d.defined = true
		return object("$ref", "#/"+d.definitions()+"/short"), of(`"a"`, `"short"`)
	case 8:
		items, item := d.random(r, depth-1)
		return object("type", "array", "items", items), list(item, 0, 3)
	case 9:
		first, one := d.random(r, depth-1)
		second, two := d.random(r, depth-1)
		value := func(r *rand.Rand) string { return "[" + one(r) + "," + two(r) + "]" }
		if d.draft7 {
			return object("type", "array", "items", []any{first, second}), value
		}
		return object("type", "array", "prefixItems", []any{first, second}), value
	case 10:
		inner, value := d.random(r, depth-1)
		members := func(r *rand.Rand) string {
			if r.IntN(3) == 0 {
				return `{"m":` + value(r) + `,"n":[1.0, null]}`
			}
			return `{ "m" : ` + value(r) + `}`
		}
		return object("type", "object", "properties", object("m", inner), "required", []string{"m"}), members
	case 11:
		inner, value := d.random(r, depth-1)
		other := of(`5`, value(r))
		return object("anyOf", []any{object("type", "integer"), inner}), other
	}
	return true, of(`null`, `[]`, `{"x":{}}`, `"t"`, `0`)
}

func list(item func(*rand.Rand) string, least, most int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		var items []string
		for range least + r.IntN(most-least+1) {
			items = append(items, item(r))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
}

// arguments returns arguments for the tool. They may be invalid: a member may be missing, of another
// type, or unknown.
func (tool randomTool) arguments(r *rand.Rand) string {
	var members []string
	for _, p := range tool.properties {
		switch {
		case !p.required && r.IntN(2) == 0, r.IntN(25) == 0:
		case r.IntN(25) == 0:
			members = append(members, fmt.Sprintf("%q: %s", p.name, pick(r, []string{`null`, `"7"`, `[{}]`, `{"m":1}`, `1.5`})))
		default:
			members = append(members, fmt.Sprintf("%q: %s", p.name, p.value(r)))
		}
	}
	if r.IntN(8) == 0 {
		members = append(members, `"zz-unknown":[1.0,"\u003c"]`)
	}
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

// ServeHTTP implements [http.Handler].
func (s *randomServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name, URI string
			Arguments json.RawMessage
			Cursor    string
			Meta      map[string]json.RawMessage `json:"_meta"`
		}
	}
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case json.Unmarshal(body, &m) != nil:
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := func(text string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, text)
	}
	stamp := ""
	if s.modern {
		stamp = `"resultType":"complete","ttlMs":0,"cacheScope":"private",` +
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"r","version":"1"}},`
		version := r.Header.Get("Mcp-Protocol-Version")
		inMeta := string(m.Params.Meta["io.modelcontextprotocol/protocolVersion"])
		if r.Header.Get("Mcp-Method") != m.Method || version != "2026-07-28" || inMeta != `"2026-07-28"` {
			w.WriteHeader(http.StatusBadRequest)
			answer(fmt.Sprintf(`"error":{"code":-32020,"message":"headers %q %q, metadata %s"}`, r.Header.Get("Mcp-Method"), version, inMeta))
			return
		}
	} else if m.Method != "initialize" && m.Method != "server/discover" && r.Header.Get("Mcp-Session-Id") != "s1" {
		http.Error(w, "no session", http.StatusBadRequest)
		return
	}
	switch method := m.Method; {
	case method == "initialize" && !s.modern:
		w.Header().Set("Mcp-Session-Id", "s1")
		answer(`"result":{"protocolVersion":"2025-11-25","capabilities":{` + s.capabilities() + `},"serverInfo":{"name":"r","version":"1"}}`)
	case method == "server/discover" && s.modern:
		answer(`"result":{` + stamp + `"supportedVersions":["2026-07-28"],"capabilities":{` + s.capabilities() + `}}`)
	case method == "tools/list":
		half := (len(s.tools) + 1) / 2
		page, next := s.tools[:half], `,"nextCursor":"more"`
		if m.Params.Cursor == "more" {
			page, next = s.tools[half:], ""
		}
		var definitions []string
		for _, tool := range page {
			definitions = append(definitions, string(tool.definition))
		}
		answer(`"result":{` + stamp + `"tools":[` + strings.Join(definitions, ",") + `]` + next + `}`)
	case method == "tools/call":
		s.call(w, m.ID, m.Params.Name, m.Params.Arguments, m.Params.Meta)
	default:
		outcome := s.offers.answer(method, m.Params.Name, m.Params.URI, m.Params.Cursor, body)
		if strings.HasPrefix(outcome, `"result":{`) {
			outcome = strings.Replace(outcome, `{`, `{`+stamp, 1)
		}
		answer(outcome)
	}
}

func (s *randomServer) capabilities() string {
	if s.offers.prompts == nil {
		return `"tools":{},"logging":{}`
	}
	return `"tools":{},"logging":{},"prompts":{},"resources":{},"completions":{}`
}

// call answers a call. The answer depends only on its tool and arguments.
func (s *randomServer) call(
	w http.ResponseWriter, id json.RawMessage, tool string, arguments json.RawMessage, meta map[string]json.RawMessage,
) {
	key := tool + " " + canonical(arguments)
	s.mu.Lock()
	s.came[key]++
	s.mu.Unlock()
	h := fnv.New64()
	_, _ = io.WriteString(h, key)
	r := rand.New(rand.NewPCG(s.seed, h.Sum64()))
	time.Sleep(time.Duration(r.IntN(4)) * time.Millisecond) // a slow server: answers overtake each other
	outcome := `"result":` + s.result(r, tool, arguments)
	switch r.IntN(40) {
	case 0:
		outcome = `"error":{"code":-32001,"message":"not\nwith me","data":{"why":["\u003c"]}}`
	case 1:
		http.Error(w, "out of order", pick(r, []int{400, 403, 429, 500, 503}))
		return
	case 2:
		panic(http.ErrAbortHandler)
	case 3:
		outcome = `"result":["no result"]`
	}
	events := r.IntN(2) == 0
	if !events {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, outcome)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(text string) {
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
		w.(http.Flusher).Flush()
	}
	for i := range r.IntN(3) {
		if token := meta["progressToken"]; token != nil {
			more := pick(r, []string{``, `,"total":2.5`, `,"total":3,"message":"é\u003c"`})
			event(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d%s}}`,
				token, i+1, more))
		}
	}
	if r.IntN(20) == 0 {
		return // the stream ends without an answer
	}
	event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, outcome))
}

// result returns a random kind of result for a tool.
func (s *randomServer) result(r *rand.Rand, tool string, arguments json.RawMessage) string {
	echo := ordered.MustJSON(ordered.Map{{Key: "tool", Value: tool}, {Key: "got", Value: arguments}})
	parts := []string{
		`{"type":"text","text":` + string(ordered.MustJSON(canonical(echo))) + `}`,
		`{"type":"text","text":"a\u00e9\u003c\n"}`, `{"type":"text","text":"[1]","annotations":{"priority":0.5,"audience":["user"]}}`,
		`{"type":"image","data":"AA==","mimeType":"image/png","_meta":{"w":1}}`, `{"type":"audio","data":"AA==","mimeType":"audio/wav"}`,
		`{"type":"resource_link","uri":"x://y","name":"n","size":3}`, `{"type":"resource","resource":{"uri":"x://y","text":"t"}}`,
		`{"type":"resource","resource":{"uri":"x://y","blob":"AA==","mimeType":"a/b"}}`, `{"type":"unheard-of","of":{"it":[null,true,1.50]}}`,
	}
	var blocks []string
	for range r.IntN(4) {
		blocks = append(blocks, pick(r, parts))
	}
	structured := []string{``, ``, `,"structuredContent":` + string(echo)}
	metas := []string{``, `,"_meta":{"k":{"n":1e3}}`}
	if s.modern {
		structured = append(structured, `,"structuredContent":[1.50]`, `,"structuredContent":"text"`)
		const info = `"io.modelcontextprotocol/serverInfo":{"name":"r","version":"1"}`
		metas = []string{`,"resultType":"complete"`, `,"resultType":"complete","_meta":{` + info + `,"k":1.50}`, `,"_meta":{` + info + `}`}
	}
	failed := []string{``, ``, `,"isError":false`, `,"isError":true`}
	return `{"content":[` + strings.Join(blocks, ",") + `]` + pick(r, structured) + pick(r, metas) + pick(r, failed) + `}`
}

// arrived returns the calls that arrived, with their number, and resets them.
func (s *randomServer) arrived() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var calls []string
	for call, n := range s.came {
		for range n {
			calls = append(calls, call)
		}
	}
	clear(s.came)
	slices.Sort(calls)
	return calls
}

// canonical writes a JSON value with sorted members and unchanged digits. Invalid JSON is returned
// unchanged.
func canonical(raw []byte) string {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	return string(ordered.MustJSON(v))
}
