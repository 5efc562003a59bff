package served_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/text/tokens"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
)

// desk is the family of another server with one tool, which gives the result and counts its calls.
type desk struct {
	result string
	effect toolfold.Effect
	before func(ctx context.Context) error // of each call; nil = nothing

	mu    sync.Mutex
	calls int
}

func (d *desk) family(t *testing.T) *toolfold.Family {
	t.Helper()
	action, err := toolfold.External{
		Name: "look", Description: "Look.", InputSchema: json.RawMessage(`{"type":"object"}`), Effect: d.effect,
		Relay: func(ctx context.Context, _ json.RawMessage) (toolfold.Reply, error) {
			d.mu.Lock()
			d.calls++
			d.mu.Unlock()
			if d.before != nil {
				if err := d.before(ctx); err != nil {
					return toolfold.Reply{}, err
				}
			}
			return toolfold.Reply{Result: json.RawMessage(d.result)}, nil
		},
	}.Action()
	if err != nil {
		t.Fatal(err)
	}
	family, err := toolfold.Mount(toolfold.Family{
		Name: "desk", Summary: "A desk.", Server: "desk", Category: "c", Apiece: true, Actions: []*toolfold.Action{action},
	}, func(context.Context) (any, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	return family
}

func saves(name, arguments, path string) string {
	text, _ := json.Marshal(map[string]any{"name": name, "arguments": json.RawMessage(arguments), "saveTo": path})
	return string(text)
}

func (m machine) file(path string) string {
	m.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, filepath.FromSlash(path)))
	if err != nil {
		m.Fatal(err)
	}
	return string(text)
}

