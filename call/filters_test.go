package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/surface"
)

// The answer is the output of the filter. A warning reports an empty output, a failed filter, and a
// further page.
func TestFilters(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{ResultLimit: 12_000})
	for i := range 30 {
		entry := fmt.Sprintf(`{"key":"k%02d","value":{"n":%d,"text":%q}}`, i, i, workbench.LongText(i, 3000))
		b.Runner.Call(t.Context(), "memory.store", json.RawMessage(entry))
	}
	for _, test := range []struct{ name, args, want string }{
		{"memory.get", `{"key":"k03","jq":".value.n"}`, `{"result":3}`},
		{"memory.get", `{"key":"k03","jq":".value | {n}"}`, `{"n":3}`},
		{"memory.get", `{"key":"k03","jq":""}`, workbench.LongText(3, 3)},
		{"memory.get", `{"key":"k03","jq":".value.n, .found"}`, `{"results":[3,true]}`},
		{"memory.get", `{"key":"k03","include_fields":["value.n"],"jq":"."}`, `{"value":{"n":3}}`},
		{"memory.get", `{"key":"k03","jq":".vlaue"}`, `{"result":null,"warnings":["jq made nothing of it: the result has `},
		{"memory.get", `{"key":"k03","jq":".value[] | .n"}`, `jq: expected an object but got: number (3); the result has `},
		{"memory.get", `{"key":"k03","jq":7}`, `"path":"/jq"`},
		{"memory.get", `{"params":{"key":"k03","jq":".value.n"}}`, `{"result":3}`},
		{"tool_call", `{"name":"memory.get","arguments":{"key":"k03"},"jq":".value.n"}`, `{"result":3}`},
		{"tool_call", `{"name":"memory.get","arguments":{"key":"k03","jq":".value.n"},"jq":".found"}`, `{"result":3}`},
		{"memory.export", `{"prefix":"k","jq":"[.data[].value.n] | add"}`, `{"result":435}`}, // longer than the limit of an answer
		{"memory.list", `{"prefix":"k","limit":4,"jq":".keys | length"}`, `{"result":4,"warnings":["jq read one page; cursor `},
		{"memory.list", `{"prefix":"k","limit":4,"include_fields":["keys.key"],"jq":".keys | length"}`, `["jq read one page; cursor `},
		{"memory.export", `{"prefix":"k","jq":".data"}`, `have jq make less; or tool_call with saveTo writes it whole to a file"]}`},
		{"memory.store", `{"key":"new","value":1,"jq":".key[]"}`, `"warnings":["it was done, and this is the whole result: jq failed: `},
		{"memory.get", `{"key":"new","jq":".value"}`, `{"result":1}`},
		{"memory.get", `{"key":"k03","jql":".value"}`, `did you mean \"jq\"?`},
	} {
		answer := b.Client.Call(t.Context(), test.name, json.RawMessage(test.args))
		if got := string(answer.Content); !strings.Contains(got, test.want) || len(got) > 12_000 {
			t.Errorf("%s %s answers %.500s, want %s", test.name, test.args, got, test.want)
		}
	}
}

// If the filters of a caller use all turns that it may have, a further filter fails with the
// reason.
func TestFilterWithoutTurn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits as long as a filter does for its turn")
	}
	b := workbench.New(t, surface.Options{})
	ctx, cancel := context.WithCancel(callctx.With(t.Context(), toolfold.Origin{Token: "busy"}))
	defer cancel()
	const calls = 6 // two run, then two more; the others wait too long
	answers := make(chan toolfold.Answer, calls)
	for range calls {
		go func() {
			answers <- b.Runner.Call(ctx, "memory.get", json.RawMessage(`{"key":"k","jq":"last(range(1e12))"}`))
		}()
	}
	refused := false
	for range calls {
		answer := <-answers
		if answer.Err == nil {
			t.Fatalf("it is answered %s", answer.Content)
		}
		if strings.Contains(answer.Err.Message, "kept it waiting for 5s") {
			refused = true
			if answer.Err.Code != toolfold.TimedOut || !strings.Contains(answer.Err.Hint, "call again") {
				t.Errorf("it is answered %s", answer.Content)
			}
			cancel()
		}
	}
	if !refused {
		t.Error("every filter got a turn")
	}
}
