package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// many is more than a page of notes.
const many = 120

// newOffering serves prompts, resources, and a tool that logs.
func newOffering(t *testing.T) *serve.Server {
	t.Helper()
	logging, err := toolfold.External{
		Name: "log", Description: "Log, then answer.", Effect: toolfold.Reads, Category: "elsewhere",
		Run: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			serve.Log(ctx).Debug("not wanted")
			serve.Log(ctx).With("n", 1).WithGroup("at").Info("the last words", "place", "end")
			return json.RawMessage(`{"answered":true}`), nil
		},
	}.Family()
	if err != nil {
		t.Fatal(err)
	}
	surface := surface.New(surface.Options{Log: quiet})
	if err := surface.Put(lazy.Mount(surface.Discovery), logging); err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Surface: surface, Log: quiet, Prompts: offeredPrompts, Resources: offeredResources})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func offeredPrompts(context.Context) ([]serve.Prompt, error) {
	greets := func(_ context.Context, arguments map[string]string) ([]serve.Message, error) {
		if arguments["who"] == "nobody" {
			return nil, toolfold.Errorf("NOBODY", "nobody is there").WithHint("greet somebody")
		}
		return []serve.Message{{Content: content.Text("Greet " + arguments["who"])}, {Role: "assistant", Content: content.Text("Hello.")}}, nil
	}
	names := func(_ context.Context, typed string, others map[string]string) (all []string, _ error) {
		for i := range many + 1 {
			all = append(all, fmt.Sprint(typed, others["how"], i))
		}
		return all, nil
	}
	return []serve.Prompt{
		{Name: "greet", Doc: "Greet somebody.", Get: greets, Arguments: []serve.Argument{
			{Name: "who", Doc: "Whom.", Required: true, Complete: names}, {Name: "how"},
		}},
		{Name: "broken", Get: func(context.Context, map[string]string) ([]serve.Message, error) {
			return nil, errors.New("secret of the server")
		}},
	}, nil
}

func offeredResources(context.Context) ([]serve.Resource, error) {
	return []serve.Resource{
		{URI: "note://readme", Name: "readme", MIME: "text/plain", Read: func(context.Context, serve.Location) (content.Data, error) {
			return content.Data{MIME: "text/plain", Text: "Read me."}, nil
		}},
		{URI: "note://image", Name: "image", Read: func(context.Context, serve.Location) (content.Data, error) {
			return content.Data{MIME: "image/png", Blob: []byte{1, 2, 3}}, nil
		}},
		{URI: "note://by-id/{id}", Name: "note", Doc: "A note.", Read: func(_ context.Context, at serve.Location) (content.Data, error) {
			if strings.HasPrefix(at.Values["id"], "no") {
				return content.Data{}, toolfold.Errorf("NOTE_NOT_FOUND", "there is no note %s", at.Values["id"])
			}
			return content.Data{Text: "Note " + at.Values["id"]}, nil
		}, List: func(context.Context) (all []content.Link, _ error) {
			for i := range many {
				all = append(all, content.Link{URI: fmt.Sprint("note://by-id/", i), Name: fmt.Sprint(i)})
			}
			return all, nil
		}},
	}, nil
}