// files lists the files and folders of the workspace, without its settings.
func (m machine) files() (names []string) {
	m.Helper()
	err := filepath.WalkDir(m.dir, func(path string, e os.DirEntry, err error) error {
		switch name, _ := filepath.Rel(m.dir, path); {
		case err != nil:
			return err
		case name == ".toolfold":
			return filepath.SkipDir
		case name != "." && name != "config.json":
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		m.Fatal(err)
	}
	return names
}

// A result is a file with all pages of a list, and the answer is short.
func TestSaveTo(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "memory:", permission.Rules{}, 0)
	const notes = 230 // three pages of a list
	for i := range notes {
		m.does("memory", fmt.Sprintf(`{"action":"store","key":"k%04d","value":{"n":%d}}`, i, i))
	}
	for _, c := range []struct {
		name, arguments string
		list            string
		entries         int
		more            string // nextCursor of the file
	}{
		{"memory.list", `{}`, "keys", notes, "<nil>"},
		{"memory.export", `{}`, "data", notes, "<nil>"},
		{"memory.export", `{"limit":100}`, "data", 100, "more"},
		{"memory_list", `{"limit":7}`, "keys", 7, "more"},
		{"memory.list", `{"prefix":"k01","include_fields":["keys.key"]}`, "keys", 100, "<nil>"},
		{"memory.list", `{"prefix":"k","jq":"{keys: [.keys[] | select(.key > \"k0199\")]}"}`, "keys", 30, "<nil>"},
	} {
		path := fmt.Sprintf("out/%d.json", len(m.files()))
		answer := m.does("tool_call", saves(c.name, c.arguments, path))
		text := m.file(path)
		var file map[string]any
		if err := json.Unmarshal([]byte(text), &file); err != nil {
			t.Fatal(err)
		}
		list, _ := file[c.list].([]any)
		next := fmt.Sprint(file["nextCursor"])
		if c.more == "more" && len(next) > 5 {
			next = c.more
		}
		if len(list) != c.entries || next != c.more || answer["path"] != path || answer["bytes"] != float64(len(text)) ||
			answer["mimeType"] != "application/json" || !strings.HasPrefix(fmt.Sprint(answer["head"]), "{ ") {
			t.Errorf("%s %s: %d entries, next %s, %v", c.name, c.arguments, len(list), next, answer)
		}
		if lines := strings.Count(text, "\n"); lines < c.entries {
			t.Errorf("%s %s: %d lines", c.name, c.arguments, lines)
		}
		if count, has := file["count"]; has && count != float64(c.entries) {
			t.Errorf("%s counts %v", c.name, count)
		}
	}
	if info, err := os.Stat(filepath.Join(m.dir, "out", "0.json")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	answer := m.does("tool_call", saves("memory.list", `{}`, "list.json"))
	if answer["items"] != float64(notes) {
		t.Error(answer)
	}
}

// Results of other servers are files of the kind that they are.
func TestSaveToOfServers(t *testing.T) {
	t.Parallel()
	const picture, mime = "\x89PNG\r\n\x1a\n\x00\xff", `"mimeType":"image/png",`
	image := base64.StdEncoding.EncodeToString([]byte(picture))
	text := func(content string) string { return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, content) }
	blocks := func(all ...string) string { return `{"content":[` + strings.Join(all, ",") + `]}` }
	lines := func(all ...string) string { return "{\n\"content\":[\n" + strings.Join(all, ",\n") + "\n]\n}\n" }
	const asJSON = "application/json"
	const link, broken = `{"type":"resource_link","uri":"x:1","name":"n"}`, `{"type":"image",` + mime + `"data":"%"}`
	const see, seen = `{"type":"text","text":"see"}`, `{"type":"image",` + mime + `"data":"QQ=="}`
	for name, c := range map[string]struct{ result, kind, file, answer string }{
		"text":           {text("two\nlines"), "text/plain", "two\nlines", `"head":"two lines"`},
		"object":         {text(`{"a": 1.50}`), asJSON, "{\n\"a\":1.50\n}\n", ""},
		"list":           {text(`[{"a":1},{"a":[2,3]}]`), asJSON, "[\n{\"a\":1},\n{\"a\":[2,3]}\n]\n", `"items":2`},
		"empty list":     {text(`[]`), asJSON, "[]\n", ""},
		"empty text":     {text(``), "text/plain", "", `"bytes":0`},
		"no content":     {blocks(), asJSON, "{}\n", ""},
		"structured":     {`{"content":[],"structuredContent":{"b":[1,2]}}`, asJSON, "{\n\"b\":[\n1,\n2\n]\n}\n", ""},
		"image":          {blocks(`{"type":"image",` + mime + `"data":"` + image + `"}`), "image/png", picture, ""},
		"blob":           {blocks(`{"type":"resource","resource":{"uri":"x:1",` + mime + `"blob":"` + image + `"}}`), "image/png", picture, ""},
		"broken image":   {blocks(broken), asJSON, lines(broken), ""},
		"link":           {blocks(link), asJSON, lines(link), ""},
		"text and image": {blocks(see, seen), asJSON, lines(see, seen), ""},
		"two texts":      {blocks(see, see), asJSON, lines(see, see), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "memory:", permission.Rules{}, 0, (&desk{result: c.result, effect: toolfold.Reads}).family(t))
			result := m.call(mcptest.ModernMeta, "tool_call", saves("desk.look", `{}`, "f"))
			text := textOf(result)
			if result["isError"] == true || !strings.Contains(text, `"path":"f"`) || !strings.Contains(text, `"mimeType":"`+c.kind+`"`) ||
				!strings.Contains(text, c.answer) {
				t.Errorf("%s", text)
			}
			if got := m.file("f"); got != c.file {
				t.Errorf("%q, want %q", got, c.file)
			}
		})
	}
}

