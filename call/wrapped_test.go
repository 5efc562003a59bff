package call_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/surface"
)

// A tool with parameters named action or params can be called in the listed form, in the flat form,
// and as its usage shows.
func TestParametersNamedAsTheForm(t *testing.T) {
	t.Parallel()
	var arrived string
	run := func(_ context.Context, args json.RawMessage) (json.RawMessage, error) {
		arrived = string(args)
		return json.RawMessage(`{}`), nil
	}
	action := func(name, schema string) *toolfold.Action {
		a, err := toolfold.External{Name: name, Description: "X.", Category: "c", Lenient: true, InputSchema: json.RawMessage(schema),
			Definition: json.RawMessage(`{"name":"x"}`), Run: run}.Action()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	family, err := toolfold.Mount(toolfold.Family{Name: "c", Summary: "Hooks", Category: "c", Tier: toolfold.Extended, Apiece: true,
		Actions: []*toolfold.Action{
			action("set", `{"type":"object","properties":{"action":{"type":"string"},"params":{"type":"object"}},"required":["action"]}`),
			action("run", `{"type":"object","properties":{"params":{"type":"object"},"name":{"type":"string"}},"required":["params"]}`),
			action("get", `{"type":"object","properties":{"id":{"type":"string"}}}`),
		}}, func(context.Context) (toolfold.External, error) { return toolfold.External{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	s := surface.New(surface.Options{})
	if err := s.Put(family); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{`{"action":"set","params":{"action":"off","params":{}}}`, `{"action":"off","params":{}}`},
		{`{"action":"set","params":{"action":"off","params":{"x":1}}}`, `{"action":"off","params":{"x":1}}`},
		{`{"action":"set","params":{"action":"off"}}`, `{"action":"off"}`},
		{`{"action":"set","params":"{\"action\":\"off\",\"params\":{\"action\":\"a\"}}"}`, `{"action":"off","params":{"action":"a"}}`},
		{`{"action":"run","params":{"params":{"x":1},"name":"n"}}`, `{"params":{"x":1},"name":"n"}`},
		{`{"action":"run","params":{"params":{}}}`, `{"params":{}}`},
		{`{"action":"run","params":{"x":1},"name":"n"}`, `{"params":{"x":1},"name":"n"}`},
		{`{"action":"run","params":{"x":1}}`, `{"params":{"x":1}}`},
		{`{"action":"run","params":{}}`, `{"params":{}}`},
		{`{"action":"get","params":{"id":"i"}}`, `{"id":"i"}`},
	} {
		arrived = ""
		answer := s.Client.Call(t.Context(), "c", json.RawMessage(c.args))
		if canonical(t, arrived) != canonical(t, c.want) {
			t.Errorf("%s arrives as %s, want %s: %s", c.args, arrived, c.want, answer.Content)
		}
	}
	answer := s.Client.Call(t.Context(), "c", json.RawMessage(`{"action":"set","params":{}}`))
	if text := string(answer.Content); !strings.Contains(text, `c(action: 'set', params: {action: string, params?: object})`) {
		t.Errorf("a refusal: %s", text)
	}
}

func canonical(t *testing.T, text string) string {
	t.Helper()
	var v any
	if text != "" {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	out, _ := json.Marshal(v)
	return string(out)
}