// Prompts and resources are the same over both transports and in both eras, except the code of a
// missing resource and cache hints.
func TestOffers(t *testing.T) {
	t.Parallel()
	s := newOffering(t)
	old, now := mcptest.Connect(t, s), mcptest.Connect(t, s)
	old.Post(mcptest.Initialize)
	for _, test := range []struct {
		why, method, name, params string
		want                      string // %CODE% is the code of a missing resource
	}{
		{"list of prompts", "prompts/list", "", ``, `"prompts":[{"name":"greet","description":"Greet somebody.","arguments":` +
			`[{"name":"who","description":"Whom.","required":true},{"name":"how"}]},{"name":"broken"}]`},
		{"prompt", "prompts/get", "greet", `"name":"greet","arguments":{"who":"Ann"}`, `"description":"Greet somebody.","messages":` +
			`[{"role":"user","content":{"type":"text","text":"Greet Ann"}},{"role":"assistant","content":{"type":"text","text":"Hello."}}]`},
		{"prompt that fails", "prompts/get", "greet", `"name":"greet","arguments":{"who":"nobody"}`,
			`"code":-32602,"message":"nobody is there; greet somebody","data":{"code":"NOBODY"}`},
		{"prompt that breaks", "prompts/get", "broken", `"name":"broken"`, `"code":-32603,"message":"the server failed; its log has more"`},
		{"no prompt", "prompts/get", "nope", `"name":"nope"`, `"code":-32602,"message":"there is no prompt \"nope\": prompts/list has all"`},
		{"wrong arguments", "prompts/get", "greet", `"name":"greet","arguments":{"whom":"Ann"}`,
			`"code":-32602,"message":"prompt greet needs who and takes no whom; its arguments: who, how"`},
		{"arguments that are no texts", "prompts/get", "greet", `"name":"greet","arguments":{"who":1}`, `must be an object of texts`},
		{"text", "resources/read", "note://readme", `"uri":"note://readme"`,
			`"contents":[{"uri":"note://readme","mimeType":"text/plain","text":"Read me."}]`},
		{"bytes", "resources/read", "note://image", `"uri":"note://image"`,
			`"contents":[{"uri":"note://image","mimeType":"image/png","blob":"AQID"}]`},
		{"template", "resources/read", "note://by-id/a%20b", `"uri":"note://by-id/a%20b"`, `"text":"Note a b"`},
		{"nothing there", "resources/read", "note://by-id/no", `"uri":"note://by-id/no"`,
			`"code":%CODE%,"message":"note://by-id/no: there is no note no","data":{"uri":"note://by-id/no"}`},
		{"no resource", "resources/read", "note://nope/1", `"uri":"note://nope/1"`,
			`"code":%CODE%,"message":"note://nope/1: there is no such resource","data":{"uri":"note://nope/1"}`},
		{"no URI", "resources/read", "", `"uri":1`, `uri must be a text`},
		{"templates", "resources/templates/list", "", ``,
			`"resourceTemplates":[{"uriTemplate":"note://by-id/{id}","name":"note","description":"A note."}]`},
		{"completion", "completion/complete", "",
			`"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a"},"context":{"arguments":{"how":"b"}}`,
			`"completion":{"values":["ab0","ab1",`},
		{"long completion", "completion/complete", "", `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":""}`,
			`"98","99"],"total":121,"hasMore":true}`},
		{"nothing to complete", "completion/complete", "",
			`"ref":{"type":"ref/resource","uri":"note://by-id/{id}"},"argument":{"name":"id","value":""}`,
			`"completion":{"values":[],"total":0,"hasMore":false}`},
		{"no such argument", "completion/complete", "", `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"x","value":""}`,
			`"code":-32602,"message":"prompt greet takes no \"x\""`},
		{"no such variable", "completion/complete", "",
			`"ref":{"type":"ref/resource","uri":"note://by-id/{id}"},"argument":{"name":"x","value":""}`,
			`"code":-32602,"message":"note://by-id/{id} has no variable \"x\""`},
		{"a cursor of nothing", "prompts/list", "", `"cursor":"x"`, `"code":-32602,"message":"cursor is not one of prompts/list`},
	} {
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s}}`, test.method, test.params)
		oldWant := strings.ReplaceAll(test.want, "%CODE%", "-32002")
		if got := mcptest.Stdio(t, s, line)[0]; !strings.Contains(got, oldWant) {
			t.Errorf("%s on stdio:\n%s\nwant %s", test.why, got, oldWant)
		}
		if got, status := old.Post(line); !strings.Contains(got, oldWant) || status != http.StatusOK {
			t.Errorf("%s of 2025-11-25, %d:\n%s\nwant %s", test.why, status, got, oldWant)
		}
		params := strings.TrimPrefix(test.params+","+mcptest.ModernMeta, ",")
		line = fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s}}`, test.method, params)
		headers := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", test.method}
		if test.name != "" {
			headers = append(headers, "Mcp-Name", test.name)
		}
		got, status := now.Post(line, headers...)
		want := strings.ReplaceAll(test.want, "%CODE%", "-32602")
		if test.why == "no URI" { // the header is checked first
			want = `missing required header for method \"resources/read\"`
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s of 2026-07-28:\n%s\nwant %s", test.why, got, want)
		}
		mendable := strings.Contains(got, `"code":-3260`) && !strings.Contains(got, "-32603")
		if wrong := mendable || strings.Contains(got, "-32020"); wrong != (status == http.StatusBadRequest) {
			t.Errorf("%s of 2026-07-28 has the status %d: %s", test.why, status, got)
		}
		if test.name != "" {
			headers[len(headers)-1] = "another"
			if got, status := now.Post(line, headers...); status != http.StatusBadRequest || !strings.Contains(got, "-32020") {
				t.Errorf("%s under another name in the header is answered %d %s", test.why, status, got)
			}
		}
	}
}