// Calls whose result cannot be saved are refused before their action runs, and leave nothing.
func TestSaveToRefused(t *testing.T) {
	t.Parallel()
	d := &desk{result: `{"content":[]}`, effect: toolfold.Adds}
	m := newMachine(t, "memory:", permission.Rules{}, 0, d.family(t))
	outside := t.TempDir()
	for link, to := range map[string]string{
		"away": outside, "up.json": filepath.Join(outside, "x.json"), "lost": filepath.Join(m.dir, "absent"),
	} {
		if err := os.Symlink(to, filepath.Join(m.dir, link)); err != nil {
			t.Skipf("links cannot be made here: %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(m.dir, "there.json"), []byte("mine"), 0o640); err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprint(m.files())
	for path, reason := range map[string]string{
		"there.json": "replaces no file", "there.json/x": "leads through a file", "../x.json": "not the name of a file inside",
		filepath.Join(outside, "x.json"): "not the name of a file inside", "away/x.json": "out of the workspace", "up.json": "a link",
		"lost/x.json": "out of the workspace", ".git/hooks/pre-commit": "hidden", "a/../../x": "not the name",
		".": "not the name", "a/": "not the name", `C:\x`: "on every system", `a\b`: "on every system", "a:b": "on every system",
		" ":      "on every system",
		"a\x00b": "not the name", "a\nb": "not the name", strings.Repeat("a", 2000): "not the name",
	} {
		text := m.refused("tool_call", saves("desk.look", `{}`, path))
		if !strings.Contains(text, reason) || !strings.Contains(text, `"hint"`) {
			t.Errorf("%.40q: %s", path, text)
		}
	}
	for name, arguments := range map[string]string{
		"tools.call": saves("desk.look", `{}`, "b.json"), "tool_call": `{"name":"nothing.here"}`, "memory.get": `{}`,
		"memory_get": `{"key":1,"x":2}`,
	} {
		m.refused("tool_call", saves(name, arguments, "a.json"))
	}
	if d.calls > 0 || fmt.Sprint(m.files()) != before || m.file("there.json") != "mine" {
		t.Errorf("%d calls, and %v, which were %s", d.calls, m.files(), before)
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Error(entries)
	}
}

// A failure is the action's own, and leaves no file.
func TestSaveToOfFailures(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]*desk{
		"isError": {result: `{"content":[{"type":"text","text":"no such branch"}],"isError":true}`},
		"error":   {before: func(context.Context) error { return toolfold.Errorf(toolfold.UpstreamError, "no such branch") }},
	} {
		m := newMachine(t, "memory:", permission.Rules{}, 0, d.family(t))
		if text := m.refused("tool_call", saves("desk.look", `{}`, "f.json")); !strings.Contains(text, "no such branch") {
			t.Errorf("%s: %s", name, text)
		}
		if len(m.files()) > 0 {
			t.Errorf("%s leaves %v", name, m.files())
		}
	}
	m := newMachine(t, "memory:", permission.Rules{}, 0)
	failed := m.call(mcptest.ModernMeta, "tool_call", saves("script.run", `{"code":"throw new Error('no')"}`, "f.json"))
	if !strings.Contains(textOf(failed), "Error: no") || failed["isError"] != true || len(m.files()) > 0 {
		t.Errorf("%v, %v", failed, m.files())
	}
}

// A result that cannot be saved after its action has run is the answer, with the reason.
func TestSaveToKeepsResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect toolfold.Effect
		result string
		taken  bool // by another program, while the action runs
		says   string
	}{
		"a write": {toolfold.Adds, `{"content":[{"type":"text","text":"paid"}]}`, true, "do not repeat it for the file"},
		"a read":  {toolfold.Reads, `{"content":[{"type":"text","text":"paid"}]}`, true, "this is the result as usual"},
		"33 MiB": {toolfold.Adds, `{"content":[{"type":"text","text":"paid ` + strings.Repeat("x", 33<<20) + `"}]}`, false,
			"and a file at most 32 MiB"},
	} {
		d := &desk{result: c.result, effect: c.effect}
		m := newMachine(t, "memory:", permission.Rules{}, 28_000, d.family(t))
		path := filepath.Join(m.dir, "f.txt")
		if c.taken {
			d.before = func(context.Context) error { return os.WriteFile(path, []byte("theirs"), 0o600) }
		}
		result := m.call(mcptest.ModernMeta, "tool_call", saves("desk.look", `{}`, "f.txt"))
		text := fmt.Sprint(result["content"])
		if !strings.Contains(text, "paid") || !strings.Contains(text, "not saved") || !strings.Contains(text, c.says) || len(text) > 30_000 {
			t.Errorf("%s: %.2000s", name, text)
		}
		if got, err := os.ReadFile(path); c.taken && string(got) != "theirs" || !c.taken && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the file has %.100q, %v", name, got, err)
		}
		if d.calls != 1 {
			t.Errorf("%s: %d calls", name, d.calls)
		}
	}
	// A list is read again in the size of an answer.
	m := newMachine(t, "memory:", permission.Rules{}, 28_000)
	for i := range 250 {
		m.does("memory", fmt.Sprintf(`{"action":"store","key":"k%04d","value":%q}`, i, strings.Repeat("x", 200_000)))
	}
	text := textOf(m.call(mcptest.ModernMeta, "tool_call", saves("memory.export", `{}`, "f.json")))
	if !strings.Contains(text, "32 MiB") || !strings.Contains(text, `"hasMore":true`) || len(text) > 28_000 || len(m.files()) > 0 {
		t.Errorf("%.1000s", text)
	}
}

