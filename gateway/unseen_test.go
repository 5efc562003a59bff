package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/unseen"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// hiddenSchema has an escape, and a name and values with invisible characters; two more only look like
// these.
const hiddenSchema = `{"type":"object","title":"T\u001b[2J","properties":{` +
	`"to\u202e":{"type":"string","description":"Wh\u200bom ❤️ to\u001b]52;c;x\u0007."},` +
	`"mode":{"enum":["fa\u2066st","slow\udb40\udd00","fa\\u2066st"]},` +
	`"deep":{"type":"object","properties":{"in\u3164":{"type":"number"}},"required":["in\u3164"]},` +
	`"ref":{"$ref":"#/$defs/k%E2%80%8Bind"},"raw":{"$ref":"#/$defs/k\u200bind"}},"required":["to\u202e"],"additionalProperties":false,` +
	`"$defs":{"k\u200bind":{"enum":["r\u200bed","blue"]}}}`

// hiddenTools returns enough tools for a family, and one more.
func hiddenTools() string {
	var tools []string
	for _, name := range []string{"note_add", "note_get", "note_list", "note_drop", "paint", "ho\\u200bist"} {
		tools = append(tools, fmt.Sprintf(`{"name":"%s","title":"Ti\u202etle\u001b[1m","description":"Do\udb40\udc41es\u001b[2J it ❤️. %s",`+
			`"inputSchema":%s,"outputSchema":{"type":"object","properties":{"o\u200but":{"type":"string"}}},`+
			`"annotations":{"title":"An\u2066no","readOnlyHint":true}}`, name, long, hiddenSchema))
	}
	return `{"tools":[` + strings.Join(tools, ",") + `]}`
}

// invisibleStrings returns the strings in a JSON value, including names, that contain invisible characters.
func invisibleStrings(value any) (found []string) {
	switch v := value.(type) {
	case string:
		if unseen.Escaped(strings.ReplaceAll(v, "\n", "")) != strings.ReplaceAll(v, "\n", "") {
			found = append(found, v)
		}
	case []any:
		for _, inner := range v {
			found = append(found, invisibleStrings(inner)...)
		}
	case map[string]any:
		for name, inner := range v {
			found = append(append(found, invisibleStrings(name)...), invisibleStrings(inner)...)
		}
	}
	return found
}