// A list has pages, and every listed resource can be read.
func TestPagesOfResources(t *testing.T) {
	t.Parallel()
	client := mcptest.Connect(t, newOffering(t))
	client.Post(mcptest.Initialize)
	seen, cursor := map[string]bool{}, ""
	for pages := 1; ; pages++ {
		answer, _ := client.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":%q}}`, cursor))
		var list struct {
			Result struct {
				Resources  []struct{ URI, Name string }
				NextCursor string
			}
		}
		if err := json.Unmarshal([]byte(answer), &list); err != nil || len(list.Result.Resources) > 50 || pages > 3 {
			t.Fatalf("page %d: %v %s", pages, err, answer)
		}
		for _, x := range list.Result.Resources {
			seen[x.URI] = true
			got, _ := client.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":%q}}`, x.URI))
			if !strings.Contains(got, `"contents":[{"uri":"`+x.URI) {
				t.Errorf("%s is listed, but answered %s", x.URI, got)
			}
		}
		if cursor = list.Result.NextCursor; cursor == "" {
			break
		}
	}
	if len(seen) != many+2 {
		t.Errorf("%d resources were listed of %d", len(seen), many+2)
	}
}

// A server without prompts and resources does not announce them.
func TestNoOffers(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	answers := mcptest.Stdio(t, s, mcptest.Initialize,
		`{"jsonrpc":"2.0","id":2,"method":"prompts/list"}`, `{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"note://1"}}`)
	for _, word := range []string{`"prompts"`, `"resources"`, `"completions"`} {
		if strings.Contains(answers[0], word) {
			t.Errorf("%s is announced: %s", word, answers[0])
		}
	}
	for _, answer := range answers[1:] {
		if !strings.Contains(answer, "-32601") {
			t.Errorf("answered %s", answer)
		}
	}
}