// Of two calls with one file, one writes it, and the other answers with its result.
func TestSaveToAtOnce(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	d := &desk{result: `{"content":[{"type":"text","text":"same"}]}`, before: func(context.Context) error {
		both.Done()
		both.Wait() // both have checked the file
		return nil
	}}
	m := newMachine(t, "memory:", permission.Rules{}, 0, d.family(t))
	texts := make(chan string, 2)
	for range 2 {
		go func() {
			texts <- fmt.Sprint(m.call(mcptest.ModernMeta, "tool_call", saves("desk.look", `{}`, "f.txt")))
		}()
	}
	saved, kept := 0, 0
	for range 2 {
		switch text := <-texts; {
		case strings.Contains(text, "not saved") && strings.Contains(text, "same"):
			kept++
		case strings.Contains(text, `"path":"f.txt"`):
			saved++
		default:
			t.Error(text)
		}
	}
	if saved != 1 || kept != 1 || m.file("f.txt") != "same" || len(m.files()) != 1 {
		t.Errorf("%d saved, %d kept, %v", saved, kept, m.files())
	}
}

// A cancelled call writes nothing.
func TestSaveToCancelled(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	d := &desk{result: `{"content":[{"type":"text","text":"late"}]}`, before: func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		defer close(ended)
		return nil
	}}
	m := newMachine(t, "memory:", permission.Rules{}, 0, d.family(t))
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.http.URL, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool_call","arguments":`+saves("desk.look", `{}`, "f.txt")+`,`+
			mcptest.ModernMeta+`}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "tool_call"} {
		request.Header.Set(name, value)
	}
	go func() {
		<-began
		cancel()
	}()
	if response, err := http.DefaultClient.Do(request); err == nil {
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if err == nil {
			t.Error("the call was answered")
		}
	}
	<-ended
	m.stop() // after the end of the request
	if names := m.files(); len(names) > 0 {
		t.Error(names)
	}
}

// Rights to read alone do not include files, whoever limits them. Policies of a session see the file.
func TestSaveToNeedsRights(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules permission.Rules
		says  string // empty = saved
	}{
		"all":              {permission.Rules{}, ""},
		"read-only":        {permission.Rules{ReadOnly: true}, "readOnly"},
		"reads by name":    {permission.Rules{Allow: []string{"memory.list"}}, "not in allow"},
		"family by name":   {permission.Rules{Allow: []string{"memory"}}, "not in allow"},
		"call by name":     {permission.Rules{Allow: []string{"memory", "tools.call"}}, ""},
		"call by old name": {permission.Rules{Allow: []string{"memory", "tool_call"}}, ""},
		"only the family":  {permission.Rules{Deny: []string{"memory.clear"}}, ""},
		"denied call":      {permission.Rules{Deny: []string{"tools.call"}}, "tools.call is not permitted"},
		"denied action":    {permission.Rules{Deny: []string{"memory.list"}}, "memory.list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "memory:", c.rules, 0)
			answer := m.call(mcptest.ModernMeta, "tool_call", saves("memory.list", `{}`, "f.json"))
			text := fmt.Sprint(answer)
			wrote := len(m.files()) > 0
			if wrote != (c.says == "") || !strings.Contains(text, c.says) || wrote == (answer["isError"] == true || answer["error"] != nil) {
				t.Errorf("%s: %v, %v", name, answer, m.files())
			}
		})
	}
	reader := permission.Token{Name: "reader", Rules: permission.Rules{ReadOnly: true}}
	limited := permission.Token{Name: "limited", Rules: permission.Rules{Allow: []string{"memory"}}}
	ts := newTokenServer(t, surface.Consolidated, reader, limited)
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tool_call","arguments":` +
		saves("memory.list", `{}`, "f.json") + `}}`
	for token, says := range map[string]string{
		adminToken: `\"path\":\"f.json\"`, tokenOf("reader"): "readOnly", tokenOf("limited"): "not in allow",
	} {
		if answer := ts.post(token, ts.begin(token), call); !strings.Contains(answer, says) {
			t.Errorf("%s lacks %s", answer, says)
		}
	}
}

// Scripts save results too, unless they only read.
func TestSaveToFromScripts(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "memory:", permission.Rules{}, 0)
	m.does("memory", `{"action":"store","key":"a","value":1}`)
	const code = `return await tools.call("tools.call", {name: "memory.export", arguments: {}, saveTo: "f.json"})`
	out := m.does("script", runs(code))
	if result, _ := out["result"].(map[string]any); result["path"] != "f.json" || !strings.Contains(m.file("f.json"), `"key":"a"`) {
		t.Error(out)
	}
	text := m.refused("script", fmt.Sprintf(`{"action":"read","code":%q}`, strings.Replace(code, "f.json", "g.json", 1)))
	if !strings.Contains(text, "does more than read") || len(m.files()) != 1 {
		t.Errorf("%s, %v", text, m.files())
	}
}

