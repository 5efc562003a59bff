package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// Random calls of random servers get the same answers through the gateway as directly, in all
// combinations of eras, except for the differences that ARCHITECTURE.md lists.
func TestSameThrough(t *testing.T) {
	t.Parallel()
	sequences := 25
	if os.Getenv("TOOLFOLD_LOAD") != "" {
		sequences = 2000
	}
	for lane := range 4 {
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			t.Parallel()
			for n := lane; n < sequences; n += 4 { // each closes its servers
				t.Run(fmt.Sprint(n), func(t *testing.T) { checkSequence(t, uint64(n)) })
			}
		})
	}
}

// randomCall is a call of a server's tool by one of its names.
type randomCall struct {
	server    int
	tool      randomTool
	arguments string
	valid     bool // the schema allows the arguments
	way       int
}

// ways is the number of ways to call a tool, see [randomCall.through].
const ways = 7

// checkSequence makes the same calls directly and through the gateway, in all combinations of eras.
func checkSequence(t *testing.T, n uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(n, 23))
	tools := [][]randomTool{randomTools(r)}
	if r.IntN(3) == 0 {
		tools = append(tools, randomTools(r))
	}
	var calls []randomCall
	for range 8 {
		c := randomCall{server: r.IntN(len(tools)), way: r.IntN(ways)}
		c.tool = pick(r, tools[c.server])
		c.arguments = c.tool.arguments(r)
		c.valid = allows(t, c.tool.schema, c.arguments)
		calls = append(calls, c)
	}
	seed := r.Uint64()
	for _, modern := range []bool{false, true} { // era of the servers
		direct := make([]exchange, len(calls))
		for _, modernClient := range []bool{false, true} {
			r := rand.New(rand.NewPCG(seed, 1))
			var servers []*randomServer
			var list []gateway.Upstream
			for i, tools := range tools {
				s := newRandomServer(t, r, modern, tools)
				servers = append(servers, s)
				list = append(list, gateway.Upstream{Name: fmt.Sprintf("srv%d", i), Server: upstream.Server{URL: s.URL}})
			}
			for i, c := range calls {
				direct[i] = (&wire{url: servers[c.server].URL, modern: modern}).call(t, c.tool.name, c.arguments)
			}
			for _, s := range servers {
				s.arrived()
			}
			client, g := throughGateway(t, modernClient, list...)
			for from := 0; from < len(calls); {
				batch := calls[from:min(len(calls), from+1+r.IntN(4))]
				through := make([]exchange, len(batch))
				var wait sync.WaitGroup
				for i, c := range batch {
					wait.Go(func() { through[i] = c.through(t, client, g) })
				}
				wait.Wait()
				for i, c := range batch {
					if problem := c.compare(direct[from+i], through[i]); problem != "" {
						t.Errorf("sequence %d, server of 2026-07-28 %t, client %t, call %d: %s\n%+v, schema %s\ndirect  %s\nthrough %s",
							n, modern, modernClient, from+i, problem, c, c.tool.schema, direct[from+i], through[i])
					}
				}
				checkArrived(t, servers, batch)
				from += len(batch)
			}
			g.Close()
			for _, s := range servers {
				s.Close()
			}
		}
	}
}

// checkArrived checks that every call arrived once, unless its arguments were refused.
func checkArrived(t *testing.T, servers []*randomServer, batch []randomCall) {
	t.Helper()
	for i, s := range servers {
		var want []string
		for _, c := range batch {
			if c.server == i && c.valid {
				want = append(want, c.tool.name+" "+canonical([]byte(c.arguments)))
			}
		}
		slices.Sort(want)
		got := s.arrived()
		for _, call := range want {
			at := slices.Index(got, call)
			if at < 0 {
				t.Errorf("%s did not arrive", call)
				continue
			}
			got = slices.Delete(got, at, at+1)
		}
		for _, call := range got { // calls with arguments that the schema did not allow
			tool, arguments, _ := strings.Cut(call, " {")
			at := slices.IndexFunc(s.tools, func(known randomTool) bool { return known.name == tool })
			converted := slices.ContainsFunc(batch, func(c randomCall) bool { return c.server == i && !c.valid && c.tool.name == tool })
			if at < 0 || !converted || !allows(t, s.tools[at].schema, "{"+arguments) {
				t.Errorf("%s arrived, though it was not called so", call)
			}
		}
	}
}