// No list and no description of a tool contains invisible characters, except in its original schema.
func TestListsHaveNoInvisibleCharacters(t *testing.T) {
	t.Parallel()
	u, _ := playedServer(t, "srv", hiddenTools())
	dir := t.TempDir()
	seen := func(what string, text []byte) {
		t.Helper()
		for _, text := range invisibleStrings(decoded(t, text)) {
			t.Errorf("%s has %+q", what, text)
		}
	}
	for _, o := range []surface.Options{
		{}, {Level: lazy.Signature}, {Level: lazy.Full}, {Level: lazy.Search}, {Mode: surface.Legacy}, {Mode: surface.Legacy, Level: lazy.Lazy},
		{Fold: consolidate.None}, {Fold: consolidate.None, Level: lazy.Signature}, {Fold: consolidate.None, Level: lazy.Full, Structured: true},
		{Mode: surface.Legacy, Structured: true},
	} {
		what := fmt.Sprintf("%s %s %s", o.Mode, o.Level, o.Fold)
		s, g := offering(t, dir, o, u)
		if err := s.Put(append(g.Families(), lazy.Mount(s.Discovery))...); err != nil {
			t.Fatal(err)
		}
		server, err := serve.New(serve.Options{
			Version: "1", Surface: s, SearchHints: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, params := range []string{`{}`, `{"lazy":true}`, `{"lazy":false}`} {
			list := mcptest.Stdio(t, server, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`+params+`}`)[0]
			if seen(what+" "+params, []byte(list)); o.Fold == consolidate.None && params == `{}` && !strings.Contains(list, `"title":"Title [1m"`) {
				t.Errorf("%s lists no title: %s", what, list)
			}
			if o.Fold == consolidate.None && o.Level == lazy.Full && params == `{}` && !strings.Contains(list, `Whom ❤️ to ]52;c;x .`) {
				t.Errorf("%s: %s", what, list)
			}
		}
		for _, args := range []string{
			`{"action":"list"}`, `{"action":"find","query":"note add"}`, `{"action":"find","query":"paint"}`,
			`{"action":"describe","name":"paint"}`, `{"action":"describe","name":"srv.note_add"}`,
		} {
			answer := s.Client.Call(t.Context(), "tools", json.RawMessage(args))
			if answer.Err != nil {
				t.Errorf("%s: %s: %v", what, args, answer.Err)
			}
			seen(what+" "+args, answer.Content)
		}
		for _, f := range g.Families() {
			for _, a := range f.Actions {
				definition, failed := s.Discovery.View(t.Context()).Define(a.FullName(), true)
				if failed != nil {
					t.Fatal(failed)
				}
				seen(what+" definition", definition)
			}
		}
		g.Close()
	}
}

// Calls may use the listed or the server's spelling of a name or value; the server gets its own. The
// described schema is unchanged.
func TestBothSpellings(t *testing.T) {
	t.Parallel()
	u, _ := playedServer(t, "srv", hiddenTools())
	s, g := offering(t, t.TempDir(), surface.Options{}, u)
	const came = `{"to\u202e":"x","mode":"fa\u2066st","deep":{"in\u3164":1.50},"ref":"r\u200bed","raw":"r\u200bed"}`
	for _, c := range []struct{ args, want string }{
		{came, came},
		{`{"to\\u202e":"x","mode":"\\fa\\u2066st","deep":{"in\\u3164":1.50},"ref":"r\\u200bed","raw":"r\\u200bed"}`, came},
		{`{"params":{"to\\u202e":"x","mode":"slow\\U000e0100"}}`, `{"to\u202e":"x","mode":"slow\udb40\udd00"}`},
		{`{"to\\u202e":"x","mode":"fa\\u2066st"}`, `{"to\u202e":"x","mode":"fa\\u2066st"}`},
		{`{"to\u202e":"to\\u202e or so \u202e"}`, `{"to\u202e":"to\\u202e or so \u202e"}`},
	} {
		for _, name := range []string{"srv.paint", "srv.note_add"} {
			answer := s.Client.Call(t.Context(), name, json.RawMessage(c.args))
			var reply struct {
				StructuredContent struct{ Got json.RawMessage }
			}
			if answer.Err != nil || json.Unmarshal(answer.Reply, &reply) != nil {
				t.Errorf("%s %s: %s", name, c.args, answer.Content)
				continue
			}
			if got, want := decoded(t, reply.StructuredContent.Got), decoded(t, []byte(c.want)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s %s sends %+q, want %+q", name, c.args, got, want)
			}
		}
	}
	for args, want := range map[string]string{
		`{"to\u202e":"x","to\\u202e":"y"}`:                      "twice",
		`{"to\\u202e":"x","deep":{"in\u3164":1,"in\\u3164":2}}`: "twice",
		`{"mode":"slow\\U000e0100"}`:                            `to\\u202e`,
		`{"to\\u202e":"x","mode":"no"}`:                         `slow\\U000e0100`,
		`{"to\\u202e":"x","raw":"green"}`:                       `r\\u200bed`,
		`{"to\\u202e":"x","ref":"green"}`:                       `r\\u200bed`,
		`{"to\\u202e":"x","deep":{}}`:                           `in\\u3164`,
	} {
		answer := s.Client.Call(t.Context(), "srv.paint", json.RawMessage(args))
		if answer.Err == nil || !strings.Contains(string(answer.Content), want) {
			t.Errorf("%s is answered with %s, which has no %s", args, answer.Content, want)
		}
	}
	for _, f := range g.Families() {
		for _, a := range f.Actions {
			described, failed := s.Discovery.View(t.Context()).Describe(a.Aliases[0], lazy.Account{Schema: true})
			if failed != nil {
				t.Fatal(failed)
			}
			if len(f.Actions) == 1 && !strings.Contains(string(described), hiddenSchema) {
				t.Errorf("%s is described as %s", a.FullName(), described)
			}
		}
	}
}

// Prompts, resources and templates are listed like tools.
func TestOffersAreSeen(t *testing.T) {
	t.Parallel()
	const texts = `"title":"T\u202ei\u001b[1m","description":"D\udb40\udc41 ❤️\u200b"`
	u, _ := playedServer(t, "srv", `{"tools":[],"prompts":[{"name":"p",`+texts+`,"arguments":[{"name":"a",`+texts+`}]}],`+
		`"resources":[{"uri":"note://1","name":"n\u2066o",`+texts+`}],`+
		`"resourceTemplates":[{"uriTemplate":"note://{id}","name":"n\u2066o",`+texts+`}]}`)
	_, g := offering(t, t.TempDir(), surface.Options{}, u)
	for what, list := range map[string][]json.RawMessage{
		"prompts": g.Prompts(t.Context()), "resources": g.Resources(t.Context()), "templates": g.Templates(t.Context()),
	} {
		if len(list) != 1 {
			t.Fatalf("%d %s", len(list), what)
		}
		if found := invisibleStrings(decoded(t, list[0])); len(found) > 0 ||
			!strings.Contains(string(list[0]), `"title":"Ti [1m","description":"D ❤️"`) {
			t.Errorf("%s are listed as %s, with %+q", what, list[0], found)
		}
	}
}

// fixedSession is a session that always lists the same, and keeps the last request.
type fixedSession struct {
	list upstream.Answer
	last upstream.Call
}

// List implements [gateway.Session].
func (f *fixedSession) List(context.Context) (upstream.Answer, error) { return f.list, nil }

// Call implements [gateway.Session].
func (f *fixedSession) Call(_ context.Context, c upstream.Call) (json.RawMessage, error) {
	f.last = c
	return json.RawMessage(`{}`), nil
}

// Watch implements [gateway.Session].
func (*fixedSession) Watch(context.Context, string, bool) error { return nil }

// Gone implements [gateway.Session].
func (*fixedSession) Gone() <-chan struct{} { return nil }

// Close implements [gateway.Session].
func (*fixedSession) Close() {}

// gateway returns a gateway to the server, named srv, with its list.
func (f *fixedSession) gateway(t *testing.T, dir string) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(gateway.Options{
		Dir: dir, Upstreams: []gateway.Upstream{{Name: "srv", Server: upstream.Server{Argv: []string{"srv"}}}},
		Connect: func(context.Context, gateway.Upstream, upstream.Client) (gateway.Session, error) { return f, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := g.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

// Names of prompts' arguments are listed escaped, and reach the server in its own spelling.
func TestPromptArgumentsAreSeen(t *testing.T) {
	t.Parallel()
	f := &fixedSession{list: upstream.Answer{Tools: []json.RawMessage{}, Prompts: []json.RawMessage{
		json.RawMessage(`{"name":"p","arguments":[{"name":"to\u202e","required":true},{"name":"b"}]}`)}}}
	g := f.gateway(t, "")
	list := g.Prompts(t.Context())
	if len(list) != 1 || len(invisibleStrings(decoded(t, list[0]))) > 0 {
		t.Fatalf("prompts are listed as %s", list)
	}
	var prompt struct{ Arguments []struct{ Name string } }
	if err := json.Unmarshal(list[0], &prompt); err != nil || len(prompt.Arguments) != 2 || prompt.Arguments[1].Name != "b" {
		t.Fatalf("%v: prompts are listed as %s", err, list)
	}
	shown := ordered.MustJSON(prompt.Arguments[0].Name)
	gets := func(want string, _ json.RawMessage, err error) {
		t.Helper()
		if got := string(f.last.Params); err != nil || !strings.Contains(got, want) {
			t.Errorf("%v: the server gets %+q, want %+q", err, got, want)
		}
	}
	result, err := g.GetPrompt(t.Context(), "srv-p", fmt.Appendf(nil, `{%s:%[1]s,"b":"x"}`, shown))
	gets(fmt.Sprintf(`"arguments":{"to%c":%s,"b":"x"}`, 0x202e, shown), result, err)
	result, err = g.Complete(t.Context(), fmt.Appendf(nil, `{"ref":{"type":"ref/prompt","name":"srv-p"},"argument":{"name":%s,"value":"x"}}`,
		shown))
	gets(fmt.Sprintf(`"argument":{"name":"to%c","value":"x"}`, 0x202e), result, err)
}

// A tool whose schema is listed without parameters is reported to the user.
func TestBareSchemasAreReported(t *testing.T) {
	t.Parallel()
	f := &fixedSession{list: upstream.Answer{Tools: []json.RawMessage{
		json.RawMessage(`{"name":"fine","inputSchema":{"type":"object","properties":{"a":{"type":"int"}}}}`),
		json.RawMessage(`{"name":"odd","inputSchema":{"type":"object","properties":{"a":{"$dynamicRef":"http://x.test/y"}}}}`),
	}}}
	if text := f.gateway(t, "").Trouble()["srv"]; text != "schemas that no client takes are listed without parameters: odd" {
		t.Errorf("it is said: %q", text)
	}
}

// decoded returns a JSON value with unchanged numbers.
func decoded(t *testing.T, text []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
