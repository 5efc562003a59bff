package serve_test

import (
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
)

// An answer has structured content only if the server or the call asks for it. Only then a
// definition has an output schema.
func TestStructuredContent(t *testing.T) {
	t.Parallel()
	_, families := newServer(t, lazy.Lazy)
	for _, test := range []struct {
		server bool
		meta   string
		twice  bool
	}{
		{false, ``, false},
		{false, `,"_meta":{"toolfold/structured":true}`, true},
		{false, `,"_meta":{"toolfold/structured":false}`, false},
		{true, ``, true},
		{true, `,"_meta":{"toolfold/structured":false}`, false},
	} {
		s, err := serve.New(serve.Options{Version: "test", Surface: families, Log: quiet, Structured: test.server})
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []struct{ method, params, part string }{
			{"tools/call", `"name":"echo","arguments":{"text":"hi"}`, `"structuredContent":{"text":"hi"}`},
			{"tools/call", `"name":"echo","arguments":{"txet":"hi"}`, `"structuredContent":{"error"`},
			{"tools/describe", `"tool_name":"tools.find"`, `"outputSchema":{`},
			{"tools/describe_batch", `"tool_names":["tools.find"]`, `"outputSchema":{`},
		} {
			answer := mcptest.Stdio(t, s, `{"jsonrpc":"2.0","id":1,"method":"`+call.method+`","params":{`+call.params+test.meta+`}}`)[0]
			if strings.Contains(answer, call.part) != test.twice {
				t.Errorf("server %t, %s %s%s answered %s", test.server, call.method, call.params, test.meta, answer)
			}
		}
		if list := mcptest.Stdio(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)[0]; strings.Contains(list, "outputSchema") {
			t.Errorf("the list has an output schema: %s", list)
		}
	}
}

func TestStructuredMustBeABoolean(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	for _, call := range []string{`"method":"tools/call","params":{"name":"echo",`,
		`"method":"tools/describe","params":{"tool_name":"echo",`} {
		answer := mcptest.Stdio(t, s, `{"jsonrpc":"2.0","id":1,`+call+`"_meta":{"toolfold/structured":"yes"}}}`)[0]
		if !strings.Contains(answer, "toolfold/structured must be true or false") {
			t.Errorf("%s answered %s", call, answer)
		}
	}
}