func allows(t *testing.T, schema json.RawMessage, value string) bool {
	t.Helper()
	compiled, err := judge.Compile("it", schema)
	if err != nil {
		return true // a schema that does not compile is not checked
	}
	dec := json.NewDecoder(strings.NewReader(value))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	return compiled.Schema.Validate(v) == nil
}

// throughGateway serves the tools of servers, and returns a client.
func throughGateway(t *testing.T, modern bool, list ...gateway.Upstream) (*wire, *gateway.Gateway) {
	t.Helper()
	g, err := gateway.New(gateway.Options{Upstreams: list, Version: "1", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := surface.New(surface.Options{})
	if err := s.Put(append(g.Families(), lazy.Mount(s.Discovery))...); err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{
		Surface: s, Log: slog.New(slog.DiscardHandler), Others: g,
		Prompts:   func(context.Context) ([]serve.Prompt, error) { return nil, nil },
		Resources: func(context.Context) ([]serve.Resource, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	at := httptest.NewServer(server.Handler(""))
	t.Cleanup(at.Close)
	return &wire{url: at.URL + "/mcp", modern: modern}, g
}

// through makes the call through the gateway in its way.
func (c randomCall) through(t *testing.T, client *wire, g *gateway.Gateway) exchange {
	t.Helper()
	server := fmt.Sprintf("srv%d", c.server)
	for _, f := range g.Families() {
		for _, a := range f.Actions {
			if a.Aliases[0] != server+"."+c.tool.name {
				continue
			}
			family := func(members string) exchange {
				if !f.Bare {
					members = `{"action":` + quoted(a.Name) + `,` + members + `}`
				} else {
					members = `{` + members + `}`
				}
				return client.call(t, f.Name, members)
			}
			way := c.way
			if way < 2 && c.tool.has("params") { // its parameters are then beside the action
				way = 5
			}
			switch way {
			case 0:
				return family(`"params":` + c.arguments)
			case 1:
				return family(`"params":` + quoted(c.arguments))
			case 2:
				return client.call(t, "tool_call", `{"name":`+quoted(a.FullName())+`,"arguments":`+c.arguments+`}`)
			case 3:
				return client.call(t, a.FullName(), c.arguments)
			case 4:
				return client.call(t, "tool_call", `{"name":`+quoted(a.Aliases[0])+`,"arguments":`+quoted(c.arguments)+`}`)
			case 5:
				if c.arguments != "{}" && !c.tool.has("action") {
					return family(c.arguments[1 : len(c.arguments)-1])
				}
			}
			return client.call(t, a.Aliases[0], c.arguments)
		}
	}
	t.Fatalf("%s is no action", c.tool.name)
	return exchange{}
}

func quoted(text string) string { return string(ordered.MustJSON(text)) }

// compare describes how a call through the gateway differs from the direct one. It is empty if it does
// not, or only as ARCHITECTURE.md describes.
func (c randomCall) compare(direct, through exchange) string {
	if through.result == nil {
		return "there is no result"
	}
	var result struct {
		IsError bool
		Content []struct{ Text string }
	}
	_ = json.Unmarshal(through.result, &result)
	refusal := ""
	if result.IsError && len(result.Content) > 0 {
		var e struct {
			Error struct{ Code, Message string }
		}
		_ = json.Unmarshal([]byte(result.Content[0].Text), &e)
		refusal = e.Error.Code + " " + e.Error.Message
	}
	if !c.valid {
		return "" // refused or converted; checked on arrival
	}
	if direct.result == nil {
		if !strings.HasPrefix(refusal, "UPSTREAM_ERROR ") {
			return "a call without a result is answered with one"
		}
		if e := direct.failed; e != nil && (!strings.Contains(refusal, e.Message) || !strings.Contains(refusal, fmt.Sprint(e.Code))) {
			return "the error is not passed on"
		}
		return ""
	}
	if a, b := settle(direct.result), settle(asServer(c.server, through.result)); a != b {
		return "the results differ"
	}
	if !slices.Equal(direct.progress, through.progress) {
		return "progress differs"
	}
	return ""
}

// asServer replaces the clients' URIs in a result by the server's.
func asServer(server int, result json.RawMessage) json.RawMessage {
	name := fmt.Sprintf("srv%d/", server)
	return json.RawMessage(strings.NewReplacer(`"toolfold://upstream/`+name, `"`, `"ui://`+name, `"ui://`).Replace(string(result)))
}

// settle returns a result without the members of its connection.
func settle(result json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(result))
	dec.UseNumber()
	var members map[string]any
	if dec.Decode(&members) != nil {
		return string(result)
	}
	delete(members, "resultType")
	if meta, ok := members["_meta"].(map[string]any); ok {
		delete(meta, "io.modelcontextprotocol/serverInfo")
		if len(meta) == 0 {
			delete(members, "_meta")
		}
	}
	return string(ordered.MustJSON(members))
}

// wire is a client of one era over HTTP. It keeps answers unchanged.
type wire struct {
	url    string
	modern bool

	mu      sync.Mutex
	session string
}

// exchange holds the outcome of a call.
type exchange struct {
	result json.RawMessage // nil without a result
	failed *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
	err      error // set if there is no protocol answer
	progress []string
}

// String returns the exchange for test output.
func (e exchange) String() string {
	return fmt.Sprintf("%s %v %v %q", e.result, e.failed, e.err, e.progress)
}

// call calls a tool with arguments and a progress token.
func (w *wire) call(t *testing.T, tool, arguments string) exchange {
	t.Helper()
	return w.ask(t, "tools/call", `"name":`+quoted(tool)+`,"arguments":`+arguments, tool)
}

// ask makes a request with these members of params and a progress token. name is for the header
// Mcp-Name.
func (w *wire) ask(t *testing.T, method, members, name string) exchange {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit) // one of very many requests
	defer cancel()
	if err := w.begin(ctx); err != nil {
		t.Fatal(err)
	}
	e := exchange{}
	meta := `"_meta":{"progressToken":"p"}`
	if w.modern {
		meta = strings.Replace(mcptest.ModernMeta, `{`, `{"progressToken":"p",`, 1)
	}
	if members != "" {
		members += ","
	}
	e.err = w.post(ctx, method, `{`+members+meta+`}`, name, func(m message) {
		switch {
		case m.Method == "notifications/progress":
			var params map[string]json.RawMessage
			_ = json.Unmarshal(m.Params, &params)
			delete(params, "progressToken")
			e.progress = append(e.progress, canonical(ordered.MustJSON(params)))
		case m.Method == "" && m.Error != nil:
			e.failed = m.Error
		case m.Method == "" && bytes.HasPrefix(m.Result, []byte("{")):
			e.result = m.Result
		}
	})
	return e
}

// message is a message of the protocol.
type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// begin begins a session for a client of 2025-11-25.
func (w *wire) begin(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.modern || w.session != "" {
		return nil
	}
	params := `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`
	return w.post(ctx, "initialize", params, "", func(message) {})
}

// post sends a request, and takes the messages until its response ends.
func (w *wire) post(ctx context.Context, method, params, name string, take func(message)) error {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if w.modern {
		request.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		request.Header.Set("Mcp-Method", method)
		if name != "" {
			request.Header.Set("Mcp-Name", "=?base64?"+base64.StdEncoding.EncodeToString([]byte(name))+"?=")
		}
	} else if method != "initialize" {
		request.Header.Set("Mcp-Session-Id", w.session)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if method == "initialize" {
		w.session = response.Header.Get("Mcp-Session-Id")
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		text, err := io.ReadAll(response.Body)
		var m message
		if err == nil && json.Unmarshal(text, &m) != nil {
			err = fmt.Errorf("%d %s", response.StatusCode, text)
		}
		take(m)
		return err
	}
	answered := false
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var m message
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				return err
			}
			answered = answered || m.Method == ""
			take(m)
		}
	}
	if !answered {
		return errors.Join(errors.New("the stream ended"), lines.Err())
	}
	return nil
}