// 2,000 notes move from one store to another by two calls. The figures are in docs/backup.md.
func TestNotesMoveAsFile(t *testing.T) {
	t.Parallel()
	const notes = 2000
	from, to := newMachine(t, "memory:", permission.Rules{}, 0), newMachine(t, "memory:", permission.Rules{}, 28_000)
	cut := newMachine(t, "memory:", permission.Rules{}, 28_000)
	var entries []string
	for i := range notes {
		entries = append(entries, fmt.Sprintf(`{"key":"team/decision-%04d","tags":["release"],"value":{"number":%d,"owner":"Ann","text":`+
			`"Decision %d: the freeze begins on Friday at noon. Ask before a deployment to production, and write the reason into the `+
			`change log: who asked, what changed, which checks ran, and how to take it back. Exceptions need a second reviewer from `+
			`another team, who was not part of the change, and end with the next release."}}`, i, i, i))
	}
	all := `{"action":"import","data":[` + strings.Join(entries, ",") + `]}`
	for _, m := range []machine{from, cut} {
		if out := m.does("memory", all); out["imported"] != float64(notes) {
			t.Fatal(out)
		}
	}
	cost := func(texts ...string) (sum int) {
		for _, text := range texts {
			n, err := tokens.Count(text)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		return sum
	}

	export, load := saves("memory.export", `{}`, "notes.json"), `{"action":"import","path":"notes.json"}`
	saved := textOf(from.call(mcptest.ModernMeta, "tool_call", export))
	file := from.file("notes.json")
	if err := os.WriteFile(filepath.Join(to.dir, "notes.json"), []byte(file), 0o600); err != nil { // to the other workspace
		t.Fatal(err)
	}
	loaded := textOf(to.call(mcptest.ModernMeta, "memory", load))
	if !strings.Contains(saved, `"items":2000`) || !strings.Contains(loaded, `"imported":2000,"skipped":0,"failed":0`) {
		t.Fatalf("%s, %s", saved, loaded)
	}
	to.does("tool_call", saves("memory.export", `{}`, "again.json"))
	entriesOf := func(text string) string { return text[strings.Index(text, `"data":`):] }
	if entriesOf(to.file("again.json")) != entriesOf(file) {
		t.Error("the notes of the other store differ")
	}
	byFile := cost(export, saved, load, loaded)

	through, pages := 0, 0
	for cursor := ""; ; {
		pages++
		arguments, _ := json.Marshal(map[string]any{"action": "export", "limit": 1000, "cursor": cursor})
		if cursor == "" {
			arguments = []byte(`{"action":"export","limit":1000}`)
		}
		answer := textOf(cut.call(mcptest.ModernMeta, "memory", string(arguments)))
		var page struct {
			Data       json.RawMessage `json:"data"`
			NextCursor string          `json:"nextCursor"`
		}
		if err := json.Unmarshal([]byte(answer), &page); err != nil {
			t.Fatal(err)
		}
		through += cost(string(arguments), answer, `{"action":"import","data":`+string(page.Data)+`}`, loaded)
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	t.Logf("%d notes, %d bytes: %d tokens by a file, %d tokens through the context in %d pages", notes, len(file), byFile, through, pages)
	if byFile > 300 || byFile*500 > through {
		t.Errorf("a file takes %d tokens, the context %d", byFile, through)
	}
}

// Callers that share a server without a workspace share no files.
func TestFilesNeedWorkspace(t *testing.T) {
	t.Parallel()
	s, dir := surface.New(surface.Options{Log: quiet}), t.TempDir()
	store := storage.Lazy("memory:")
	t.Cleanup(func() { store.Close() })
	families, err := app.Mount(app.Host{
		Open: store.Open, Files: config.Files{Workspace: dir}, Caller: s.Runner, Discovery: s.Discovery, Log: quiet, Now: time.Now,
		NewID: uuid.NewString, NotesByCaller: true,
	})
	if err == nil {
		err = s.Put(families...)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.json"), []byte(`[{"key":"a","value":1}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, arguments := range map[string]string{
		"tools.call": saves("memory.list", `{}`, "f.json"), "memory.import": `{"path":"notes.json"}`,
	} {
		answer := s.Client.Call(t.Context(), name, json.RawMessage(arguments))
		if answer.Err == nil || answer.Err.Message != "this server has no workspace" {
			t.Errorf("%s: %s", name, answer.Content)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 || s.Discovery.SaveUsage(t.Context()) != "" {
		t.Errorf("%v, %s", entries, s.Discovery.SaveUsage(t.Context()))
	}
}
