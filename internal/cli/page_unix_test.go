//go:build unix

package cli

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// browser is a browser that entered the page of a running command.
type browser struct {
	t    *testing.T
	base string
	http.Client
}

// opened starts the page of a sandbox, and enters it.
func opened(t *testing.T, m sandbox, args ...string) (*browser, process) {
	t.Helper()
	p := start(t, m.command(t, append([]string{"page", "--print"}, args...)...), nil)
	testwait.Until(t, "the page prints its link", func() bool { return strings.Contains(p.stdout.String(), "\n") })
	link := strings.TrimSpace(p.stdout.String())
	base, _, _ := strings.Cut(link, "/enter/")
	b := &browser{t: t, base: base}
	b.Jar, _ = cookiejar.New(nil)
	b.get(strings.TrimPrefix(link, base), http.StatusOK)
	return b, p
}

func (b *browser) get(path string, status int) string {
	b.t.Helper()
	answer, err := b.Get(b.base + path)
	return b.read(answer, err, path, status)
}

func (b *browser) read(answer *http.Response, err error, path string, status int) string {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		b.t.Fatalf("%s: %d, want %d: %s %v", path, answer.StatusCode, status, text, err)
	}
	return string(text)
}

var inputs = regex.Lazy(`name="(\w+)" value="([^"]*)"`)

// press sends the form of a page whose text includes a label, with more fields, and returns the next page.
func (b *browser) press(page, label string, more url.Values, status int) string {
	b.t.Helper()
	for form := range strings.SplitSeq(page, "<form ") {
		form, _, _ = strings.Cut(form, "</form>")
		if !strings.Contains(form, ">"+label+"</button>") {
			continue
		}
		fields := url.Values{}
		for _, input := range inputs().FindAllStringSubmatch(form, -1) {
			fields.Set(input[1], html.UnescapeString(input[2]))
		}
		for name, values := range more {
			fields[name] = values
		}
		_, action, _ := strings.Cut(form, `action="`)
		action, _, _ = strings.Cut(action, `"`)
		answer, err := b.PostForm(b.base+action, fields)
		return b.read(answer, err, action, status)
	}
	b.t.Fatalf("no form has the button %s: %s", label, page)
	return ""
}

func (b *browser) shows(page string, texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			b.t.Errorf("the page lacks %s: %s", text, page)
		}
	}
}

// TestPageApprovesAndSwitches reads, approves and switches servers as the commands do.
func TestPageApprovesAndSwitches(t *testing.T) {
	m := newSandbox(t)
	config := filepath.Join(m.home, "config", "toolfold", "config.json")
	m.write(t, config, `{"upstreams":{"small":{"command":"small-mcp","args":["one"]},"broken":{"command":"false"}},"sets":{"work":["small"]}}`)
	if out, err := m.command(t, "upstream", "check").CombinedOutput(); err == nil { // broken fails
		t.Fatalf("every server works: %s", out)
	}
	b, p := opened(t, m)

	page := b.get("/", http.StatusOK)
	b.shows(page, "set work", `<a href="/servers/broken">broken</a>`, "fails", "No call is recorded")
	b.shows(b.get("/servers", http.StatusOK), "ready", "small")
	b.shows(b.get("/servers/small", http.StatusOK), "get_item", "Get an item of one.", "disable")
	b.get("/calls", http.StatusOK)
	b.get("/notes", http.StatusOK)
	b.get("/tasks", http.StatusOK)
	b.get("/servers/nothing", http.StatusNotFound)
	if _, err := os.Stat(filepath.Join(m.home, "data", "toolfold", "toolfold.db")); err == nil {
		t.Error("looking at the page made a store")
	}

	m.write(t, config, `{"upstreams":{"small":{"command":"small-mcp","args":["two"]}}}`)
	m.learn(t)
	b.shows(b.get("/", http.StatusOK), "has tools that are held back</span>: get_item")
	page = b.get("/servers/small", http.StatusOK)
	b.shows(page, "Get an item of one.", "Get an item of two.")
	b.shows(b.press(page, "approve get_item", url.Values{"digest": {strings.Repeat("0", 32)}}, http.StatusConflict), "nothing is approved")
	b.shows(b.press(page, "reject get_item", url.Values{"digest": {strings.Repeat("0", 32)}}, http.StatusConflict), "nothing is rejected")
	page = b.press(page, "reject get_item", nil, http.StatusOK)
	b.shows(page, "changed, rejected", "Get an item of two.")
	if strings.Contains(page, "reject get_item") {
		t.Errorf("the rejected tool can be rejected again: %s", page)
	}
	b.shows(b.get("/", http.StatusOK), "has tools that are held back</span>: title and instructions, two_only\n")
	page = b.press(page, "approve get_item", nil, http.StatusOK)
	if strings.Contains(page, "approve get_item") {
		t.Errorf("the approved tool is still held back: %s", page)
	}
	out, err := m.command(t, "upstream", "approve", "small", "--dry-run").CombinedOutput()
	if err != nil || strings.Contains(string(out), "get_item") {
		t.Errorf("approve --dry-run after the page approved: %s %v", out, err)
	}

	page = b.press(page, "disable", nil, http.StatusOK)
	b.shows(page, "enable")
	if text, _ := os.ReadFile(config); !strings.Contains(strings.ReplaceAll(string(text), " ", ""), `"disabled":true`) {
		t.Errorf("the settings after disable: %s", text)
	}
	b.shows(b.press(page, "enable", nil, http.StatusOK), "disable")

	p.signal(t, syscall.SIGTERM)
	<-p.ended
	if p.ProcessState.ExitCode() != 0 {
		t.Errorf("the page ended with %v: %s", p.ProcessState, p.stderr)
	}
}

