package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// noteSession is a session that records its calls.
type noteSession chan upstream.Call

func (noteSession) List(context.Context) (upstream.Answer, error) {
	return upstream.Answer{Tools: []json.RawMessage{json.RawMessage(`{"name":"do","inputSchema":{"type":"object"}}`)}}, nil
}

func (n noteSession) Call(_ context.Context, c upstream.Call) (json.RawMessage, error) {
	n <- c
	if string(c.Capabilities) == `{"elicitation":{"form":{},"url":{}}}` {
		return nil, &upstream.ProtocolError{Code: -32021, Message: "it takes a model", Lacking: "sampling"}
	}
	return json.RawMessage(`{"content":[]}`), nil
}

func (noteSession) Watch(context.Context, string, bool) error { return nil }

func (noteSession) Gone() <-chan struct{} { return nil }

func (noteSession) Close() {}

// A call carries the capabilities of its own client, or none without a client.
func TestCapabilitiesOfCalls(t *testing.T) {
	t.Parallel()
	calls := make(noteSession, 1)
	g, err := gateway.New(gateway.Options{
		Upstreams: []gateway.Upstream{{Name: "srv"}},
		Connect:   func(context.Context, gateway.Upstream, upstream.Client) (gateway.Session, error) { return calls, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := surface.New(surface.Options{})
	if err := s.Put(g.Families()...); err != nil {
		t.Fatal(err)
	}
	notice := func() string {
		select {
		case c := <-calls:
			return string(c.Capabilities)
		default:
			return "nothing was called"
		}
	}
	with := callctx.WithClient(t.Context(), person{})
	for want, ctx := range map[string]context.Context{
		`{}`: t.Context(),
		`{"sampling":{"tools":{}},"elicitation":{"form":{}}}`: with,
		`{"sampling":{"tools":{}}}`:                           callctx.WithoutUser(with),
	} {
		answer := s.Client.Call(ctx, "srv.do", nil)
		if got := notice(); got != want {
			t.Errorf("told of %s, want %s (%s)", got, want, answer.Content)
		}
	}
	for _, test := range []struct{ revision, declared, want string }{
		{"2025-11-25", `{}`, `{}`},
		{"2025-11-25", `{"roots":{"listChanged":true},"sampling":{},"elicitation":{},"experimental":{"x":{}}}`,
			`{"roots":{},"sampling":{},"elicitation":{}}`},
		{"2026-07-28", `{"sampling":{"tools":{}},"elicitation":{"url":{}},"extensions":{"x/y":{}}}`, `{"sampling":{"tools":{}}}`},
		{"2026-07-28", `{"elicitation":{"form":{},"url":{}}}`, `{"elicitation":{"form":{},"url":{}}}`},
	} {
		server, err := serve.New(serve.Options{Surface: s})
		if err != nil {
			t.Fatal(err)
		}
		lines := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + test.declared +
			`,"clientInfo":{"name":"t","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"srv.do"}}` + "\n"
		if test.revision == "2026-07-28" {
			const meta = "io.modelcontextprotocol/"
			lines = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"srv.do","_meta":{"` + meta + `protocolVersion":"2026-07-28","` +
				meta + `clientInfo":{"name":"t","version":"1"},"` + meta + `clientCapabilities":` + test.declared + `}}}` + "\n"
		}
		out := &bytes.Buffer{}
		if err := server.Stdio(t.Context(), strings.NewReader(lines), out); err != nil {
			t.Fatal(err)
		}
		if got := notice(); got != test.want {
			t.Errorf("a client of %s that declares %s: told of %s, want %s\n%s", test.revision, test.declared, got, test.want, out)
		}
		const lacks = `"code":-32021,"message":"do: the server srv refused the call: it takes a model (-32021)",` +
			`"data":{"requiredCapabilities":{"sampling":{}}}`
		if refused := strings.Contains(test.declared, "form"); strings.Contains(out.String(), lacks) != refused {
			t.Errorf("a client of %s that declares %s is answered %s", test.revision, test.declared, out)
		}
	}
}