// Log messages go out before the answer of their call, and only if the client asked for them.
func TestLogs(t *testing.T) {
	t.Parallel()
	const words = `"method":"notifications/message","params":{"level":"info","data":{"message":"the last words","n":1,"at.place":"end"}}`
	s := newOffering(t)
	old, now := mcptest.Connect(t, s), mcptest.Connect(t, s)
	old.Post(mcptest.Initialize)
	call := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"log","arguments":{}}}`
	setLevel := `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`
	check := func(where, got string) {
		t.Helper()
		before, after, found := strings.Cut(got, words)
		if !found || strings.Contains(before, `"id":5`) || !strings.Contains(after, `"id":5`) || strings.Contains(got, "not wanted") {
			t.Errorf("%s: %s", where, got)
		}
	}
	if got, _ := old.Post(call); strings.Contains(got, "the last words") {
		t.Errorf("a session that did not ask is sent %s", got)
	}
	old.Post(setLevel)
	modern := strings.Replace(call, `"params":{`, `"params":{`+strings.Replace(mcptest.ModernMeta, `"_meta":{`,
		`"_meta":{"io.modelcontextprotocol/logLevel":"info",`, 1)+`,`, 1)
	for range 100 {
		got, _ := old.Post(call)
		check("HTTP, 2025-11-25", got)
		got, _ = now.Post(modern, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "log")
		check("HTTP, 2026-07-28", got)
		var out strings.Builder
		lines := mcptest.Initialize + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + setLevel + "\n" + call + "\n"
		if err := s.Stdio(t.Context(), strings.NewReader(lines), &out); err != nil {
			t.Fatal(err)
		}
		check("stdio", out.String())
	}
}

// Clients are notified of a resource while they watch it.
func TestUpdated(t *testing.T) {
	t.Parallel()
	s := newOffering(t)
	in, write := io.Pipe()
	read, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.Stdio(t.Context(), in, out) }()
	lines := bufio.NewScanner(read)
	say := func(line string) string {
		t.Helper()
		if line != "" {
			if _, err := io.WriteString(write, line+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		lines.Scan()
		return lines.Text()
	}
	subscription := func(method, uri string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"resources/%s","params":{"uri":%q}}`, method, uri)
	}
	say(mcptest.Initialize)
	if _, err := io.WriteString(write, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if got := say(subscription("subscribe", "note://nope/1")); !strings.Contains(got, "-32002") {
		t.Errorf("watching nothing is answered %s", got)
	}
	if got := say(subscription("subscribe", "note://by-id/1")); !strings.Contains(got, `"result":{}`) {
		t.Errorf("watching is answered %s", got)
	}
	s.Updated("note://by-id/2")
	s.Updated("note://by-id/1")
	if got := say(""); !strings.Contains(got, `"method":"notifications/resources/updated"`) || !strings.Contains(got, `note://by-id/1`) {
		t.Errorf("the client is told %s", got)
	}
	say(subscription("unsubscribe", "note://by-id/1"))
	s.Updated("note://by-id/1")
	if got := say(`{"jsonrpc":"2.0","id":9,"method":"ping"}`); !strings.Contains(got, `"id":9`) {
		t.Errorf("after the end of the watch the client is told %s", got)
	}
	write.Close()
	mcptest.Ends(t, "stdio", done)
}

// The same for a stream of 2026-07-28.
func TestUpdatedStream(t *testing.T) {
	t.Parallel()
	s := newOffering(t)
	client := mcptest.Connect(t, s)
	ctx := testwait.Context(t)
	body := `{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{` + mcptest.ModernMeta +
		`,"notifications":{"promptsListChanged":true,"resourceSubscriptions":["note://by-id/1"]}}}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, client.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header.Get("X-Accel-Buffering"); got != "no" {
		t.Errorf("the stream lets proxies hold events back: %q", got)
	}
	events := bufio.NewScanner(response.Body)
	next := func() string {
		for events.Scan() {
			if data, ok := strings.CutPrefix(events.Text(), "data: "); ok {
				return data
			}
		}
		return fmt.Sprint("no more events: ", events.Err())
	}
	if got := next(); !strings.Contains(got, "acknowledged") {
		t.Fatalf("the stream begins with %s", got)
	}
	s.ResourcesChanged() // not subscribed
	s.Updated("note://by-id/1")
	if got := next(); !strings.Contains(got, "resources/updated") || !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":4`) {
		t.Errorf("the stream goes on with %s", got)
	}
	s.PromptsChanged()
	if got := next(); !strings.Contains(got, "prompts/list_changed") {
		t.Errorf("the stream goes on with %s", got)
	}
	if got, status := client.Modern("5", "resources/subscribe", `"uri":"note://by-id/1",`); status != http.StatusNotFound {
		t.Errorf("the method of before is answered %d %s", status, got)
	}
}

// A panic of a handler is answered as an error of its request, also for clients that can be asked,
// and the server goes on.
func TestBrokenHandlers(t *testing.T) {
	t.Parallel()
	var nothing map[string]string
	s, err := serve.New(serve.Options{
		Surface: surface.New(surface.Options{Log: quiet}), Log: quiet,
		Prompts: func(context.Context) ([]serve.Prompt, error) {
			return []serve.Prompt{{Name: "broken", Get: func(context.Context, map[string]string) ([]serve.Message, error) {
				nothing["x"] = "y"
				return nil, nil
			}}}, nil
		},
		Resources: func(context.Context) ([]serve.Resource, error) {
			return []serve.Resource{{URI: "note://broken", Read: func(context.Context, serve.Location) (content.Data, error) {
				panic("no such page")
			}}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	asking := strings.Replace(mcptest.ModernMeta, `Capabilities":{}`, `Capabilities":{"roots":{},"elicitation":{},"sampling":{}}`, 1)
	for _, meta := range []string{mcptest.ModernMeta, asking} {
		for _, answer := range mcptest.Stdio(t, s,
			`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"broken",`+meta+`}}`,
			`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"note://broken",`+meta+`}}`,
		) {
			if !strings.Contains(answer, `"code":-32603,"message":"the server failed; its log has more"`) {
				t.Errorf("answered %s", answer)
			}
		}
	}
}

// A stream for too many resources is rejected, not shortened.
func TestTooManyWatched(t *testing.T) {
	t.Parallel()
	uris := make([]string, 1001)
	for i := range uris {
		uris[i] = fmt.Sprint("note://by-id/", i)
	}
	list, _ := json.Marshal(uris)
	client := mcptest.Connect(t, newOffering(t))
	answer, status := client.Modern("1", "subscriptions/listen", `"notifications":{"resourceSubscriptions":`+string(list)+`},`)
	if status != http.StatusBadRequest || !strings.Contains(answer, `"code":-32602`) || !strings.Contains(answer, "more than 1000 URIs") {
		t.Errorf("answered %d %.300s", status, answer)
	}
}