// TestPageOfNotesAndTasks changes notes and tasks by the page, and reads what the shell called.
func TestPageOfNotesAndTasks(t *testing.T) {
	m := newSandbox(t)
	call := func(args ...string) (result map[string]any) {
		t.Helper()
		out, err := m.command(t, append([]string{"call"}, args...)...).Output()
		if err != nil {
			t.Fatalf("call %v: %s %v", args, out, err)
		}
		if err := json.Unmarshal(out, &result); err != nil {
			t.Fatalf("call %v: %s %v", args, out, err)
		}
		return result
	}
	call("memory.store", "key=plan/<b>", "value=the first text")
	call("session.create", "initiator=lead", "task=port the parser")
	call("task.submit", "name=nightly", `input:={"tool":"memory.stats","arguments":{}}`, "schedule=0 3 * * *")
	b, _ := opened(t, m)

	b.shows(b.get("/", http.StatusOK), "memory.store", "3 calls")
	b.shows(b.get("/notes?query=first", http.StatusOK), "plan/&lt;b&gt;")
	note := "/note?key=" + url.QueryEscape("plan/<b>") + "&namespace=default"
	page := b.press(b.get(note, http.StatusOK), "store", url.Values{"value": {"the second\r\ntext"}}, http.StatusOK)
	b.shows(page, "the second\ntext", "version 2", "the shell")
	if got := call("memory.get", "key=plan/<b>"); got["value"] != "the second\ntext" {
		t.Errorf("the note is %v after the edit", got)
	}
	page = b.press(page, "delete", nil, http.StatusOK)
	b.shows(page, "There is no such note now", "It was deleted")
	page = b.press(page, "undo the deletion", nil, http.StatusOK)
	if got := call("memory.get", "key=plan/<b>"); got["value"] != "the second\ntext" {
		t.Errorf("the note is %v after delete and restore; the page: %s", got, page)
	}

	// Large numbers and the order of members stay, and a form that was overtaken stores nothing.
	call("memory.store", "key=big", `value:={"z":12345678901234567890,"a":1.10}`)
	big := b.get("/note?key=big&namespace=default", http.StatusOK)
	_, text, _ := strings.Cut(big, "<pre tabindex=\"0\">")
	text, _, _ = strings.Cut(text, "</pre>")
	page = b.press(big, "store", url.Values{"value": {html.UnescapeString(text)}},
		http.StatusOK)
	b.shows(page, "12345678901234567890", "1.10")
	if strings.Index(page, "&#34;z&#34;") > strings.Index(page, "&#34;a&#34;") {
		t.Errorf("the members have another order: %s", page)
	}
	call("memory.store", "key=big", "value:=2")
	b.shows(b.press(big, "store", url.Values{"value": {"1"}}, http.StatusConflict), "the note changed since you opened it")

	// A text with carriage returns, which browsers change, is edited as JSON.
	call("memory.store", "key=crlf", `value:="a\r\nb"`)
	b.press(b.get("/note?key=crlf&namespace=default", http.StatusOK), "store", url.Values{"value": {`"a\r\nc"`}}, http.StatusOK)
	if got := call("memory.get", "key=crlf"); got["value"] != "a\r\nc" {
		t.Errorf("the note is %q after the edit", got["value"])
	}

	// A long text can be edited.
	page = b.press(b.get("/note?key=big&namespace=default", http.StatusOK), "store",
		url.Values{"value": {strings.Repeat("é", 50_000)}, "kind": {"text"}}, http.StatusOK)
	b.shows(page, "éééé")

	// Earlier versions of another workspace's note are shown, and not restored here.
	for _, words := range [][]string{
		{"memory.store", "key=theirs", "value=one"}, {"memory.store", "key=theirs", "value=two"}, {"memory.delete", "key=theirs"},
	} {
		if out, err := m.command(t, append([]string{"call", "--workspace-name", "other"}, words...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", words, out)
		}
	}
	page = b.get("/note?key=theirs&namespace=default&workspace=other", http.StatusOK)
	b.shows(page, "There is no such note now", "Earlier versions")
	if strings.Contains(page, "memory.restore") || strings.Contains(page, "undo the deletion") {
		t.Errorf("the note of another workspace can be restored here: %s", page)
	}

	b.shows(b.get("/sessions", http.StatusOK), "port the parser")
	b.shows(b.press(b.get("/tasks", http.StatusOK), "cancel", nil, http.StatusOK), "cancelled", "retry")
	b.shows(b.get("/calls?label=session.", http.StatusOK), "session.create", "the shell")
	b.shows(b.get("/settings", http.StatusOK), "toolMode", "default")
	for _, trace := range call("trace.list", "limit:=100")["traces"].([]any) {
		if trace := trace.(map[string]any); trace["label"] == "task.list" || trace["label"] == "memory.list" {
			t.Errorf("a view of the page was recorded as a call: %v", trace)
		}
	}
}

// TestPageTriesTools calls tools of a server and of toolfold by their forms, within the rights of the user.
func TestPageTriesTools(t *testing.T) {
	m := newSandbox(t)
	config := filepath.Join(m.home, "config", "toolfold", "config.json")
	m.write(t, config, `{"upstreams":{"small":{"command":"small-mcp","args":["one"]}},"deny":["memory.delete"]}`)
	m.learn(t)
	b, _ := opened(t, m)

	b.shows(b.get("/servers/small", http.StatusOK), `<a href="/tools/small.get_item">try it</a>`)
	page := b.get("/tools/small.get_item", http.StatusOK)
	b.shows(page, "Get an item of one.", "it only reads")
	b.shows(b.press(page, "preview", url.Values{"action": {"preview"}}, http.StatusOK), "Nothing is called yet", "2 bytes, 1 token")
	b.shows(b.press(page, "call it", url.Values{"action": {"call"}}, http.StatusOK), "It worked", "of one</pre>")
	page = b.press(b.get("/tools/small.put_item", http.StatusOK), "preview", url.Values{"action": {"call"}}, http.StatusOK)
	b.shows(page, "Nothing is called yet", "may change or delete")
	b.shows(b.press(page, "yes, call it", url.Values{"action": {"call"}}, http.StatusOK), "It worked", "of one</pre>")

	b.shows(b.get("/tools?find=remember", http.StatusOK), "No action has these words")
	own := b.get("/tools", http.StatusOK)
	b.shows(own, `<a href="/tools/memory.store">try it</a>`)
	if strings.Contains(own, "/tools/memory.delete") {
		t.Error("an action that is not permitted is listed")
	}
	b.shows(b.get("/tools/memory.delete", http.StatusConflict), "cannot be called here")
	store := b.get("/tools/memory.store", http.StatusOK)
	b.shows(b.press(store, "preview", url.Values{"field0": {"a"}}, http.StatusUnprocessableEntity), "value is missing")
	page = b.press(store, "preview", url.Values{"arguments": {`{"key": "a", "value": {"big": 12345678901234567890}}`}}, http.StatusOK)
	b.press(page, "yes, call it", url.Values{"action": {"call"}}, http.StatusOK)
	page = b.press(b.get("/tools/memory.get", http.StatusOK), "call it", url.Values{"field0": {"a"}, "action": {"call"}}, http.StatusOK)
	b.shows(page, "12345678901234567890")

	// Only accepted tools of servers that are on can be called.
	m.write(t, config, `{"upstreams":{"small":{"command":"small-mcp","args":["two"]}}}`)
	m.learn(t)
	b.shows(b.get("/tools/small.put_item", http.StatusOK), "Put an item.") // the list of the new command is held back
	b, _ = opened(t, m)
	held := b.get("/servers/small", http.StatusOK)
	b.shows(held, `"/tools/small.put_item"`)
	if strings.Contains(held, `"/tools/small.get_item"`) {
		t.Errorf("a tool that is held back can be tried: %s", held)
	}
	b.get("/tools/small.get_item", http.StatusConflict)
	page = b.press(held, "approve get_item", nil, http.StatusOK)
	testwait.Until(t, "the form is of the approved definition", func() bool {
		answer, err := b.Get(b.base + "/tools/small.get_item")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(b.read(answer, nil, "the form", answer.StatusCode), "Get an item of two.")
	})
	b.press(page, "disable", nil, http.StatusOK)
	b.shows(b.get("/tools/small.get_item", http.StatusConflict), "cannot be called here")
}

// TestPageWithoutRights shows the views of permitted actions.
func TestPageWithoutRights(t *testing.T) {
	m := newSandbox(t)
	if out, err := m.command(t, "call", "memory.store", "key=a", "value=b").CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), `{"deny":["task.*","session"]}`)
	b, _ := opened(t, m)
	b.shows(b.get("/", http.StatusOK), "memory.store")
	b.shows(b.get("/tasks", http.StatusConflict), "task.list is not permitted")
}
